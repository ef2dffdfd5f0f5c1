// A stranger learns nothing of a whole profile (ALP-ERR-05, ALP-PEND-01): with the files, the handlers and the spending
// behind the server, what comes back for any bad message is the same bytes in the same order, and a flood of them is no
// burden. Nor does anybody on the path, and a profile that is killed forgets nothing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { SystemClock } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { LinkClient } from '../client/client.ts'
import { Scribe } from '../envelope/envelope.ts'
import { DROP_REASONS, type DropReason } from '../envelope/verify.ts'
import { identityFromSeed } from '../identity/identity.ts'
import { linkLimits } from '../limits.ts'
import { MESSAGE_BYTES } from '../noise/handshake.ts'
import { BAD_MESSAGES, replayed, sound } from '../testing/bad-messages.ts'
import { Caller } from '../testing/caller.ts'
import { forgedBytes } from '../testing/forge.ts'
import { Ground, linesOf, RawPeer } from '../testing/ground.ts'
import { Profile } from '../testing/profile.ts'
import { identityOf } from '../testing/vectors.ts'

const [alice, bob, carol] = [identityOf('alice'), identityOf('bob'), identityOf('carol')]
/** Every reason that the kinds below were dropped for. */
const reasons = new Set<DropReason>()

/** What the wire carried from the server, as lengths in their order, and how it ended. */
async function unixTrace(profile: Profile, bytes: Buffer): Promise<string[]> {
  const peer = await RawPeer.connected(connect(profile.paths.socket))
  const trace = traced(peer)
  peer.write(Buffer.concat([bytes, Buffer.from('\n')]))
  await peer.closed
  return trace
}

async function tcpTrace(profile: Profile, bytes: Buffer, name: string): Promise<string[]> {
  const { peer, trace } = await tcpSent(profile, bytes, name)
  await peer.closed
  return trace
}

/** How many bytes an answer has. */
async function tcpAnswer(profile: Profile, bytes: Buffer): Promise<number> {
  const { peer } = await tcpSent(profile, bytes, 'alice')
  return (await peer.frame(4)).length
}

async function tcpSent(profile: Profile, bytes: Buffer, name: string) {
  let trace: string[] = []
  const caller = await Caller.of(profile, name, peer => {
    trace = traced(peer)
  })
  caller.say(bytes)
  return { peer: caller.peer, trace }
}

function traced({ socket }: RawPeer): string[] {
  const trace: string[] = []
  socket.on('data', (chunk: Buffer) => trace.push(`${chunk.length} bytes`))
  socket.on('end', () => trace.push('end'))
  socket.on('error', () => trace.push('error'))
  socket.on('close', () => trace.push('close'))
  return trace
}

test('ALP-ERR-05 for every kind of bad message a profile sends the same bytes in the same order: none, or the one of the handshake', async () => {
  const profile = await Profile.start()
  const traces = { unix: new Set<string>(), tcp: new Set<string>() }
  for (const [name, kind] of Object.entries(BAD_MESSAGES)) {
    const sender = name === 'a message of a stranger' ? 'carol' : 'alice'
    for (const carrier of ['unix', 'tcp'] as const) {
      const send = (bytes: Buffer) =>
        carrier === 'unix' ? unixTrace(profile, bytes) : tcpTrace(profile, bytes, sender)
      const bytes = kind === replayed ? forgedBytes(alice, sound(profile)) : kind(profile)
      if (kind === replayed) {
        const before = profile.dropped.length
        await unixTrace(profile, bytes)
        expect(profile.dropped).toHaveLength(before)
      }
      traces[carrier].add((await send(bytes)).join(', '))
    }
    const [one, other] = profile.dropped.slice(-2)
    expect(one, name).toBe(other)
    reasons.add(one!)
  }
  expect([...traces.unix]).toEqual(['end, close'])
  expect([...traces.tcp]).toEqual(['50 bytes, end, close'])
  expect(profile.dropped).toHaveLength(2 * Object.keys(BAD_MESSAGES).length)
  expect(profile.runs.requests).toEqual([])
  expect(existsSync(profile.paths.ledger)).toBe(false)
  // And it is not that nobody is ever answered.
  const sent = (name: string) => forgedBytes(identityOf(name), sound(profile))
  expect(await unixTrace(profile, sent('alice'))).toEqual([expect.stringMatching(/bytes$/), 'end', 'close'])
  expect(await tcpAnswer(profile, sent('alice'))).toBeGreaterThan(100)
})

