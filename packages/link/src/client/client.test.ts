// The calling side (ALP-UNIX-06 to -08, ALP-TCP-07, -10, -11, ALP-ENV-12, ALP-ERR-04) against a real server and those
// that misbehave: where a peer is reached, one request, connections that are used again.
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { ManualClock } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { Scribe } from '../envelope/envelope.ts'
import { parseText } from '../json/parse.ts'
import type { WireObject, WireValue } from '../json/value.ts'
import { wireText } from '../json/write.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { vectorClock } from '../testing/clock.ts'
import { failure, Ground, idle, streamOf, until } from '../testing/ground.ts'
import { temporaryFolder, writeKeys } from '../testing/homes.ts'
import { misbehaving } from '../testing/misbehaving.ts'
import { identityOf } from '../testing/vectors.ts'
import { CARRIERS } from '../transport/channel.ts'
import { LinkClient } from './client.ts'
import { parseAddress, targetOf } from './target.ts'

const bob = identityOf('bob')

/** A Unix server that answers each line as `answer` says. */
function answering(answer: (request: WireObject, bob: Scribe) => readonly (Buffer | string)[], clock = vectorClock()) {
  const scribe = new Scribe(bob, clock)
  return misbehaving('unix', socket => {
    socket.once('data', data => {
      for (const line of answer(parseText(data.toString()) as WireObject, scribe)) socket.write(`${line}\n`)
      socket.end()
    })
  })
}

function alice(clock: ManualClock = vectorClock()) {
  return new LinkClient({ identity: identityOf('alice'), clock })
}

describe.each(CARRIERS)('over %s', carrier => {
  test('ALP-UNIX-08 a request is answered; its chunks come in order, and whatever is none ends it', async () => {
    const ground = await Ground.start({
      handler: ({ method, params }) => {
        if (method !== 'stream') return { result: { method, params: params! } }
        return streamOf(...['a', 'b', 'c'].map(text => ({ chunk: { text } })), { final: { text: 'abc' } })
      },
    })
    const client = ground.client()
    const echoed = { method: 'link.ping', params: { n: 1 } }
    const said = await client.call(ground.target(carrier), echoed.method, echoed.params)
    expect(said).toMatchObject({ ok: true, value: echoed })
    const chunks: WireValue[] = []
    const onChunk = (chunk: WireValue) => void chunks.push(chunk)
    const streamed = await client.call(ground.target(carrier), 'stream', {}, { onChunk })
    expect(streamed).toEqual({ ok: true, value: expect.objectContaining({ text: 'abc' }) })
    expect(chunks).toMatchObject([{ text: 'a' }, { text: 'b' }, { text: 'c' }])
    // Nobody need listen to them.
    expect(await client.call(ground.target(carrier), 'stream')).toMatchObject({ ok: true, value: { text: 'abc' } })
  })

  test('ALP-ERR-04 an error of the peer is told as it is', async () => {
    const error = { code: -32005, message: 'rate-limited', data: { window_seconds: 60 } }
    const ground = await Ground.start({ handler: () => ({ error }) })
    const data = expect.objectContaining(error.data)
    expect(await ground.client().call(ground.target(carrier), 'x')).toEqual({
      ok: false,
      error: { where: 'remote', error: { ...error, data } },
    })
  })

  test('ALP-UNIX-06 being dropped looks like an empty response', async () => {
    const ground = await Ground.start({ pinned: [] })
    expect(await ground.client().call(ground.target(carrier), 'link.ping')).toMatchObject(
      failure('link_empty_response', { message: expect.stringMatching(/^empty response: /) }),
    )
  })

  test('ALP-UNIX-06 an answer that does not come in time is a local failure, each part having the whole time', async () => {
    const clock = vectorClock()
    const step = Promise.withResolvers<void>()
    const ground = await Ground.start({
      clock,
      handler: () => ({
        stream: (async function* () {
          yield { chunk: { text: 'a' } }
          await step.promise
          yield { chunk: { text: 'b' } }
          await new Promise(() => undefined)
        })(),
      }),
    })
    let heard = 0
    const call = ground.client().call(ground.target(carrier), 'x', {}, { onChunk: () => void heard++ })
    await until(() => heard === 1)
    await idle(1)
    clock.advance(linkDefaults.callMs - 1)
    step.resolve()
    await until(() => heard === 2)
    await idle(1)
    clock.advance(linkDefaults.callMs)
    expect(await call).toMatchObject(failure('link_timeout'))
  })

  test('a request can be given up', async () => {
    const begun = Promise.withResolvers<AbortSignal>()
    const ground = await Ground.start({
      handler: (_, { signal }) => {
        begun.resolve(signal)
        return new Promise(() => undefined)
      },
    })
    const abort = new AbortController()
    const call = ground.client().call(ground.target(carrier), 'x', {}, { signal: abort.signal })
    const theirs = await begun.promise
    abort.abort()
    expect(await call).toMatchObject(failure('link_cancelled'))
    if (carrier === 'tcp') await until(() => theirs.aborted)
    const again = await ground.client().call(ground.target(carrier), 'x', {}, { signal: abort.signal })
    expect(again).toMatchObject(failure('link_cancelled'))
  })

  test('params that cannot be sent are a local failure, and nothing is sent', async () => {
    const ground = await Ground.start()
    expect(await ground.client().call(ground.target(carrier), 'x', { a: Number.NaN })).toMatchObject(
      failure('not_canonical'),
    )
    expect(ground.dropped).toEqual([])
  })
})

