import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type IdentityProvider, ManualClock, type Principal } from '@parley/core'
import { expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { callDefaults, callLimits, WEBSOCKET_PATH } from '../limits.ts'
import type { Link } from '../link/link.ts'
import { CallNode } from '../node.ts'
import { OperationRegistry } from '../registry.ts'
import { Recorder } from '../testing/compliance.ts'
import { echoRegistry } from '../testing/echo.ts'
import { encodeFrame } from './frame.ts'
import { encodeMessage } from './message.ts'
import type { Transport } from './transport.ts'
import { attachWebSocket, connectWebSocket, type WebSocketServerOptions } from './websocket.ts'
import { connectBrowserWebSocket } from './websocket-browser.ts'

const SECRET = 'open-sesame'
const ALI: Principal = { id: 'ali', kind: 'user', scopes: ['dev'] }
const identities: IdentityProvider = {
  byFingerprint: async () => undefined,
  byToken: async token => (token === SECRET ? ALI : undefined),
}

/** A node behind a real HTTP server on loopback. */
async function serve(options: Partial<WebSocketServerOptions> = {}) {
  const server = createServer()
  const logged: string[] = []
  const node = new CallNode({ registry: echoRegistry(), log: line => logged.push(line) })
  const links: Link[] = []
  const attached = attachWebSocket(server, transport => links.push(node.attach(transport)), { identities, ...options })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  onTestFinished(() => {
    attached.close()
    server.close()
    server.closeAllConnections()
  })
  return { server, attached, links, logged, port, url: `ws://127.0.0.1:${port}${WEBSOCKET_PATH}` }
}

/** A server of the library that knows nothing of the protocol; its address. */
async function plainServer(greet: (socket: WebSocket) => void): Promise<string> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => server.close())
  server.on('connection', greet)
  await once(server, 'listening')
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A client of the library that knows nothing of the protocol. */
async function raw(url: string, options: { readonly autoPong?: boolean } = {}): Promise<WebSocket> {
  const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${SECRET}` }, ...options })
  socket.on('error', () => undefined)
  onTestFinished(() => socket.terminate())
  await once(socket, 'open')
  return socket
}

async function nextMessage(socket: WebSocket): Promise<Buffer> {
  const [data, binary] = (await once(socket, 'message')) as [Buffer, boolean]
  expect(binary).toBe(true)
  return data
}

async function closeCode(socket: WebSocket): Promise<number> {
  const [code] = (await once(socket, 'close')) as [number]
  return code
}

const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'MDEyMzQ1Njc4OWFiY2RlZg==',
}

/** The answer to an upgrade that is refused: its status. A 101 would be an upgrade. */
function upgrade(port: number, path: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get({ port, host: '127.0.0.1', path, headers: { ...UPGRADE, ...headers } })
    request.on('response', (response: IncomingMessage) => {
      response.resume()
      resolve(response.statusCode!)
    })
    request.on('upgrade', (response, socket) => {
      socket.destroy()
      resolve(response.statusCode!)
    })
    request.on('error', reject)
  })
}

const REQUEST = '{"type":"call.requested","id":"r1","payload":{"name":"/test/echo","input":{"a":1}}}'
const ANSWER = '{"type":"call.responded","id":"r1","payload":{"a":1}}'

test('CALL-T55 a WebSocket answers in the form that it is asked in, takes no text, and opens for no one without a token', async () => {
  const { url, port, attached } = await serve({ wsFraming: 'auto' })
  const prefixed = await raw(url)
  prefixed.send(encodeFrame(REQUEST))
  expect(await nextMessage(prefixed)).toEqual(encodeFrame(ANSWER))
  // Nothing is compressed.
  expect(prefixed.extensions).toBe('')
  const bare = await raw(url)
  // It may begin with white space.
  for (const space of ['', '\t', '\n', '\r', ' ']) {
    bare.send(Buffer.from(space + REQUEST))
    expect((await nextMessage(bare)).toString()).toBe(ANSWER)
  }
  const text = await raw(url)
  text.send(REQUEST)
  expect(await closeCode(text)).toBe(1003)
  expect(await upgrade(port, WEBSOCKET_PATH)).toBe(401)
  expect(attached.connections).toBe(2)
})

test.each([
  ['prefixed', true],
  ['bare', false],
] as const)('a server that is set to send %s messages does so whatever it receives', async (wsFraming, prefixed) => {
  const { url } = await serve({ wsFraming })
  const socket = await raw(url)
  socket.send(encodeMessage(REQUEST, !prefixed))
  expect(Uint8Array.from(await nextMessage(socket))).toEqual(encodeMessage(ANSWER, prefixed))
})

test('CALL-TRANS-05 a server that accepts text reads it as JSON, and answers in binary or as it is asked', async () => {
  for (const wsFraming of ['prefixed', 'bare', 'auto'] as const) {
    const { url } = await serve({ wsText: 'accept', wsFraming })
    const socket = await raw(url)
    socket.send(REQUEST)
    const [data, binary] = (await once(socket, 'message')) as [Buffer, boolean]
    expect([binary, data.toString('utf8', wsFraming === 'prefixed' ? 4 : 0)]).toEqual([wsFraming !== 'auto', ANSWER])
    socket.send(encodeFrame(REQUEST))
    expect((await once(socket, 'message'))[1]).toBe(wsFraming !== 'auto')
  }
})

test('CALL-TRANS-05 a text that is no envelope ends the link as bytes would', async () => {
  const { url } = await serve({ wsText: 'accept', maxBody: 100 })
  for (const [text, code] of [
    ['hello', 1007],
    ['', 1007],
    // A text is never taken for a frame with a length in front.
    [encodeFrame('{"type":"t","id":"","payload":1}').toString(), 1007],
    ['{"type":"t"}', 1002],
    [`"${'x'.repeat(100)}"`, 1009],
  ] as const) {
    const socket = await raw(url)
    socket.send(text)
    expect(await closeCode(socket), text).toBe(code)
  }
})

test('CALL-TRANS-05 the client for pages takes text where it is told to', async () => {
  const url = await plainServer(socket => {
    socket.on('message', (data, binary) => socket.send(String(binary ? 'binary' : data)))
    socket.send('{"type":"t","id":"text","payload":1}')
  })
  const heard = new Recorder()
  const page = await connectBrowserWebSocket(url, { wsText: 'accept', wsFraming: 'auto' })
  page.start(heard)
  await expect.poll(() => heard.envelopes).toEqual([{ type: 't', id: 'text', payload: 1 }])
  page.send('{"type":"t","id":"back","payload":2}')
  await expect.poll(() => heard.envelopes[1]).toEqual({ type: 't', id: 'back', payload: 2 })
  page.close()
  const strict = await connectBrowserWebSocket(url)
  const shut = new Recorder()
  strict.start(shut)
  await shut.untilClosed()
  expect(shut.order).toEqual(['violation', 'closed'])
})

const lengthOff = encodeFrame(REQUEST)
lengthOff.writeUInt32BE(lengthOff.length - 5, 0)

test.each([
  ['too large', 1009, Buffer.alloc(2005, 0x20)],
  ['neither form', 1007, Buffer.from('hello')],
  ['of another length than it says', 1002, lengthOff],
  ['empty', 1002, Buffer.alloc(0)],
  ['nothing but a length', 1002, Buffer.from([0, 0, 0, 0])],
] as const)('a message that is %s closes its connection with %i, and no other', async (_what, code, bytes) => {
  const { url } = await serve({ maxBody: 2000 })
  const [bad, good] = await Promise.all([raw(url), raw(url)])
  bad.send(bytes)
  expect(await closeCode(bad)).toBe(code)
  good.send(encodeFrame(REQUEST))
  expect(await nextMessage(good)).toEqual(encodeFrame(ANSWER))
})

test('a message that will be too large is refused by its length, before anything of it has come', async () => {
  const { port } = await serve({ maxBody: 2000 })
  const request = get({ port, host: '127.0.0.1', path: `${WEBSOCKET_PATH}?token=${SECRET}`, headers: UPGRADE })
  const [, socket] = (await once(request, 'upgrade')) as [IncomingMessage, Socket]
  // A binary frame of 2,005 bytes with a mask: just its head.
  socket.write(Buffer.from([0x82, 0xfe, 0x07, 0xd5, 0, 0, 0, 0]))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer[0]).toBe(0x88)
  expect(answer.readUInt16BE(2)).toBe(1009)
  socket.destroy()
})

test('what comes before anybody takes it waits in the connection, however much it is', async () => {
  const accepted = Promise.withResolvers<Transport>()
  const server = createServer()
  attachWebSocket(server, accepted.resolve, { identities: 'anonymous' })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const socket = await raw(`ws://127.0.0.1:${(server.address() as AddressInfo).port}${WEBSOCKET_PATH}`)
  const count = 3 * callLimits.earlyEnvelopes
  for (let index = 0; index < count; index++) socket.send(encodeFrame(`{"type":"t","id":"${index}","payload":1}`))
  socket.close(1000, 'enough')
  const transport = await accepted.promise
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
  const heard = new Recorder()
  transport.start(heard)
  await heard.untilClosed()
  expect(heard.envelopes).toHaveLength(count)
  expect(heard.reasons).toEqual(['enough'])
})

