// The link in the life of a node: strangers, a new key, a stop or a death in mid-answer, and what keeps it from
// listening.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { findMarked } from '@parley/agents/testing'
import { connectClient, connectUnix } from '@parley/call'
import { SystemClock, unwrap } from '@parley/core'
import { dialCall, LinkClient, loadIdentity } from '@parley/link'
import { parseAddress } from '@parley/link/testing'
import { expect, onTestFinished, test } from 'vitest'
import { ownerPrincipal } from '../identity.ts'
import type { NodeOperations } from '../operations/index.ts'
import { refusal } from '../testing/calls.ts'
import { isAlive } from '../testing/ground.ts'
import {
  type LinkedNode,
  lastRun,
  ledgerOf,
  linkedGround,
  linkedNode,
  linkedPair,
  pin,
  startLinked,
} from '../testing/linked.ts'
import { nodeProcess } from '../testing/process.ts'
import { planHere } from './plan.ts'

function connected(dial: Parameters<typeof connectClient>[0]['dial']) {
  const client = connectClient<NodeOperations>({ dial, maxAttempts: 1 })
  onTestFinished(() => client.close())
  return client
}

test('ALP-PEND-01 a stranger gets silence and is remembered; accepted by the beginning of its fingerprint, it is served', async () => {
  const alice = await linkedNode('alice')
  const bob = await linkedNode('bob')
  await pin(alice, bob)
  expect((await refusal(alice.client.call('link', 'ping', { peer: 'bob' }))).code).toBe('link_empty_response')
  await refusal(alice.client.call('link', 'ping', { peer: 'bob' }))
  const { pubkey, fingerprint, spoken } = await alice.identity()
  const { pending } = await bob.client.call('peers', 'pending', {})
  expect(pending).toMatchObject([{ pubkey, fingerprint, spoken, address: expect.stringContaining('127.0.0.1:') }])
  expect((await bob.node.status()).link).toMatchObject({ peers: 0, pending: 1, problems: 0 })
  // Once for each key, and nothing that would help a stranger.
  const told = bob.log.lines.filter(({ message }) => message.includes('not pinned'))
  expect(told).toMatchObject([{ level: 'info', facts: { fingerprint } }])
  expect((await refusal(bob.client.call('peers', 'accept', { key: 'SHA256:nobody', id: 'x' }))).code).toBe('not_found')
  const key = fingerprint.slice(0, 15)
  const { peer } = await bob.client.call('peers', 'accept', { key, id: 'alice' })
  expect(peer).toMatchObject({ id: 'alice', pubkey, allow: ['link.ping', 'link.ask'] })
  expect(await bob.client.call('peers', 'pending', {})).toEqual({ pending: [] })
  expect(await alice.answer('bob', 'Now?')).toMatchObject({ text: 'a word' })
})

test('ALP-TCP-01 no port is open until the first peer is pinned, and then one is at once', async () => {
  const alice = await linkedNode('alice')
  const { place, stage } = linkedGround('bob')
  const { values, ...own } = place.config()
  const config = { ...own, values: { ...values, networkHost: undefined, alpTcpPort: undefined } }
  // The machine is in an overlay network, whose port is a free one here.
  const info = { address: '127.0.0.1', netmask: '', family: 'IPv4', mac: '', internal: false, cidr: null } as const
  const plan: typeof planHere = (wanted, around) => {
    const { unix, tcp } = planHere(wanted, { ...around, machine: { interfaces: { tun0: [info] }, inDocker: false } })
    return { unix, ...(tcp && { tcp: { ...tcp, port: 0 } }) }
  }
  const bob = await startLinked('bob', place, stage, {}, { config, plan })
  const carriers = async () => (await bob.identity()).listening.map(({ carrier }) => carrier)
  expect(await carriers()).toEqual(['unix'])
  await pin(bob, alice)
  expect(await carriers()).toEqual(['unix', 'tcp'])
  await pin(alice, bob)
  expect(await alice.answer('bob', 'Are you there?')).toMatchObject({ text: 'a word' })
})

