import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('where making code is forbidden, canonical JSON is slower and the same', () => {
  const script = `
    import { canonicalize } from '@parley/core'
    for (let i = 0; i < 100; i++) {
      const text = canonicalize({ b: { d: i, c: [] }, a: 'x' })
      if (text !== '{"a":"x","b":{"c":[],"d":' + i + '}}') throw new Error(text)
    }`
  const { status, stderr } = spawnSync(
    process.execPath,
    [...process.execArgv, '--disallow-code-generation-from-strings', '--input-type=module', '--eval', script],
    { encoding: 'utf8', cwd: import.meta.dirname },
  )
  expect(stderr).toBe('')
  expect(status).toBe(0)
})