test('ALP-ERR-02 the kinds above are more than twenty, and they are dropped for every reason that a message can give', () => {
  expect(Object.keys(BAD_MESSAGES).length).toBeGreaterThanOrEqual(20)
  // These two depend on more than the message: on the connection (tcp.test.ts) and on our own disk (replay.test.ts).
  const others: readonly DropReason[] = ['binding', 'replay journal']
  expect([...reasons].toSorted()).toEqual(DROP_REASONS.filter(reason => !others.includes(reason)).toSorted())
})

test('ALP-PEND-01 only a verified message of a stranger is an invite: of all kinds, one', async () => {
  const profile = await Profile.start({ pinned: {} })
  for (const kind of Object.values(BAD_MESSAGES)) {
    if (kind === replayed) continue
    await unixTrace(profile, kind(profile))
  }
  expect(profile.service.pending().map(({ pubkey }) => pubkey)).toEqual([identityOf('carol').id])
})

const COUNT = process.env.PARLEY_SOAK ? 1500 : 300

test(`ALP-PEND-03 ${COUNT} strangers knock while a peer is served: twenty are kept, the disk is spared, the peer has its answers`, async () => {
  const profile = await Profile.start({ clock: new SystemClock() })
  let peers = 0
  for (let n = 0; n < COUNT; n++) {
    const seed = Buffer.alloc(32)
    seed.writeUInt32BE(n + 1)
    const stranger = identityFromSeed(seed)
    const bytes = new Scribe(stranger, profile.clock).request(profile.identity.id, 'x', 'link.ping', {})
    expect(await unixTrace(profile, bytes)).toEqual(['end', 'close'])
    if (n % 10 !== 0) continue
    profile.elapsedMs += 60_001
    expect(await profile.call('link.ping')).toMatchObject({ version: 1 })
    peers++
  }
  expect(peers).toBeGreaterThan(0)
  expect(profile.service.pending()).toHaveLength(linkLimits.pending)
  expect(statSync(profile.paths.pending).size).toBeLessThan(linkLimits.pendingFileBytes)
  const alp = readdirSync(profile.paths.peers.replace('/peers.yaml', ''))
  expect(alp.toSorted()).toEqual(['alp.sock', 'peers.yaml', 'pending_peers.yaml', 'secrets'])
  // Strangers leave nothing in the journal of what was acted upon.
  expect(readFileSync(profile.paths.replay, 'utf8').split('\n').filter(Boolean)).toHaveLength(peers)
})

test('ALP-ERR-05 what is authentic but refused is a signed error; what is wrong with the list of peers is silence', async () => {
  const error = { code: -32001, message: 'capability-denied', data: { method: 'x' } }
  const ground = await Ground.start({ handler: () => ({ error }) })
  const refused = await ground.client().call(ground.target('tcp'), 'x')
  expect(refused).toMatchObject({
    ok: false,
    error: { where: 'remote', error: { code: -32001, message: error.message } },
  })
  Object.defineProperty(ground, 'pinned', {
    get: () => {
      throw new Error('the list cannot be read')
    },
  })
  const scribe = new Scribe(alice, ground.clock)
  expect(await linesOf(ground.socket, scribe.request(bob.id, 'x', 'link.ping', {}))).toEqual([])
  expect(ground.failed.join()).toContain('the list cannot be read')
})

test('ALP-PEND-01 every verified message of a stranger is told to whoever keeps the list, on both transports', async () => {
  const ground = await Ground.start()
  await linesOf(ground.socket, forgedBytes(carol, sound(ground)))
  const caller = await Caller.of(ground, 'carol')
  caller.say(forgedBytes(carol, sound(ground)))
  await caller.peer.closed
  // Not verified: nobody's invitation.
  await linesOf(ground.socket, forgedBytes(carol, { ...sound(ground), to: alice.id }))
  expect(ground.strangers).toEqual([
    [carol.id, undefined],
    [carol.id, expect.stringMatching(/^127\.0\.0\.1:\d+$/)],
  ])
})

const HANDSHAKE = MESSAGE_BYTES.map(length => length + 2)
/** From the caller: its two messages of the handshake. */
const CALLERS = HANDSHAKE[0]! + HANDSHAKE[2]!

interface Tap {
  readonly port: number
  readonly sent: Buffer[]
  readonly answered: Buffer[]
}

