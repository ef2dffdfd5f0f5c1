// How errors of the inside become those of the call protocol.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { told } from './spec.ts'

test('what the system refuses is told with a code and the system’s own, not as a defect', async () => {
  const read = (async () => readFileSync('/nowhere/at/all'))()
  await expect(told(read)).rejects.toMatchObject({
    code: 'trail_unavailable',
    retryable: true,
    details: { system: 'ENOENT' },
  })
  await expect(told(Promise.reject(new TypeError('x is not a function')))).rejects.toBeInstanceOf(TypeError)
})
