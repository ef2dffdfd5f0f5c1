// The operations that tests of transports call: one that answers with its input, one that counts.
import { OperationRegistry } from '../registry.ts'

export function echoRegistry(): OperationRegistry {
  const registry = new OperationRegistry()
  const open = { inputSchema: {}, outputSchema: {}, accessControl: {} } as const
  registry.register({ ...open, name: '/test/echo', opType: 'query' }, input => input)
  registry.register({ ...open, name: '/test/whoami', opType: 'query' }, (_input, { identity }) => identity ?? null)
  registry.register({ ...open, name: '/test/count', opType: 'subscription' }, async function* (input) {
    for (let value = 1; value <= Number(input); value++) yield value
  })
  return registry
}