test('ALP-ID-05 a new key holds at once, on the same port; peers are cut off until they have pinned it', async () => {
  const [alice, bob] = await linkedPair()
  const before = await bob.identity()
  const rotated = await bob.client.call('link', 'rotate-key', {})
  const old = { pubkey: before.pubkey, fingerprint: before.fingerprint }
  expect(rotated).toMatchObject({ old, recorded: true, peers: ['alice'] })
  const after = await bob.identity()
  expect(after).toMatchObject({ ...rotated.new, invitation: rotated.invitation, listening: before.listening })
  expect(after.pubkey).not.toBe(before.pubkey)
  expect(loadIdentity(bob.place.path('default')).id).toBe(after.pubkey)
  expect((await refusal(alice.client.call('link', 'ping', { peer: 'bob' }))).code).toBe('link_handshake_failed')
  // The other way round it is a stranger.
  expect((await refusal(bob.client.call('link', 'ping', { peer: 'alice' }))).code).toBe('link_empty_response')
  expect((await alice.client.call('peers', 'pending', {})).pending).toMatchObject([{ pubkey: after.pubkey }])
  await alice.client.call('peers', 'unpin', { id: 'bob' })
  await pin(alice, bob)
  expect(await alice.answer('bob', 'Still you?')).toMatchObject({ text: 'a word' })
  expect(await bob.answer('alice', 'And you?')).toMatchObject({ text: 'a word' })
  expect(await bob.client.call('trail', 'verify', {})).toMatchObject({ sound: true })
  // The record's own way of rotating is the same.
  await bob.client.call('trail', 'rotate-key', {})
  expect((await bob.identity()).pubkey).not.toBe(after.pubkey)
})

test('a node that stops interrupts the answer it is at: the asker is told, the run is ended, nothing stays set aside', async () => {
  const [alice, bob] = await linkedPair()
  bob.stage.hold()
  const answer = alice.answer('bob', 'Take long.')
  await bob.stage.atWork()
  expect(await bob.node.stop('enough')).toEqual({ reason: 'enough', hanging: [] })
  expect(await answer).toMatchObject({ interrupted: true })
  expect(ledgerOf(bob.place).reserved).toBeUndefined()
  expect((await refusal(alice.client.call('link', 'ping', { peer: 'bob' }))).code).toBe('target-offline')
  const again = await startLinked('bob', bob.place, bob.stage)
  const run = await lastRun(again)
  expect(run.state).toBe('aborted')
  expect(await findMarked(`${run.run}/`)).toEqual([])
})

test('W-TRAIL-02 what ends an ask that waits for its approval is on record under the name of who did it', async () => {
  const [alice, bob] = await linkedPair('alp: { approval: ask }\n')
  const me = ownerPrincipal().id
  const peer = `alp:${(await alice.identity()).fingerprint}`
  const waiting = async () => {
    const answer = alice.answer('bob', 'May I?').catch(error => error)
    const gates = async () => (await bob.client.call('gates', 'list', {})).gates
    await expect.poll(async () => (await gates()).length, { timeout: 20_000 }).toBe(1)
    const [gate] = await gates()
    // §4.8: whoever answers for the run is asked about it.
    expect(gate).toMatchObject({ addressee: me })
    return { answer, run: gate!.run }
  }
  const injectionsOf = async (node: LinkedNode, run: string) => {
    const { entries } = await node.client.call('trail', 'query', { run, limit: 256 })
    expect(entries.find(({ event_type }) => event_type === 'gate_triggered')?.body).toMatchObject({ addressee: me })
    const created = entries.filter(({ event_type }) => event_type === 'workspace_created')
    expect(created.map(({ body }) => (body as { owner: string }).owner)).toEqual(created.map(() => me))
    return entries.filter(({ event_type }) => event_type === 'human_injection').map(({ actor }) => actor)
  }
  const cancelled = await waiting()
  expect(await bob.node.status()).toMatchObject({ runs: { waiting: 1, for_peers: 1 } })
  expect(await alice.client.call('link', 'cancel', { peer: 'bob' })).toEqual({ cancelled: true })
  expect(await cancelled.answer).toMatchObject({ text: '[cancelled]', interrupted: true, failed: false })
  expect(await injectionsOf(bob, cancelled.run)).toEqual([peer, peer])
  const unpinned = await waiting()
  await bob.client.call('peers', 'unpin', { id: 'alice' })
  await unpinned.answer
  expect(await injectionsOf(bob, unpinned.run)).toEqual([peer, me])
  await pin(bob, alice)
  const stopped = await waiting()
  await bob.node.stop('enough')
  expect(await stopped.answer).toMatchObject({ text: '[cancelled]', interrupted: true })
  const again = await startLinked('bob', bob.place, bob.stage)
  expect(await injectionsOf(again, stopped.run)).toEqual([peer])
  const reason = expect.stringContaining('stops')
  expect(await again.ended(stopped.run)).toMatchObject({ state: 'aborted', reason })
})

