// `parley` inside a turn: there, and the right one.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunId } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { COMMAND_VARIABLE, writeShim } from './shim.ts'
import { temporaryFolder } from './testing/ground.ts'
import { startedNode } from './testing/started.ts'
import { turnInput } from './testing/turns.ts'

test('the script runs the command with its arguments as they are, wherever it lies', () => {
  const folder = join(temporaryFolder(), "it's $HOME here")
  mkdirSync(folder)
  const entry = join(folder, 'entry.mjs')
  writeFileSync(entry, 'console.log(JSON.stringify([process.execPath, process.argv.slice(2)]))')
  const bin = writeShim({ folder }, { [COMMAND_VARIABLE]: entry })!
  expect(bin).toBe(join(folder, 'bin'))
  expect(statSync(join(bin, 'parley')).mode & 0o777).toBe(0o700)
  const args = ['ws', 'block', 'a b', '$HOME', "it's"]
  const said = execFileSync(join(bin, 'parley'), args, { encoding: 'utf8', env: {} })
  expect(JSON.parse(said)).toEqual([process.execPath, args])
})

test('without a command there is none, and none of an earlier start', () => {
  const folder = temporaryFolder()
  writeShim({ folder }, { [COMMAND_VARIABLE]: '/cli/parley.js' })
  expect(existsSync(join(folder, 'bin', 'parley'))).toBe(true)
  for (const env of [{}, { [COMMAND_VARIABLE]: 'relative.js' }]) {
    expect(writeShim({ folder }, env)).toBeUndefined()
    expect(existsSync(join(folder, 'bin', 'parley'))).toBe(false)
  }
})

test.each([
  ['the node’s PATH', undefined],
  ['a PATH of its own', { PATH: '/usr/bin:/bin' }],
])('an agent with %s finds parley in a turn', async (_whose, env) => {
  const { coordinator, place } = await startedNode({ env: { [COMMAND_VARIABLE]: '/cli/parley.js' } })
  const config = { command: ['/bin/sh', '-c', 'command -v parley'], slots: 1, ...(env && { env }) }
  const adapter = coordinator.options.adapter({
    run: 'run_1' as RunId,
    name: 'a',
    agent: config,
    check: false,
    base: undefined,
    environment: undefined,
    origin: 'cli',
  })
  onTestFinished(() => adapter.close())
  const text = expect.stringContaining(place.path('default', 'bin', 'parley'))
  const taken = await adapter.takeTurn(turnInput({ folder: place.home }), () => undefined)
  expect(taken).toMatchObject({ outcome: 'complete', text })
})