const tokened = (token: string) => `${WEBSOCKET_PATH}?token=${token}`
const Origin = 'http://evil.example'
const anybody = { ...identities, byToken: async () => ALI }
const unreadable: IdentityProvider = { ...identities, byToken: () => Promise.reject(new Error('disk gone')) }
const told: Partial<WebSocketServerOptions> = { identities: 'anonymous', allowOrigin: origin => origin === Origin }

test.each<[string, number, Partial<WebSocketServerOptions>, string, Record<string, string>]>([
  ['no token', 401, {}, WEBSOCKET_PATH, {}],
  ['a wrong token in the header', 401, {}, WEBSOCKET_PATH, { Authorization: 'Bearer sesame' }],
  ['a wrong token in the address', 401, {}, tokened('sesame'), {}],
  ['another kind of authorization', 401, {}, WEBSOCKET_PATH, { Authorization: `Basic ${SECRET}` }],
  ['a wrong token beside a right one', 401, {}, tokened(SECRET), { Authorization: 'Bearer sesame' }],
  ['the longest token', 101, { identities: anybody }, tokened('x'.repeat(callLimits.tokenLength)), {}],
  ['a longer one', 401, { identities: anybody }, tokened('x'.repeat(callLimits.tokenLength + 1)), {}],
  ['a token where the directory cannot be read', 401, { identities: unreadable }, tokened(SECRET), {}],
  ['nothing where no token is asked for', 101, { identities: 'anonymous' }, WEBSOCKET_PATH, {}],
  ['a page where no token is asked for', 403, { identities: 'anonymous' }, WEBSOCKET_PATH, { Origin }],
  ['a page that the server was told of', 101, told, WEBSOCKET_PATH, { Origin }],
  ['another page', 403, told, WEBSOCKET_PATH, { Origin: 'http://other.example' }],
])('%s gets %i: a WebSocket or none', async (_what, status, options, path, headers) => {
  const { port, links } = await serve(options)
  expect(await upgrade(port, path, headers)).toBe(status)
  expect(links).toHaveLength(status === 101 ? 1 : 0)
})

