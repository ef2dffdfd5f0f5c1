// A worker thread that is a node: for the tests of ports.
import { parentPort } from 'node:worker_threads'
import { CallNode, MessagePortTransport, OperationRegistry } from '@parley/call/browser'

const open = { opType: 'query', inputSchema: {}, outputSchema: {}, accessControl: {} } as const
const registry = new OperationRegistry()
registry.register(
  { ...open, name: '/worker/double' },
  async input => 2 * (await link.call<number>('/test/echo', input)),
)
registry.register({ ...open, name: '/worker/fall' }, () => {
  setImmediate(() => {
    throw new Error('fallen')
  })
  return new Promise(() => undefined)
})
const link = new CallNode({ registry }).attach(new MessagePortTransport(parentPort!))
