// The Unix socket (ALP-UNIX), on a real one.
import { existsSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { Scribe } from '../envelope/envelope.ts'
import { linkPaths } from '../identity/files.ts'
import { parseText } from '../json/parse.ts'
import type { WireObject } from '../json/value.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { answersOf, Ground, until } from '../testing/ground.ts'
import { temporaryFolder } from '../testing/homes.ts'
import { identityOf } from '../testing/vectors.ts'
import { listenUnix } from './unix-socket.ts'

const alice = identityOf('alice')

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
  await peer.closed
  expect(peer.received).toHaveLength(0)
})

test('ALP-UNIX-05 a caller that writes too slowly is closed, others are served meanwhile', async () => {
  const ground = await Ground.start()
  const slow = await ground.raw('unix')
  slow.write('{"jsonrpc"')
  expect((await ground.client().call(ground.target('unix'), 'link.ping')).ok).toBe(true)
  ground.pass(linkDefaults.lineMs)
  await slow.closed
  expect(slow.received).toHaveLength(0)
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