test('a directory that does not answer holds nobody for ever', async () => {
  const clock = new ManualClock()
  const asked = Promise.withResolvers<void>()
  const slow: IdentityProvider = {
    ...identities,
    byToken: () => {
      asked.resolve()
      return new Promise(() => undefined)
    },
  }
  const { port } = await serve({ identities: slow, clock })
  const refused = expect(upgrade(port, `${WEBSOCKET_PATH}?token=${SECRET}`)).rejects.toThrow('socket hang up')
  await asked.promise
  clock.advance(callDefaults.handshake)
  await refused
})

test('a token is in no log, no error, and not in the address that others see', async () => {
  const printed: unknown[] = []
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const)
    vi.spyOn(console, method).mockImplementation((...words) => void printed.push(words))
  onTestFinished(() => void vi.restoreAllMocks())
  const { url, port, server, logged } = await serve()
  const seen: unknown[] = []
  server.on('upgrade', (request, socket) => {
    seen.push(request.url)
    if (!request.url?.startsWith(`${WEBSOCKET_PATH}?`) && request.url !== WEBSOCKET_PATH) socket.destroy()
  })
  const errors: unknown[] = []
  const wrong = 'not-the-secret'
  for (const connect of [connectWebSocket, connectBrowserWebSocket]) {
    await connect(url, { token: wrong }).catch(error => errors.push(error))
    await connect(`${url}x?token=${wrong}`).catch(error => errors.push(error))
    await connect(`nonsense?token=${wrong}`).catch(error => errors.push(error))
  }
  const socket = await raw(`${url}?token=${SECRET}&other=1`)
  socket.send('text')
  await closeCode(socket)
  expect(await upgrade(port, `${WEBSOCKET_PATH}?token=${wrong}`)).toBe(401)
  expect(seen).toContain(`${WEBSOCKET_PATH}?other=1`)
  const everything = JSON.stringify([printed, logged, seen, errors.map(error => [String(error), error])])
  expect(errors).toHaveLength(6)
  expect(logged).not.toEqual([])
  expect(everything).not.toContain(wrong)
  expect(everything).not.toContain(SECRET)
})

