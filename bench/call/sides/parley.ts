// Parley: schemas of input and output checked, and access control on: the connection has an identity, and the
// operations need one of its scopes.
import { createServer } from 'node:http'
import { join } from 'node:path'
import {
  attachWebSocket,
  CallNode,
  connectUnix,
  connectWebSocket,
  type Link,
  listenUnix,
  OperationRegistry,
  operation,
  type Transport,
  WEBSOCKET_PATH,
} from '@parley/call'
import { type IdentityProvider, type Principal, Type } from '@parley/core'
import { type Client, type Message, message, type Side } from '../side.ts'

const messageSchema = Type.Object(
  { seq: Type.Integer(), from: Type.String(), to: Type.String(), text: Type.String() },
  { additionalProperties: false },
)
const accessControl = { requiredScopes: ['bench:call'] }
const caller: Principal = { id: 'bench', kind: 'agent', scopes: ['bench:read', 'bench:call'] }

export function benchNode(): CallNode {
  const registry = new OperationRegistry(
    {
      '/bench/echo': operation(
        {
          name: '/bench/echo',
          opType: 'query',
          inputSchema: messageSchema,
          outputSchema: messageSchema,
          accessControl,
        },
        input => input,
      ),
      '/bench/stream': operation(
        {
          name: '/bench/stream',
          opType: 'subscription',
          inputSchema: Type.Integer(),
          outputSchema: messageSchema,
          accessControl,
        },
        async function* (count) {
          for (let seq = 0; seq < count; seq++) yield message(seq)
        },
      ),
    },
    { outputValidation: 'error' },
  )
  return new CallNode({ registry })
}

function clientOf(link: Link): Client {
  return {
    echo: given => link.call<Message>('/bench/echo', given),
    async stream(count, take) {
      for await (const value of link.subscribe<Message>('/bench/stream', count, { buffer: 1024 })) take(value)
    },
  }
}

export const parleyUnix: Side = {
  async serve({ folder }) {
    const node = benchNode()
    await listenUnix(join(folder, 'socket'), transport => void node.attach(transport), {
      authenticate: () => caller,
    })
  },
  connect: async ({ folder }) => clientOf(attached(await connectUnix(join(folder, 'socket')))),
}

/** The client's node offers nothing. */
function attached(transport: Transport): Link {
  return new CallNode({ registry: new OperationRegistry() }).attach(transport)
}

const TOKEN = 'bench'
const identities: IdentityProvider = {
  byFingerprint: async () => undefined,
  byToken: async token => (token === TOKEN ? caller : undefined),
}

export const parleyWebSocket: Side = {
  async serve({ port }) {
    const node = benchNode()
    const server = createServer()
    attachWebSocket(server, transport => void node.attach(transport), { identities })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', resolve)
    })
  },
  connect: async ({ port }) =>
    clientOf(attached(await connectWebSocket(`ws://127.0.0.1:${port}${WEBSOCKET_PATH}`, { token: TOKEN }))),
}
