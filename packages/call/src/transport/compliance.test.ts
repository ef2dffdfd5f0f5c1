// Every transport of this package in the one suite for all of them.
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, createServer as createSocketServer, type Socket } from 'node:net'
import { MessageChannel } from 'node:worker_threads'
import type { IdentityProvider } from '@parley/core'
import { expect, test } from 'vitest'
import { WEBSOCKET_PATH } from '../limits.ts'
import { selfSigned } from '../testing/certificate.ts'
import {
  type PairOptions,
  Recorder,
  type Traits,
  type TransportPair,
  transportCompliance,
} from '../testing/compliance.ts'
import { temporaryPath } from '../testing/folder.ts'
import { stdioPair } from '../testing/stdio-pair.ts'
import { memoryPair } from './memory.ts'
import type { WsFraming } from './message.ts'
import { MessagePortTransport, type WorkerMessages } from './message-port.ts'
import {
  connectTcp,
  connectTlsSocket,
  connectUnix,
  type Listening,
  type ListenOptions,
  listenTcp,
  listenTls,
  listenUnix,
} from './sockets.ts'
import type { Transport } from './transport.ts'
import { attachWebSocket, connectWebSocket } from './websocket.ts'
import { connectBrowserWebSocket } from './websocket-browser.ts'
import type { WebSocketClientOptions } from './websocket-frames.ts'

const stream = (kind: string): Traits => ({ kind, queues: true, carries: 'bytes', keeps: true })

/** `right` is the end that accepted. */
async function socketPair(
  options: PairOptions,
  listen: (accept: (transport: Transport) => void, options: ListenOptions) => Promise<Listening>,
  dial: (listening: Listening) => Promise<Transport>,
): Promise<TransportPair> {
  const accepted = Promise.withResolvers<Transport>()
  const listening = await listen(accepted.resolve, {
    ...(options.maxBody !== undefined && { maxBody: options.maxBody }),
    authenticate: () => options.left,
  })
  const [left, right] = await Promise.all([dial(listening), accepted.promise])
  return { left, right, dispose: () => listening.close() }
}

transportCompliance(
  'a pair in memory',
  async ({ left: first, right: second }) => {
    const [left, right] = memoryPair({ ...(first && { first }), ...(second && { second }) })
    return { left, right }
  },
  { kind: 'memory', queues: false, carries: 'text', keeps: false },
)

transportCompliance(
  'a Unix socket',
  options => {
    const path = temporaryPath()
    return socketPair(
      options,
      (accept, settings) => listenUnix(path, accept, settings),
      () => connectUnix(path, { identity: options.right }),
    )
  },
  stream('unix'),
)

transportCompliance(
  'TCP',
  options =>
    socketPair(
      options,
      (accept, settings) => listenTcp({}, accept, settings),
      ({ port }) => connectTcp({ port: port! }, { identity: options.right }),
    ),
  stream('tcp'),
)

const { key, cert } = selfSigned()

transportCompliance(
  'TLS',
  options =>
    socketPair(
      options,
      (accept, settings) => listenTls({ tls: { key, cert } }, accept, settings),
      ({ port }) =>
        connectTlsSocket(
          { port: port!, host: '127.0.0.1', ca: cert, servername: 'localhost' },
          { identity: options.right },
        ),
    ),
  stream('tls'),
)

const TOKEN = 'the-token-of-this-test'

/** What a client says of itself and of its server. */
type Known = Pick<WebSocketClientOptions, 'identity' | 'token' | 'maxBody'>

async function webSocketPair(
  options: PairOptions,
  dial: (url: string, known: Known) => Promise<Transport>,
  settings: { readonly tls?: boolean; readonly wsFraming?: WsFraming } = {},
): Promise<TransportPair> {
  const server = settings.tls ? createTlsServer({ key, cert }) : createServer()
  const accepted = Promise.withResolvers<Transport>()
  const { left, right: identity, maxBody } = options
  const identities: IdentityProvider = {
    byFingerprint: async () => undefined,
    byToken: async token => (token === TOKEN ? left : undefined),
  }
  const attached = attachWebSocket(server, accepted.resolve, {
    identities: left ? identities : 'anonymous',
    ...(maxBody !== undefined && { maxBody }),
    ...(settings.wsFraming && { wsFraming: settings.wsFraming }),
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `${settings.tls ? 'wss' : 'ws'}://127.0.0.1:${port}${WEBSOCKET_PATH}`
  const client = await dial(url, { identity, ...(left && { token: TOKEN }) })
  return {
    left: client,
    right: await accepted.promise,
    dispose() {
      attached.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

for (const [form, wsFraming] of [
  ['with lengths', 'prefixed'],
  ['bare', 'bare'],
] as const) {
  const dial = (url: string, known: Known) => connectWebSocket(url, { wsFraming, ...known })
  const make = (options: PairOptions) => webSocketPair(options, dial, { wsFraming: 'auto' })
  transportCompliance(`WebSocket, ${form}`, make, stream('websocket'))
}

transportCompliance(
  'WebSocket over TLS',
  options => webSocketPair(options, (url, known) => connectWebSocket(url, { ca: cert, ...known }), { tls: true }),
  stream('websocket'),
)

transportCompliance(
  "WebSocket through a page's API",
  options => webSocketPair(options, connectBrowserWebSocket),
  stream('websocket'),
)

transportCompliance(
  "WebSocket through a page's API, the other way round",
  async ({ maxBody, left: identity, right }) => {
    const own = { identity, ...(maxBody !== undefined && { maxBody }) }
    const dial = (url: string, known: Known) => connectBrowserWebSocket(url, { ...known, ...own })
    const { dispose, ...ends } = await webSocketPair({ ...(right && { left: right }) }, dial)
    return { left: ends.right, right: ends.left, ...(dispose && { dispose }) }
  },
  stream('websocket'),
)

for (const [form, workerMessages] of [
  ['frames', 'frame'],
  ['objects', 'object'],
] as const satisfies readonly (readonly [string, WorkerMessages])[]) {
  transportCompliance(
    `a MessagePort that carries ${form}`,
    async ({ left: first, right: second, maxBody }) => {
      const { port1, port2 } = new MessageChannel()
      return {
        left: new MessagePortTransport(port1, { identity: second, workerMessages }),
        right: new MessagePortTransport(port2, {
          identity: first,
          workerMessages,
          ...(maxBody !== undefined && { maxBody }),
        }),
      }
    },
    { kind: 'port', queues: false, carries: workerMessages === 'frame' ? 'bytes' : 'objects', keeps: true },
  )
}

transportCompliance("a child's standard input and output", stdioPair, stream('stdio'))

test('a connection that breaks before anybody uses it is told as closed, and ends nothing else', async () => {
  const server = createSocketServer()
  const sockets: Socket[] = []
  server.on('connection', socket => sockets.push(socket))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const transport = await connectTcp({ port })
  while (sockets.length === 0) await new Promise(resolve => setImmediate(resolve))
  const [socket] = sockets
  const gone = new Promise(resolve => socket!.once('close', resolve))
  socket!.resetAndDestroy()
  await gone
  const probe = connect(port, '127.0.0.1')
  await new Promise(resolve => probe.once('connect', resolve))
  probe.destroy()
  const heard = new Recorder()
  transport.start(heard)
  await heard.untilClosed()
  expect(heard.order).toEqual(['closed'])
  server.close()
})