test('whoever connects hears why it failed', async () => {
  const { url, server } = await serve()
  const elsewhere = url.replace('/call', '/other')
  await expect(connectWebSocket(url)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(connectWebSocket(elsewhere, { token: SECRET })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await expect(connectWebSocket('http//x')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(connectBrowserWebSocket(url)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  server.close()
  server.closeAllConnections()
  await expect(connectWebSocket(url, { token: SECRET })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})

test('other paths of the server stay with whoever serves them', async () => {
  const { port, server } = await serve()
  expect(await upgrade(port, '/elsewhere')).toBe(404)
  server.on('upgrade', (request, socket) => {
    if (request.url === '/elsewhere')
      socket.end('HTTP/1.1 418 Teapot\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })
  expect(await upgrade(port, '/elsewhere')).toBe(418)
  expect(await upgrade(port, WEBSOCKET_PATH, { Authorization: `Bearer ${SECRET}` })).toBe(101)
})

test('connections above the bound are refused', async () => {
  const { url, port } = await serve({ maxConnections: 1 })
  const first = await raw(url)
  expect(await upgrade(port, `${WEBSOCKET_PATH}?token=${SECRET}`)).toBe(503)
  first.send(encodeFrame(REQUEST))
  expect(await nextMessage(first)).toEqual(encodeFrame(ANSWER))
})

test('a connection whose other end answers no ping is given up after two, and one that answers is kept', async () => {
  const clock = new ManualClock()
  const { url, links } = await serve({ clock })
  const dead = await raw(url, { autoPong: false })
  const alive = await raw(url)
  const pings = { dead: 0, alive: 0 }
  dead.on('ping', () => pings.dead++)
  alive.on('ping', () => pings.alive++)
  const answered = async (round: number) => {
    while (pings.alive < round || pings.dead < round) await new Promise(resolve => setImmediate(resolve))
    // Its pong is on the way; what is sent after it comes after it.
    alive.ping()
    await once(alive, 'pong')
  }
  for (const round of [1, 2]) {
    clock.advance(callDefaults.keepalive)
    await answered(round)
    expect(links.map(link => link.closed)).toEqual([false, false])
  }
  const gone = closeCode(dead)
  clock.advance(callDefaults.keepalive)
  expect(links.map(link => link.closed)).toEqual([true, false])
  expect(await gone).toBe(1006)
})

test('a client finds out too that its server is gone', async () => {
  const clock = new ManualClock()
  const { url, links } = await serve()
  const node = new CallNode({ registry: new OperationRegistry() })
  const link = node.attach(await connectWebSocket(url, { token: SECRET, clock }))
  await link.call('/test/echo')
  for (const _ of [1, 2, 3]) clock.advance(callDefaults.keepalive)
  expect(link.closed).toBe(true)
  expect(links).toHaveLength(1)
})

test('closing what was attached ends its connections, and the HTTP server goes on', async () => {
  const { url, attached, server, port } = await serve()
  const socket = await raw(url)
  server.on('request', (_request, response) => response.end('still here'))
  const gone = closeCode(socket)
  attached.close()
  expect(await gone).toBe(1006)
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('still here')
  expect(attached.connections).toBe(0)
})

test('a page tells what it found wrong by a code of its own: browsers allow no other', async () => {
  const closed = Promise.withResolvers<number>()
  const url = await plainServer(socket => {
    socket.on('close', closed.resolve)
    socket.send('text')
  })
  new CallNode({ registry: new OperationRegistry() }).attach(await connectBrowserWebSocket(url))
  expect(await closed.promise).toBe(4003)
})
