// A stranger learns nothing of a whole profile (ALP-ERR-05, ALP-PEND-01): with the files, the handlers and the spending
// behind the server, what comes back for any bad message is the same bytes in the same order. And a flood of them is no
// burden.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { SystemClock } from '@parley/core'
import { expect, test } from 'vitest'
import { Scribe } from '../envelope/envelope.ts'
import { DROP_REASONS, type DropReason } from '../envelope/verify.ts'
import { identityFromSeed } from '../identity/identity.ts'
import { linkLimits } from '../limits.ts'
import { BAD_MESSAGES, replayed, sound } from '../testing/bad-messages.ts'
import { Caller } from '../testing/caller.ts'
import { forgedBytes } from '../testing/forge.ts'
import { RawPeer } from '../testing/ground.ts'
import { Profile } from '../testing/profile.ts'
import { identityOf } from '../testing/vectors.ts'

const alice = identityOf('alice')
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

test('ALP-ENV-08 a message that was answered before a restart is not answered after it', async () => {
  const profile = await Profile.start()
  const bytes = new Scribe(alice, profile.clock).request(profile.identity.id, 'x', 'link.ask', {
    prompt: 'pay',
  })
  expect(await unixTrace(profile, bytes)).toHaveLength(3)
  await profile.shut()
  await profile.open()
  expect(await unixTrace(profile, bytes)).toEqual(['end', 'close'])
  expect(profile.runs.requests).toHaveLength(1)
  expect(profile.dropped).toEqual(['replay'])
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
