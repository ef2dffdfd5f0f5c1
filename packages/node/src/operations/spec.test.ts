// How errors of the inside become those of the call protocol.
import { readFileSync } from 'node:fs'
import { asParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import { told } from './spec.ts'

test('what the system refuses is told with a code and the system’s own, not as a defect', async () => {
  const read = async () => readFileSync('/nowhere/at/all')
  const wrapped = read().catch(cause => Promise.reject(asParleyError(cause)))
  const refused = { code: 'trail_unavailable', retryable: true, details: { system: 'ENOENT' } }
  await expect(told(read())).rejects.toMatchObject(refused)
  await expect(told(wrapped)).rejects.toMatchObject(refused)
  await expect(told(Promise.reject(new TypeError('x is not a function')))).rejects.toBeInstanceOf(TypeError)
})
