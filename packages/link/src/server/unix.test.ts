// Where a profile listens (ALP-TCP-01), its Unix socket (ALP-UNIX), and what a handler gets and becomes of its answer
// (ALP-ENV-06, -13, ALP-SRV-03), on real sockets.
import { existsSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import type { NetworkInterfaceInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { ParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import { Scribe } from '../envelope/envelope.ts'
import { writeTs } from '../envelope/timestamp.ts'
import { linkPaths } from '../identity/files.ts'
import { parseText } from '../json/parse.ts'
import { float, type WireObject, type WireValue } from '../json/value.ts'
import { wireText } from '../json/write.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { forgedBytes } from '../testing/forge.ts'
import { answersOf, Ground, streamOf, until } from '../testing/ground.ts'
import { temporaryFolder } from '../testing/homes.ts'
import { identityOf } from '../testing/vectors.ts'
import { planListening, type Surroundings } from './plan.ts'
import type { LinkRequest, StreamPart } from './request.ts'
import { listenUnix } from './unix-socket.ts'

const [alice, bob] = [identityOf('alice'), identityOf('bob')]

/** One request as alice writes it. */
function request(ground: Ground, params: WireObject = {}): Buffer {
  const scribe = new Scribe(alice, ground.clock)
  return scribe.request(ground.identity.id, scribe.newId(), 'link.ping', params)
}

/** The same on a line. */
const line = (...how: Parameters<typeof request>) => `${request(...how)}\n`

const answers = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map(each => parseText(each) as WireObject)

test('ALP-UNIX-01 the socket is alp/alp.sock, for its owner alone', async () => {
  const ground = await Ground.start()
  expect(ground.socket).toBe(join(ground.home, 'alp', 'alp.sock'))
  expect(lstatSync(ground.socket).isSocket()).toBe(true)
  expect(statSync(ground.socket).mode & 0o777).toBe(0o600)
  expect(ground.server.carriers).toEqual(['unix', 'tcp'])
})

test('ALP-UNIX-02 whatever lies at its path gives way, its folder is made, and nothing is left behind', async () => {
  const home = temporaryFolder()
  const { socket } = linkPaths(home)
  const target = join(home, 'precious')
  writeFileSync(target, 'x')
  mkdirSync(dirname(socket), { recursive: true })
  symlinkSync(target, socket)
  const first = await listenUnix(socket, ({ destroy }) => destroy())
  expect(lstatSync(socket).isSocket()).toBe(true)
  expect(existsSync(target)).toBe(true)
  // A second server takes the name; the first one, when it ends, leaves it alone.
  const second = await listenUnix(socket, ({ destroy }) => destroy())
  await first.stop()
  expect(lstatSync(socket).isSocket()).toBe(true)
  await second.stop()
  expect(readdirSync(dirname(socket))).toEqual([])
})

test('ALP-UNIX-02 a path that the system cannot take is refused by name', async () => {
  const deep = join(temporaryFolder(), 'x'.repeat(100), 'alp', 'alp.sock')
  await expect(listenUnix(deep, () => undefined)).rejects.toMatchObject({ code: 'socket_path_too_long' })
  expect(existsSync(dirname(deep))).toBe(false)
})

test('ALP-UNIX-03 one line, its answer on a line, then the end', async () => {
  const ground = await Ground.start()
  const peer = await ground.raw('unix')
  peer.write(line(ground, { nonce: 'n' }))
  await peer.closed
  const text = peer.received.toString()
  expect(text.endsWith('\n')).toBe(true)
  expect(answers(text)).toMatchObject([{ result: { method: 'link.ping', params: { nonce: 'n' } } }])
})

test('ALP-UNIX-03 a second request on the same connection is not answered', async () => {
  const ground = await Ground.start()
  expect(await answersOf(ground.socket, Buffer.from(line(ground) + line(ground)))).toHaveLength(1)
})

test('ALP-UNIX-03 a caller that says no more still gets its answer, with or without the last line feed', async () => {
  const release = Promise.withResolvers<void>()
  const ground = await Ground.start({
    handler: async () => {
      await release.promise
      return { result: 'late' }
    },
  })
  const peer = await ground.raw('unix')
  peer.socket.end(line(ground).trimEnd())
  await until(() => peer.socket.writableFinished)
  release.resolve()
  await peer.closed
  expect(answers(peer.received.toString())).toMatchObject([{ result: 'late' }])
})

test('ALP-UNIX-03 a stream is a line for each part', async () => {
  const ground = await Ground.start({
    handler: () => ({
      stream: (async function* () {
        yield* [{ chunk: { text: 'Hel' } }, { chunk: { text: 'lo' } }, { final: { text: 'Hello' } }]
        throw new Error('nobody asks for more')
      })(),
    }),
  })
  expect(await answersOf(ground.socket, request(ground))).toMatchObject([
    { result: { text: 'Hel' }, stream: 'chunk' },
    { result: { text: 'lo' }, stream: 'chunk' },
    { result: { text: 'Hello' }, stream: 'final' },
  ])
  expect(ground.failed).toEqual([])
})

test('ALP-UNIX-04 a request of almost 1,048,576 bytes is answered; a longer line closes the connection', async () => {
  const ground = await Ground.start({ handler: ({ params }) => ({ result: (params!.text as string).length }) })
  const room = linkLimits.lineBytes - request(ground, { text: '' }).length
  const sent = (length: number) => answersOf(ground.socket, request(ground, { text: 'x'.repeat(length) }))
  expect(await sent(room)).toMatchObject([{ result: room }])
  expect(await sent(room + 1)).toEqual([])
})

test.each([
  ['nothing at all', ''],
  ['an empty line', '\n'],
  ['no JSON', '{oops\n'],
  ['an array', '[1,2]\n'],
  ['no UTF-8', Buffer.from([0xff, 0xfe, 0x0a])],
])('ALP-UNIX-05 %s: closed without a byte', async (_, bytes) => {
  const ground = await Ground.start()
  const peer = await ground.raw('unix')
  peer.socket.end(bytes)
  await peer.expectSilence()
})

test('ALP-UNIX-05 a caller that writes too slowly is closed, others are served meanwhile', async () => {
  const ground = await Ground.start()
  const slow = await ground.raw('unix')
  slow.write('{"jsonrpc"')
  expect((await ground.client().call(ground.target('unix'), 'link.ping')).ok).toBe(true)
  ground.pass(linkDefaults.lineMs)
  await slow.expectSilence()
})

test('stopping removes the socket, cuts who says nothing, and waits for an answer that is on its way', async () => {
  const begun = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const ground = await Ground.start({
    handler: async () => {
      begun.resolve()
      await release.promise
      return { result: 'the end' }
    },
  })
  const [idle, busy] = [await ground.raw('unix'), await ground.raw('unix')]
  busy.write(line(ground))
  await begun.promise
  const closing = ground.server.close()
  await idle.closed
  expect(existsSync(ground.socket)).toBe(false)
  release.resolve()
  await busy.closed
  expect(answers(busy.received.toString())).toMatchObject([{ result: 'the end' }])
  await closing
})

test('a handler that does not end is cut off when its time is over', async () => {
  const begun = Promise.withResolvers<AbortSignal>()
  const ground = await Ground.start({
    handler: (_, { signal }) => {
      begun.resolve(signal)
      return new Promise(() => undefined)
    },
  })
  const peer = await ground.raw('unix')
  peer.write(line(ground))
  const signal = await begun.promise
  const closing = ground.server.close()
  ground.pass(linkDefaults.closeMs)
  await closing
  await until(() => signal.aborted)
})

const v4 = (address: string, internal = false): NetworkInterfaceInfo => ({
  address,
  internal,
  family: 'IPv4',
  netmask: '255.255.255.0',
  mac: '00:00:00:00:00:00',
  cidr: null,
})

const v6 = (address: string): NetworkInterfaceInfo => ({
  address,
  internal: false,
  family: 'IPv6',
  netmask: 'ffff:ffff:ffff:ffff::',
  mac: '00:00:00:00:00:00',
  cidr: null,
  scopeid: 0,
})

const tcpOf = (...plan: Parameters<typeof planListening>) => planListening(...plan).tcp

const alone: Surroundings = { environment: {}, interfaces: { lo: [v4('127.0.0.1', true)] }, inDocker: false }
const inNetwork = (interfaces: Surroundings['interfaces']): Surroundings => ({ ...alone, interfaces })

test('ALP-TCP-01 the default profile listens on 7423 where it has an address to be reached at', () => {
  expect(linkDefaults.tcpPort).toBe(7423)
  const lan = inNetwork({ lo: [v4('127.0.0.1', true)], eth0: [v4('192.168.1.5')] })
  expect(planListening('default', {}, lan)).toEqual({ unix: true, tcp: { host: '192.168.1.5', port: 7423 } })
  const named = { unix: true, tcp: { host: 'nas.internal', port: 7423 } }
  expect(planListening('default', { host: 'nas.internal' }, alone)).toEqual(named)
  const own = { host: '10.0.0.1', port: 9000 }
  expect(tcpOf('default', { host: own.host, tcpPort: own.port }, lan)).toMatchObject(own)
  expect(tcpOf('default', {}, { ...alone, inDocker: true })).toEqual({ host: '0.0.0.0', port: 7423 })
})

test('ALP-TCP-01 beside what was written down stands the address that the machine has, in a container all of them', () => {
  const lan = inNetwork({ eth0: [v4('192.168.1.5')] })
  const host = 'nas.example'
  expect(planListening('default', { host }, lan).tcp).toEqual({ host, port: 7423, fallback: '192.168.1.5' })
  expect(planListening('default', { host }, { ...lan, inDocker: true }).tcp?.fallback).toBe('0.0.0.0')
  expect(tcpOf('default', { host: '192.168.1.5' }, lan)).toEqual({ host: '192.168.1.5', port: 7423 })
})

test('ALP-TCP-01 an overlay or a local network of IPv6 is found too; an address of one link is none', () => {
  const found = (interfaces: Surroundings['interfaces']) =>
    planListening('default', {}, inNetwork(interfaces)).tcp?.host
  expect(found({ eth0: [v6('fe80::1'), v6('fd12:3456::7')] })).toBe('fd12:3456::7')
  expect(found({ eth0: [v6('fd12:3456::7'), v4('192.168.1.5')] })).toBe('192.168.1.5')
  expect(found({ eth0: [v4('192.168.1.5')], wg0: [v6('fe80::2'), v6('fd00::9')] })).toBe('fd00::9')
  // The whole world, a bridge of containers, one link alone.
  expect(found({ eth0: [v6('2001:db8::1'), v6('fe80::1')], docker0: [v6('fd00::1')] })).toBeUndefined()
})

test('ALP-TCP-01 without such an address it stays on the Unix socket', () => {
  expect(planListening('default', {}, alone)).toEqual({ unix: true })
  // The whole world, or a bridge between containers: neither is taken by itself.
  const far = inNetwork({ eth0: [v4('8.8.8.8')], docker0: [v4('172.17.0.1')] })
  expect(planListening('default', {}, far)).toEqual({ unix: true })
})

test('ALP-TCP-01 an overlay is preferred to the local network', () => {
  const hostIn = (interfaces: Surroundings['interfaces']) => tcpOf('default', {}, inNetwork(interfaces))?.host
  expect(hostIn({ eth0: [v4('192.168.1.5')], tailscale0: [v4('100.101.1.2')] })).toBe('100.101.1.2')
  expect(hostIn({ eth0: [v4('10.1.1.1')], wg0: [v4('10.9.9.9')] })).toBe('10.9.9.9')
  expect(hostIn({ eth0: [v4('172.20.0.4')] })).toBe('172.20.0.4')
})

test('ALP-TCP-01 other profiles listen only on a port of their own', () => {
  const lan = inNetwork({ eth0: [v4('192.168.1.5')] })
  expect(planListening('work', {}, lan)).toEqual({ unix: true })
  expect(planListening('work', { host: '10.0.0.1' }, lan)).toEqual({ unix: true })
  expect(tcpOf('work', { tcpPort: 7500 }, lan)).toEqual({ host: '192.168.1.5', port: 7500 })
})

test('ALP-TCP-01 with the service off there is nothing at all', () => {
  const lan = inNetwork({ eth0: [v4('192.168.1.5')] })
  expect(planListening('default', { service: false, host: 'x', tcpPort: 1 }, lan)).toEqual({ unix: false })
})

test('ALP-TCP-01 the environment overrides host and port', () => {
  const environment = { ALPI_NETWORK_HOST: '10.1.2.3', ALPI_ALP_TCP_PORT: '8123' }
  const tcp = (environment: Surroundings['environment']) =>
    tcpOf('default', { host: 'x', tcpPort: 1 }, { ...alone, environment })
  expect(tcp(environment)).toEqual({ host: '10.1.2.3', port: 8123 })
  for (const port of ['', '0', '70000', 'x', '-1']) expect(tcp({ ALPI_ALP_TCP_PORT: port })?.port).toBe(1)
})

/** Sends a body as alice signs it, and returns what is answered. */
function ask(ground: Ground, body: WireObject): Promise<WireObject[]> {
  return answersOf(ground.socket, forgedBytes(alice, { to: bob.id, ts: writeTs(ground.clock.now()), body }))
}

test('ALP-ENV-06 an id that is a text is repeated as it was; anything else is answered with null', async () => {
  const ground = await Ground.start()
  for (const id of ['x', '', 'é\u0000', '5']) {
    const [answer] = await ask(ground, { id, method: 'm', params: {} })
    expect(answer!.id).toBe(id)
  }
  for (const id of [5, float(2), null, ['a'], { a: 1 }] as WireValue[]) {
    const [answer] = await ask(ground, { id, method: 'm', params: {} })
    expect(answer!.id).toBeNull()
  }
})

/** What the handler gets for each of these bodies. */
async function requests(...bodies: WireObject[]): Promise<LinkRequest[]> {
  const seen: LinkRequest[] = []
  const ground = await Ground.start({
    handler: request => {
      seen.push(request)
      return { result: {} }
    },
  })
  for (const body of bodies) await ask(ground, body)
  return seen
}

test('ALP-ENV-06 params that are absent or null are an empty object; other things are none', async () => {
  const others = [false, 0, float(0), '', [], 'x', [1], 7, true] as WireValue[]
  const seen = await requests(
    { id: 'x', method: 'm' },
    ...[null, { a: 1 }, ...others].map(params => ({ id: 'x', method: 'm', params })),
  )
  expect(seen.map(({ params }) => params)).toEqual([{}, {}, { a: 1 }, ...others.map(() => undefined)])
  expect(seen[0]).toMatchObject({ method: 'm', from: alice.id })
})

test('ALP-ENV-13 an answer that is nothing is an empty object, and errors have three members', async () => {
  const ground = await Ground.start({
    handler: ({ method }) =>
      method === 'nothing' ? { result: null } : { error: { code: -32601, message: 'method-not-found', data: null } },
  })
  expect(await ask(ground, { id: 'x', method: 'nothing' })).toMatchObject([{ result: {} }])
  const [failed] = await ask(ground, { id: 'x', method: 'other' })
  expect(wireText(failed!.error!)).toBe('{"code":-32601,"message":"method-not-found","data":null}')
  expect('result' in failed!).toBe(false)
})

test('ALP-SRV-03 a handler that fails is an internal error, and a defect tells nothing of itself', async () => {
  const ground = await Ground.start({
    handler: ({ method }) => {
      throw method === 'refused' ? new ParleyError('x', 'said for others') : new Error('a secret path')
    },
  })
  expect(await ask(ground, { id: 'x', method: 'refused' })).toMatchObject([
    { error: { code: -32603, message: 'internal-error', data: { detail: 'said for others' } } },
  ])
  expect(await ask(ground, { id: 'x', method: 'defect' })).toMatchObject([
    { error: { code: -32603, message: 'internal-error', data: { detail: 'the request failed here' } } },
  ])
  expect(ground.failed.join()).toContain('a secret path')
})

test('ALP-SRV-03 an answer that cannot be written is an internal error', async () => {
  const ground = await Ground.start({ handler: () => ({ result: { a: Number.NaN } }) })
  expect(await ask(ground, { id: 'x', method: 'm' })).toMatchObject([{ error: { code: -32603 } }])
})

test.each(['fails', 'ends without its last part'])(
  'ALP-SRV-03 a stream that %s ends with one error that has no mark',
  async how => {
    const parts = async function* (): AsyncGenerator<StreamPart> {
      yield { chunk: { text: 'a' } }
      if (how === 'fails') throw new Error('broken')
    }
    const ground = await Ground.start({ handler: () => ({ stream: parts() }) })
    const answers = await ask(ground, { id: 'x', method: 'm' })
    expect(answers).toMatchObject([
      { result: { text: 'a' }, stream: 'chunk' },
      { id: 'x', error: { code: -32603, message: 'internal-error' } },
    ])
    expect('stream' in answers[1]!).toBe(false)
  },
)

test('ALP-ENV-14 a stream may end with an error of its own', async () => {
  const error = { code: -32007, message: 'target-busy', data: null }
  const ground = await Ground.start({ handler: () => streamOf({ error }) })
  const [answer, ...more] = await ask(ground, { id: 'x', method: 'm' })
  expect(answer).toMatchObject({ error: { code: -32007 } })
  expect(more).toEqual([])
})
