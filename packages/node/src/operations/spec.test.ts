// The specs of the node's operations, and how errors of the inside become those of the call protocol.
import { readFileSync } from 'node:fs'
import { OperationRegistry } from '@parley/call'
import { asParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import type { OperationDeps } from './deps.ts'
import { nodeOperations } from './index.ts'
import { told } from './spec.ts'

test('CALL-REG-06 every schema of an operation is one and compiles: a node looks at them at their first use only', () => {
  const operations = new OperationRegistry(nodeOperations({ config: { values: {} }, link: {} } as OperationDeps)).list()
  expect(operations.length).toBeGreaterThan(50)
  for (const { input, output, details } of operations)
    for (const validator of [input, output, ...details.values()]) expect(() => validator?.is(null)).not.toThrow()
})

test('what the system refuses is told with a code and the system’s own, not as a defect', async () => {
  const read = async () => readFileSync('/nowhere/at/all')
  const wrapped = read().catch(cause => Promise.reject(asParleyError(cause)))
  const refused = { code: 'trail_unavailable', retryable: true, details: { system: 'ENOENT' } }
  await expect(told(read())).rejects.toMatchObject(refused)
  await expect(told(wrapped)).rejects.toMatchObject(refused)
  await expect(told(Promise.reject(new TypeError('x is not a function')))).rejects.toBeInstanceOf(TypeError)
})