/** Passes everything on; `change` sees each piece from the caller with how many bytes came before it. */
async function tapped(to: number, change = (piece: Buffer, _before: number) => piece): Promise<Tap> {
  const sent: Buffer[] = []
  const answered: Buffer[] = []
  const server = createServer(caller => {
    const called = connect(to, '127.0.0.1')
    let before = 0
    caller.on('data', piece => {
      sent.push(Buffer.from(piece))
      const passed = change(Buffer.from(piece), before)
      before += piece.length
      called.write(passed)
    })
    called.on('data', piece => {
      answered.push(Buffer.from(piece))
      caller.write(piece)
    })
    for (const [one, other] of [
      [caller, called],
      [called, caller],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, sent, answered }
}

const asked = (profile: Profile, { port }: Tap, prompt: string) =>
  profile.client().call({ identity: profile.identity.id, at: { host: '127.0.0.1', port } }, 'link.ask', { prompt })

test('nobody on the path reads who calls, what is asked or what is answered', async () => {
  const profile = await Profile.start()
  const tap = await tapped(profile.server.port!)
  expect(await asked(profile, tap, 'a question nobody else reads')).toMatchObject({
    ok: true,
    value: { text: 'You said: a question nobody else reads' },
  })
  const wire = Buffer.concat([...tap.sent, ...tap.answered])
  expect(wire.length).toBeGreaterThan(HANDSHAKE.reduce((sum, each) => sum + each) + 200)
  for (const text of ['nobody else', 'You said', 'link.ask', 'jsonrpc', 'alice', 'bob'])
    expect(wire.includes(text), text).toBe(false)
  for (const { id, noise } of [identityOf('alice'), profile.identity]) {
    expect(wire.includes(id)).toBe(false)
    expect(wire.includes(Buffer.from(id, 'base64'))).toBe(false)
    expect(wire.includes(noise.publicKey)).toBe(false)
  }
})

test.each(['length', 'content', 'tag'])('what is changed on the path, in its %s, reaches nobody', async part => {
  const profile = await Profile.start()
  let changed = 0
  const tap = await tapped(profile.server.port!, (piece, before) => {
    const start = Math.max(0, CALLERS - before)
    if (start >= piece.length || changed > 0) return piece
    piece[{ length: start + 3, content: start + 20, tag: piece.length - 1 }[part]!]! ^= 1
    changed++
    return piece
  })
  expect(await asked(profile, tap, 'x')).toMatchObject({ ok: false, error: { where: 'local' } })
  expect(changed).toBe(1)
  expect(profile.runs.requests).toEqual([])
})

test('what was recorded and is sent again gets the one message of a handshake, and nobody is asked', async () => {
  const profile = await Profile.start()
  const tap = await tapped(profile.server.port!)
  expect(await asked(profile, tap, 'pay')).toMatchObject({ ok: true })
  expect(profile.runs.requests).toHaveLength(1)
  const again = connect(profile.server.port!, '127.0.0.1')
  const heard: Buffer[] = []
  again.on('data', piece => heard.push(piece)).on('error', () => undefined)
  again.write(Buffer.concat(tap.sent))
  await once(again, 'close')
  expect(Buffer.concat(heard)).toHaveLength(HANDSHAKE[1]!)
  expect(profile.runs.requests).toHaveLength(1)
})

const SCRIPT = join(import.meta.dirname, '..', 'testing', 'served-profile.ts')

test('ALP-BUD-02 ALP-ENV-08 a profile that is killed in mid-answer: its peers, replays, invites and what was set aside are there in the next one', async () => {
  const clock = new SystemClock()
  const profile = await Profile.start({ clock })
  await profile.shut()
  const child = spawn(process.execPath, ['--conditions=parley-source', SCRIPT, profile.home, 'bob'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  const carol = new LinkClient({ identity: identityOf('carol'), clock })
  expect((await carol.call(profile.target(), 'link.ping')).ok).toBe(false)
  const bytes = new Scribe(identityOf('alice'), clock).request(profile.identity.id, 'x', 'link.ask', {
    prompt: 'pay',
    stream: true,
  })
  const peer = await RawPeer.connected(connect(profile.paths.socket))
  peer.write(`${bytes}\n`)
  await once(lines, 'line')
  child.kill('SIGKILL')
  await peer.closed
  expect(peer.received.toString()).not.toContain('"final"')

  profile.dailyUsd = 5
  await profile.open()
  expect(await linesOf(profile.paths.socket, bytes)).toEqual([])
  expect(profile.dropped).toEqual(['replay'])
  expect(profile.service.pending().map(({ pubkey }) => pubkey)).toEqual([identityOf('carol').id])
  expect(profile.service.ledger.orphans()).toMatchObject([{ name: 'alice', budget: { usd: 1 } }])
  expect(await profile.call('link.ask', { prompt: 'hi' })).toMatchObject({ text: 'You said: hi' })
})