test('the times of the sheet', () => {
  expect([linkDefaults.callMs, linkDefaults.askMs, linkDefaults.pingMs]).toEqual([30_000, 300_000, 5000])
})

test('ALP-UNIX-06 a socket that is missing, or that nobody serves, is an offline target', async () => {
  const home = temporaryFolder()
  const missing = await alice().call({ identity: bob.id, at: { path: join(home, 'alp.sock') } }, 'link.ping')
  expect(missing).toMatchObject(
    failure('target-offline', { message: expect.stringMatching(/^target-offline: .*ENOENT/) }),
  )
})

test('ALP-TCP-11 a port that nobody serves, or a host that is none, is an offline target', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  await new Promise(resolve => server.close(resolve))
  for (const host of ['127.0.0.1', 'host.invalid'])
    expect(await alice().call({ identity: bob.id, at: { host, port } }, 'link.ping')).toMatchObject(
      failure('target-offline', { retryable: true }),
    )
})

test('ALP-ENV-12 a message of a stream that comes twice is not taken twice', async () => {
  const target = await answering(({ id }, scribe) => {
    const chunk = scribe.response(identityOf('alice').id, id!, { result: { text: 'a' }, stream: 'chunk' })
    return [chunk, chunk]
  })
  const chunks: WireValue[] = []
  const said = await alice().call(target, 'link.ask', {}, { onChunk: chunk => void chunks.push(chunk) })
  expect(said).toMatchObject(failure('link_bad_response', { details: { reason: 'replay' } }))
  expect(chunks).toEqual([{ text: 'a' }])
})

test('ALP-TCP-11 whoever does not hold the pinned key is a failed handshake', async () => {
  const ground = await Ground.start()
  const wrong = { ...ground.target('tcp'), identity: identityOf('carol').id }
  expect(await ground.client().call(wrong, 'link.ping')).toMatchObject(failure('link_handshake_failed'))
  const nobody = { ...ground.target('tcp'), identity: 'nobody' }
  expect(await ground.client().call(nobody, 'link.ping')).toMatchObject(failure('link_bad_identity'))
})

test('ALP-TCP-06 a responder that says nothing has ten seconds for the handshake', async () => {
  const clock = vectorClock()
  const heard = Promise.withResolvers<void>()
  const target = await misbehaving('tcp', socket => socket.once('data', () => heard.resolve()))
  const call = alice(clock).call(target, 'link.ping', {}, { timeoutMs: linkDefaults.askMs })
  await heard.promise
  clock.advance(linkDefaults.handshakeMs)
  expect(await call).toMatchObject(failure('link_handshake_timeout'))
})