test('a node that is killed in mid-answer: the next one ends the run with its reason, settles it, and leaves no process', async () => {
  const alice = await linkedNode('alice')
  const { place, stage } = linkedGround('bob')
  const client = () => connected(() => connectUnix(place.path('default', 'call.sock')))
  const first = nodeProcess(place)
  await first.up()
  const bob = client()
  const { invitation } = await bob.call('link', 'identity', {})
  await alice.client.call('peers', 'pin', { invitation, id: 'bob' })
  const own = await alice.identity()
  await bob.call('peers', 'pin', { invitation: own.invitation, id: 'alice' })
  stage.hold()
  const lost = refusal(alice.answer('bob', 'Take long.', { usd: 0.5 }))
  await stage.atWork()
  expect(Object.keys(ledgerOf(place).reserved!)).toHaveLength(1)
  const { runs } = await bob.call('runs', 'list', {})
  first.child.kill('SIGKILL')
  await first.ended()
  expect((await lost).code).toBe('link_empty_response')
  const second = nodeProcess(place)
  await second.up()
  const again = client()
  const { run } = runs[0]!
  const aborted = { state: 'aborted', principal: `alp:${own.fingerprint}` }
  expect(await again.call('runs', 'show', { run })).toMatchObject(aborted)
  const { entries } = await again.call('trail', 'query', { run, limit: 256 })
  expect(JSON.stringify(entries)).toContain('the node died while it answered a peer')
  expect(await again.call('trail', 'verify', { run })).toMatchObject({ sound: true })
  // Nobody knows what the turn had cost by then: all that was set aside is taken for spent.
  expect(ledgerOf(place)).toMatchObject({ by_peer: { alice: { usd: 0.5 } } })
  expect(ledgerOf(place).reserved).toBeUndefined()
  expect(await findMarked(`${run}/`)).toEqual([])
  // It has another port now, which the new line tells.
  const { invitation: line } = await again.call('link', 'identity', {})
  await alice.client.call('peers', 'unpin', { id: 'bob' })
  await alice.client.call('peers', 'pin', { invitation: line, id: 'bob' })
  stage.release()
  expect(await alice.answer('bob', 'Once more.')).toMatchObject({ text: 'a word' })
  expect(second.child.pid !== undefined && isAlive(second.child.pid)).toBe(true)
})

test('ALP-TCP-01 a port that is taken keeps the node from nothing: it goes on over its Unix socket, and says so', async () => {
  const taken = createServer()
  await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => void taken.close())
  const { port } = taken.address() as { port: number }
  const { place, stage } = linkedGround('bob')
  const env = { ...place.env, ALPI_ALP_TCP_PORT: String(port) }
  const config: typeof place.config = flags => place.config({ ...flags, 'alp-tcp-port': String(port) })
  const bob = await startLinked('bob', { ...place, env, config }, stage)
  const socket = place.path('default', 'alp', 'alp.sock')
  const { invitation, listening } = await bob.identity()
  expect(listening).toEqual([{ carrier: 'unix', at: socket }])
  expect(statSync(socket).mode & 0o777).toBe(0o600)
  expect(invitation).not.toContain('@')
  expect((await bob.node.status()).link).toMatchObject({ listening: [{ carrier: 'unix' }], problems: 1 })
  const { problems } = await bob.client.call('peers', 'list', {})
  expect(problems).toEqual([expect.stringContaining('EADDRINUSE')])
  expect(bob.log.lines).toContainEqual(expect.objectContaining({ level: 'error', message: 'link: listening (tcp)' }))
})

test('ALP-ERR-05 a list of peers that cannot be read pins nobody, and the node is up and says so', async () => {
  const [alice, bob] = await linkedPair()
  const list = bob.place.path('default', 'alp', 'peers.yaml')
  const good = readFileSync(list, 'utf8')
  writeFileSync(list, 'neither: [a list')
  expect((await refusal(alice.client.call('link', 'ping', { peer: 'bob' }))).code).toBe('link_empty_response')
  expect(await bob.client.call('peers', 'list', {})).toMatchObject({ peers: [], problems: [expect.any(String)] })
  expect((await refusal(bob.client.call('peers', 'unpin', { id: 'alice' }))).code).toBe('peers_unreadable')
  writeFileSync(list, good)
  expect(await alice.client.call('link', 'ping', { peer: 'bob' })).toMatchObject({ version: 1 })
})

test('a replay journal that is a link elsewhere keeps the link from listening, and nothing else', async () => {
  const { place, stage } = linkedGround('bob')
  const secrets = place.path('default', 'alp', 'secrets')
  mkdirSync(join(secrets, 'replay.jsonl'), { recursive: true })
  const bob = await startLinked('bob', place, stage)
  expect((await bob.node.status()).link).toMatchObject({ listening: [], problems: 1 })
  expect(await bob.solved('A thing.')).toMatch(/^run_/)
})