const [own, carol] = [identityOf('alice').id, identityOf('carol')]
const impostor = new Scribe(carol, vectorClock())
const one = { result: 1 }
const bad: readonly (readonly [string, Parameters<typeof answering>[0], string])[] = [
  ['rubbish', () => ['rubbish'], 'not JSON'],
  ['an answer of somebody else', ({ id }) => [impostor.response(own, id!, one)], 'sender'],
  ['an answer to somebody else', ({ id }, by) => [by.response(carol.id, id!, one)], 'recipient'],
  ['an answer to another request', (_, by) => [by.response(own, 'other', one)], 'id'],
  ['a chunk, then rubbish', ({ id }, by) => [by.response(own, id!, { ...one, stream: 'chunk' }), '{}'], 'missing alp'],
]

test.each(bad)('ALP-ENV-12 %s is a local failure', async (_, answer, reason) => {
  const target = await answering(answer)
  expect(await alice().call(target, 'x')).toMatchObject(failure('link_bad_response', { details: { reason } }))
})

test('ALP-UNIX-04 an answer that is too long is a local failure', async () => {
  const target = await answering(() => ['x'.repeat(linkLimits.lineBytes + 1)])
  expect(await alice().call(target, 'x')).toMatchObject(failure('link_bad_response'))
})

test('ALP-UNIX-04 a line that an early revision would not take is sent only where the peer is known to take it', async () => {
  const ground = await Ground.start({ handler: ({ params }) => ({ result: (params!.text as string).length }) })
  const params = { text: 'x'.repeat(70_000) }
  expect(await ground.client().call(ground.target('unix'), 'x', params)).toMatchObject(failure('link_too_large'))
  const larger = { ...ground.target('unix'), lineBytes: linkLimits.lineBytes }
  expect(await ground.client().call(larger, 'x', params)).toMatchObject({ ok: true, value: 70_000 })
  expect(await ground.client().call(ground.target('tcp'), 'x', params)).toMatchObject({ ok: true, value: 70_000 })
})

test('ALP-TCP-04 a request that is larger than a frame is refused here', async () => {
  const ground = await Ground.start()
  const params = { text: 'x'.repeat(linkLimits.frameBytes) }
  expect(await ground.client().call(ground.target('tcp'), 'x', params)).toMatchObject(failure('link_too_large'))
})

test('ALP-ID-06 the label of a peer never crosses the wire', async () => {
  const seen: string[] = []
  const ground = await Ground.start({
    handler: ({ message }) => {
      seen.push(wireText(message.body))
      return { result: {} }
    },
  })
  const label = 'a-label-of-mine'
  const target = targetOf({ id: label, pubkey: bob.id, address: `127.0.0.1:${ground.server.port}` }, {})
  if (!target.ok) throw target.error
  expect((await ground.client().call(target.value, 'link.ping')).ok).toBe(true)
  expect(seen).toHaveLength(1)
  expect(seen[0]).not.toContain(label)
})

describe('addresses', () => {
  test.each([
    ['home-server.internal:7423', 'home-server.internal', 7423],
    ['::1:7423', '::1', 7423],
    ['[::1]:7423', '[::1]', 7423],
    ['a:b:80', 'a:b', 80],
  ])('ALP-TCP-10 %s is split at the last colon', (address, host, port) => {
    expect(parseAddress(address)).toEqual({ ok: true, value: { host, port } })
  })

  test.each(['', 'host', ':7423', 'host:', 'host:x', 'host:70000', 'host:-1', 'host: 1', 'host:1e3'])(
    'ALP-TCP-10 %j is a local error',
    address => {
      expect(parseAddress(address)).toMatchObject({ ok: false, error: { code: 'link_bad_address' } })
    },
  )

  test('ALP-TCP-10 brackets are dialled without them', async () => {
    const ground = await Ground.start()
    const result = await ground
      .client()
      .call({ identity: bob.id, at: { host: '[127.0.0.1]', port: ground.server.port! } }, 'x')
    expect(result.ok).toBe(true)
  })

  test('ALP-UNIX-07 a peer without an address is the profile that holds its key', async () => {
    const root = temporaryFolder()
    const home = writeKeys(join(root, 'profiles', 'b'), 'bob')
    const roots = { alpi: root }
    expect(targetOf({ id: 'x', pubkey: bob.id }, roots)).toEqual({
      ok: true,
      value: { identity: bob.id, at: { path: join(home, 'alp', 'alp.sock') } },
    })
    expect(targetOf({ id: 'x', pubkey: bob.id, address: 'h:1' }, roots)).toEqual({
      ok: true,
      value: { identity: bob.id, at: { host: 'h', port: 1 } },
    })
    expect(targetOf({ id: 'x', pubkey: bob.id, address: 'h' }, roots).ok).toBe(false)
    // Not the profile that is called like the peer: it would read what was meant for another (nothing is encrypted
    // here).
    for (const id of ['b', '../x'])
      expect(targetOf({ id, pubkey: identityOf('carol').id }, roots)).toMatchObject({
        ok: false,
        error: { code: 'target-offline' },
      })
  })
})