test('ALP-TCP-01 service.alp: false listens nowhere and calls nobody; the list can still be kept', async () => {
  const bob = await linkedNode('bob', 'service: { alp: false }\nalp: { call_port: 0 }\n')
  expect((await bob.node.status()).link).toBeNull()
  const { pubkey, listening } = await bob.identity()
  expect(listening).toEqual([])
  const pubkeyOfAnother = Buffer.alloc(32, 7).toString('base64')
  await bob.client.call('peers', 'pin', { pubkey: pubkeyOfAnother, id: 'x', address: '127.0.0.1:1' })
  expect((await refusal(bob.client.call('link', 'ping', { peer: 'x' }))).code).toBe('link_off')
  expect((await refusal(bob.answer('x', 'Hi.'))).code).toBe('link_off')
  expect(pubkey).toHaveLength(44)
})

test('ALP-ID-01 a profile that does not sign its record has a key for its links all the same', async () => {
  const [alice, bob] = await linkedPair('trail: { sign: false }\n')
  expect(await alice.answer('bob', 'Who are you?')).toMatchObject({ text: 'a word' })
  expect((await refusal(bob.client.call('link', 'rotate-key', {}))).code).toBe('not_signed')
})

test('a second listener carries the call protocol to pinned peers: just what they are allowed, on one port whatever the key', async () => {
  const alice = await linkedNode('alice')
  const bob = await linkedNode('bob', 'alp: { call_port: 0 }\n')
  await pin(bob, alice, { allow: ['/runs/list'] })
  const place = async () => (await bob.identity()).listening.find(({ carrier }) => carrier === 'call')!.at
  const before = await place()
  const dial = async () => {
    const at = unwrap(parseAddress(await place()))
    const own = loadIdentity(alice.place.path('default'))
    const identity = (await bob.identity()).pubkey
    return unwrap(await dialCall({ identity, at }, { own, clock: new SystemClock(), timeoutMs: 20_000 }))
  }
  const client = connected(dial)
  expect(await client.call('runs', 'list', {})).toEqual({ runs: [] })
  expect((await refusal(client.call('node', 'status', {}))).code).toBe('FORBIDDEN')
  client.close()
  await bob.client.call('link', 'rotate-key', {})
  expect(await place()).toBe(before)
  expect(await connected(dial).call('runs', 'list', {})).toEqual({ runs: [] })
  expect(await bob.node.stop('enough')).toMatchObject({ hanging: [] })
})

test('an operation of a peer is called by its path, as its list allows at that moment', async () => {
  const alice = await linkedNode('alice')
  const bob = await linkedNode('bob', 'alp: { call_port: 0 }\n')
  await pin(alice, bob)
  const { at } = (await bob.identity()).listening.find(({ carrier }) => carrier === 'call')!
  const { port } = unwrap(parseAddress(at))
  const call = (operation: string, more: object = {}) =>
    alice.client.call('link', 'call', { peer: 'bob', operation, port, ...more })
  // Not pinned there: silence.
  expect((await refusal(call('/runs/list'))).code).toBe('link_empty_response')
  await pin(bob, alice, { allow: ['/runs/list'] })
  expect(await call('/runs/list', { input: { limit: 1 } })).toEqual({ output: { runs: [] } })
  const refused = (code: string) => ({ code: 'peer_refused', details: { code } })
  expect(await refusal(call('/runs/list', { input: { limit: 'x' } }))).toMatchObject(refused('INVALID_INPUT'))
  expect(await refusal(call('/node/status'))).toMatchObject(refused('FORBIDDEN'))
  expect((await refusal(call('/runs/list', { peer: 'carol' }))).code).toBe('unknown_peer')
  await bob.node.stop('enough')
  expect((await refusal(call('/runs/list'))).code).toBe('target-offline')
})

test('ALP-UNIX-07 profiles of one machine reach each other without an address', async () => {
  const bob = await linkedNode('bob')
  const identity = loadIdentity(bob.place.path('default'))
  const client = new LinkClient({ identity, clock: new SystemClock() })
  const at = { path: bob.place.path('default', 'alp', 'alp.sock') }
  // It is not pinned in its own list.
  expect(await client.ping({ identity: identity.id, at }, { nonce: 'x' })).toMatchObject({ ok: false })
  expect((await bob.client.call('peers', 'pending', {})).pending).toMatchObject([{ pubkey: identity.id }])
  const { invitation } = await bob.identity()
  expect((await refusal(bob.client.call('peers', 'pin', { invitation, id: 'me' }))).code).toBe('invalid_peer')
  unwrap(parseAddress(invitation.split('@')[1]!.split('#')[0]!))
})