describe('a session', () => {
  /** How many connections a ground's server has seen, by the ports they came from. */
  function counting() {
    const remotes = new Set<string>()
    const handler = (_: unknown, { remote }: { readonly remote: string | undefined }) => {
      remotes.add(remote!)
      return { result: {} }
    }
    return { remotes, handler }
  }

  test('ALP-TCP-07 uses its connection again, until it was idle for a minute', async () => {
    const { remotes, handler } = counting()
    const ground = await Ground.start({ handler })
    const session = ground.client().session(ground.target('tcp'))
    for (let times = 0; times < 3; times++) {
      const call = session.call('x')
      // The first time it looks whether the server would rather close.
      if (times === 1) ground.pass(linkDefaults.settleMs)
      expect((await call).ok).toBe(true)
      ground.pass(linkDefaults.clientIdleMs - linkDefaults.settleMs - 1)
    }
    expect(remotes.size).toBe(1)
    ground.pass(linkDefaults.settleMs)
    ground.pass(1)
    expect((await session.call('x')).ok).toBe(true)
    expect(remotes.size).toBe(2)
    session.close()
  })

  test('ALP-TCP-07 takes a new connection where the server closed the old one', async () => {
    const { remotes, handler } = counting()
    const ground = await Ground.start({ handler })
    const session = ground.client().session(ground.target('tcp'))
    const { port } = ground.server
    await session.call('x')
    await ground.server.close()
    expect(await session.call('x')).toMatchObject(failure('target-offline'))
    await ground.listen({ handler, tcp: { host: '127.0.0.1', port: port! } })
    expect((await session.call('x')).ok).toBe(true)
    expect(remotes.size).toBe(2)
    session.close()
  })

  test('ALP-TCP-07 never sends a request twice: one whose connection breaks has failed', async () => {
    let asked = 0
    const sockets: Socket[] = []
    const ground = await Ground.start({
      handler: () => {
        asked++
        for (const socket of sockets) socket.destroy()
        return new Promise(() => undefined)
      },
    })
    // Something between the two that can break.
    const target = await misbehaving('tcp', async socket => {
      const { socket: onward } = await ground.raw('tcp')
      sockets.push(socket, onward)
      socket.pipe(onward).pipe(socket)
    })
    expect(await ground.client().session(target).call('x')).toMatchObject(failure('link_empty_response'))
    expect(asked).toBe(1)
  })

  test('ALP-TCP-07 has one request at a time', async () => {
    const release = Promise.withResolvers<void>()
    const ground = await Ground.start({
      handler: async () => {
        await release.promise
        return { result: 'done' }
      },
    })
    const session = ground.client().session(ground.target('tcp'))
    const first = session.call('x')
    expect(await session.call('x')).toMatchObject(failure('link_busy'))
    release.resolve()
    expect(await first).toMatchObject({ ok: true, value: 'done' })
    session.close()
  })

  test('ALP-TCP-07 works with a server that closes after one exchange', async () => {
    const ground = await Ground.start()
    const { remotes } = counting()
    // Cuts the connection when the answer has passed, as early servers do.
    const target = await misbehaving('tcp', async socket => {
      const { socket: onward } = await ground.raw('tcp')
      remotes.add(String(socket.remotePort))
      socket.pipe(onward)
      let seen = 0
      onward.on('data', (chunk: Buffer) => {
        seen += chunk.length
        socket.write(chunk)
        // Handshake, then the whole answer.
        if (seen > 50 + 100) socket.end()
      })
    })
    const session = ground.client().session(target)
    for (let times = 0; times < 3; times++) expect((await session.call('x')).ok).toBe(true)
    expect(remotes.size).toBe(3)
    session.close()
  })
})
