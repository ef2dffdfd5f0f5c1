// What happens to requests of a pinned peer (ALP-SRV, ALP-PING, ALP-RATE), over real sockets and real files.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { SystemClock } from '@parley/core'
import { expect, test } from 'vitest'
import { writeTs } from '../envelope/timestamp.ts'
import { float, type WireObject, type WireValue } from '../json/value.ts'
import { wireText } from '../json/write.ts'
import { linkLimits } from '../limits.ts'
import { forgedBytes } from '../testing/forge.ts'
import { answersOf, until } from '../testing/ground.ts'
import { Profile } from '../testing/profile.ts'
import { end, endless, owner, ScriptedRuns } from '../testing/scripted-runs.ts'
import { identityOf, vectors } from '../testing/vectors.ts'
import { CARRIERS } from '../transport/channel.ts'
import { RateLimit } from './rate-limit.ts'

const INVALID = { code: -32602, message: 'invalid-params' }
const [alice, bob, carol] = [identityOf('alice'), identityOf('bob'), identityOf('carol')]

/** Sends a body as alice signs it: also one that no client sends. */
function say(profile: Profile, body: WireObject): Promise<WireObject[]> {
  const sound = { to: bob.id, ts: writeTs(profile.clock.now()), nonce: `${Math.random()}` }
  return answersOf(profile.paths.socket, forgedBytes(alice, { ...sound, body }))
}

test.each(vectors.server_checks)(
  'ALP-SRV-01 $method with $allow, over the rate: $over_rate, spent: $profile_budget_spent',
  async check => {
    const profile = await Profile.start({ pinned: { alice: { allow: check.allow, perMinute: 1 } } })
    profile.service.methods.set('workgroup.pull', () => ({ result: 'handler' }))
    if (check.over_rate) await profile.call('link.ping')
    if (check.profile_budget_spent) {
      const grant = profile.service.ledger.reserve('x')
      if (grant.ok) grant.value.settle({ usd: 1 })
      profile.dailyUsd = 1
    }
    const method = check.method === null ? {} : { method: check.method }
    const [answer] = await say(profile, { id: 'x', ...method, params: {} })
    if (check.expect === 'handler') expect(answer).toHaveProperty('result')
    // The vector has what the reference answers; the text has a code for what is no request (ALP-SRV-04).
    else if (check.method === null) expect(answer).toMatchObject({ error: { code: -32600 } })
    else expect(JSON.parse(wireText(answer!.error!))).toEqual(check.expect)
  },
)

test('ALP-SRV-02 a call that is refused has used its place in the minute all the same', async () => {
  const profile = await Profile.start({ pinned: { alice: { allow: ['link.ping'], perMinute: 2 } } })
  expect(await profile.call('link.ask')).toMatchObject({ error: { message: 'capability-denied' } })
  expect(await profile.call('link.nope')).toMatchObject({ error: { message: 'capability-denied' } })
  expect(await profile.call('link.ping')).toEqual({
    error: { code: -32005, message: 'rate-limited', data: { window_seconds: 60 } },
  })
  profile.elapsedMs = 60_001
  expect(await profile.call('link.ping')).toMatchObject({ version: 1 })
})

test('ALP-SRV-02 a spent cap refuses every method that would be called, ping too', async () => {
  const profile = await Profile.start()
  const grant = profile.service.ledger.reserve('x')
  if (grant.ok) grant.value.settle({ usd: 2.5 })
  profile.dailyUsd = 1.5
  for (const method of ['link.ping', 'link.ask', 'link.cancel'])
    expect(await profile.call(method)).toEqual({
      error: { code: -32005, message: 'budget-exceeded', data: { cap_kind: 'usd', cap: 1.5, used: 2.5 } },
    })
  profile.dailyUsd = 3
  expect(await profile.call('link.ping')).toMatchObject({ version: 1 })
})

test('ALP-RATE-03 the refusal says how long the window is, and a restart begins anew', async () => {
  const profile = await Profile.start({ pinned: { alice: { perMinute: 1 } } })
  await profile.call('link.ping')
  expect(await profile.call('link.ping', {}, { carrier: 'tcp' })).toEqual({
    error: { code: -32005, message: 'rate-limited', data: { window_seconds: 60 } },
  })
  await profile.shut()
  await profile.open()
  expect(await profile.call('link.ping')).toMatchObject({ version: 1 })
})

test('ALP-SRV-03 params that are no object are invalid once the handler would run', async () => {
  const profile = await Profile.start({ pinned: { alice: { allow: ['link.ping'] } } })
  for (const params of ['x', 5, [1], true, [], false, 0, ''] as WireValue[])
    expect(await say(profile, { id: 'x', method: 'link.ping', params })).toMatchObject([
      { id: 'x', error: { ...INVALID, data: { detail: expect.any(String) } } },
    ])
  for (const body of [{}, { params: null }])
    expect(await say(profile, { id: 'x', method: 'link.ping', ...body })).toMatchObject([{ result: { version: 1 } }])
  // Not before: what may not be called says so first.
  expect(await say(profile, { id: 'x', method: 'link.ask', params: 'x' })).toMatchObject([{ error: { code: -32001 } }])
})

test('ALP-SRV-04 an authentic message that is no request is told so, and takes its place in the minute', async () => {
  const profile = await Profile.start({ pinned: { alice: { perMinute: 6 } } })
  for (const [body, id, detail] of [
    [{ jsonrpc: '1.0', id: 'x', method: 'link.ping' }, 'x', 'jsonrpc is not "2.0"'],
    [{ jsonrpc: null, id: 'x', method: 'link.ping' }, 'x', 'jsonrpc is not "2.0"'],
    [{ method: 'link.ping' }, null, 'id is not a string'],
    [{ id: { a: 1 }, method: 'link.ping' }, null, 'id is not a string'],
    [{ id: 'x' }, 'x', 'method is not a string'],
    [{ id: 'x', method: 5 }, 'x', 'method is not a string'],
  ] as [WireObject, string | null, string][])
    expect(await say(profile, body), JSON.stringify(body)).toMatchObject([
      { id, error: { code: -32600, message: 'invalid-request', data: { detail } } },
    ])
  expect(await say(profile, { id: 'x' })).toMatchObject([{ error: { message: 'rate-limited' } }])
  // Of a stranger it is as silent as everything else.
  expect((await profile.service.unpin('alice')).ok).toBe(true)
  expect(await say(profile, { id: 'x' })).toEqual([])
})

test('ALP-RATE-04 per_minute covers every method, those of workgroups and of the parts of files too', async () => {
  const profile = await Profile.start({ pinned: { alice: { perMinute: 2 } } })
  const methods = ['workgroup.pull', 'workgroup.file_put', 'workgroup.file_get'] as const
  for (const method of methods) profile.service.methods.set(method, () => ({ result: {} }))
  const [pull, put, get] = methods
  expect(await profile.call(pull)).toEqual({})
  expect(await profile.call(put, { offset: 1 })).toEqual({})
  for (const [method, params] of [
    [pull, {}],
    [get, { offset: 262_144 }],
    ['link.ping', {}],
  ] as const)
    expect(await profile.call(method, params), method).toMatchObject({ error: { message: 'rate-limited' } })
})

test('ALP-SRV-05 there are three methods and none that tells of others, whatever a peer is allowed', async () => {
  const others = ['rpc.discover', 'link.hello', 'link.capabilities', 'link.memory', 'link.search']
  const profile = await Profile.start({ pinned: { alice: { allow: ['link.ping', ...others] } } })
  expect([...profile.service.methods.keys()]).toEqual(['link.ping', 'link.ask', 'link.cancel'])
  for (const method of [...others, 'workgroup.list'])
    expect(await profile.call(method), method).toMatchObject({ error: { code: -32601 } })
})

test('ALP-PING-01 the nonce comes back, with the version and the name of the profile, and nothing changes; one that is no text is invalid', async () => {
  const profile = await Profile.start()
  expect(await profile.call('link.ping', { nonce: 'n-1' })).toEqual({ nonce: 'n-1', version: 1, agent_name: 'bob' })
  const before = profile.service.peers.all()
  expect(await profile.call('link.ping')).toMatchObject({ nonce: '' })
  expect(await profile.call('link.ping', { nonce: 'é😀' })).toMatchObject({ nonce: 'é😀' })
  for (const nonce of [5, float(1), true, null, ['n'], { n: 1 }] as WireValue[])
    expect(await profile.call('link.ping', { nonce })).toMatchObject({ error: INVALID })
  expect(profile.service.peers.all()).toEqual(before)
  expect(profile.runs.requests).toEqual([])
  expect(() => readFileSync(profile.paths.ledger)).toThrow('ENOENT')
})

test('ALP-PEER-04 pinning goes one way: who pinned us may call nothing until we pin it', async () => {
  const here = await Profile.start({ name: 'bob', pinned: { alice: {} } })
  const there = await Profile.start({ name: 'alice', pinned: {} })
  expect(await here.call('link.ping')).toMatchObject({ agent_name: 'bob' })
  expect(await there.call('link.ping', {}, { as: 'bob' })).toBe('link_empty_response')
  expect(there.service.pending().map(({ pubkey }) => pubkey)).toEqual([bob.id])
})

test('ALP-PEER-06 what a person edits applies to the next request, on a connection that is open too', async () => {
  const profile = await Profile.start({ clock: new SystemClock() })
  const session = profile.client().session(profile.target('tcp'))
  expect((await session.call('link.ping')).ok).toBe(true)
  profile.editPeers(`- {id: alice, pubkey: "${alice.id}", allow: [link.ask]}\n`)
  expect(await session.call('link.ping')).toMatchObject({ error: { error: { message: 'capability-denied' } } })
  profile.editPeers(`- {id: alice, pubkey: "${alice.id}", allow: [link.ping]}\n`)
  expect((await session.call('link.ping')).ok).toBe(true)
  profile.editPeers('- {id: [\n')
  expect(await session.call('link.ping')).toMatchObject({ error: { where: 'local' } })
  session.close()
  expect(profile.dropped).toEqual(['unpinned'])
})

test('ALP-PEND-05 accepting pins with ping and ask and deletes the entry; discarding only deletes', async () => {
  const profile = await Profile.start({ pinned: {} })
  expect(await profile.call('link.ping', {}, { carrier: 'tcp' })).toBe('link_empty_response')
  expect(await profile.call('link.ping', {}, { as: 'carol' })).toBe('link_empty_response')
  expect(profile.service.pending()).toMatchObject([
    { pubkey: carol.id },
    { pubkey: alice.id, address: expect.stringMatching(/^127\.0\.0\.1:\d+$/) },
  ])
  expect(await profile.service.accept({ id: 'laptop', pubkey: alice.id })).toMatchObject({
    ok: true,
    value: { id: 'laptop', allow: ['link.ping', 'link.ask'] },
  })
  expect(profile.service.discard(carol.id)).toBe(true)
  expect(profile.service.pending()).toEqual([])
  expect(await profile.call('link.ping')).toMatchObject({ agent_name: 'bob' })
  expect(await profile.call('link.ask', { prompt: 'hi' })).toMatchObject({ text: 'You said: hi' })
  expect(await profile.call('link.cancel')).toMatchObject({ error: { message: 'capability-denied' } })
  expect(await profile.call('link.ping', {}, { as: 'carol' })).toBe('link_empty_response')
  expect(profile.service.pending()).toHaveLength(1)
})

test('ALP-PEND-06 a stranger gets no byte, and all that is known of it is its key and where it came from', async () => {
  const profile = await Profile.start({ pinned: {} })
  const params = { name: 'I am your bank', bio: 'trust me' }
  await profile.call('link.ping', params, { as: 'carol' })
  expect(Object.keys(profile.service.pending()[0]!).toSorted()).toEqual(['firstSeen', 'lastSeen', 'pubkey'])
  expect(readFileSync(profile.paths.pending, 'utf8')).not.toContain('bank')
})

test('ALP-PEND-01 a restart keeps who knocked, and who is pinned', async () => {
  const profile = await Profile.start()
  await profile.call('link.ping', {}, { as: 'carol' })
  await profile.shut()
  await profile.open()
  expect(profile.service.pending().map(({ pubkey }) => pubkey)).toEqual([carol.id])
  expect(await profile.call('link.ping')).toMatchObject({ version: 1 })
})

test('ALP-ASK-08 a peer that is unpinned leaves no thread to whoever gets its name next', async () => {
  const profile = await Profile.start()
  await profile.call('link.ask', { prompt: 'my secret' })
  const kept = () => readdirSync(profile.paths.mentions)
  expect(kept()).toHaveLength(1)
  expect((await profile.service.unpin('alice')).ok).toBe(true)
  expect(kept()).toEqual([])
  expect(await profile.call('link.ping')).toBe('link_empty_response')
  await profile.pin('carol', { id: 'alice' })
  await profile.call('link.ask', { prompt: 'hi' }, { as: 'carol' })
  expect(profile.runs.requests.at(-1)?.told).toEqual([])
})

test('ALP-ASK-08 a peer that is unpinned while its turn runs is interrupted, hears nothing, and leaves no thread', async () => {
  const profile = await Profile.start({ runs: new ScriptedRuns(endless), clock: new SystemClock() })
  for (const carrier of CARRIERS) {
    const asking = profile.call('link.ask', { prompt: 'old secret', stream: true }, { carrier })
    await until(() => profile.runs.requests.length > 0)
    expect((await profile.service.unpin('alice')).ok).toBe(true)
    expect(await asking).toBe('link_empty_response')
    profile.runs.requests.shift()
    const why = 'The turn was interrupted: its caller is not pinned any more.'
    expect(profile.runs.cancelled.pop()).toEqual([owner.id, why])
    await until(() => profile.service.running === undefined)
    await profile.pin('alice')
  }
  expect(existsSync(profile.paths.mentions)).toBe(false)
})

test('ALP-ASK-08 a turn that ends after its peer was unpinned is not remembered, nor told to the next one of that name', async () => {
  const go = Promise.withResolvers<void>()
  const profile = await Profile.start({
    runs: new ScriptedRuns(async function* () {
      await go.promise
      // A turn that does not heed the interruption.
      yield end('noted')
    }),
  })
  const asking = profile.call('link.ask', { prompt: 'old secret' })
  await until(() => profile.runs.requests.length === 1)
  expect((await profile.service.unpin('alice')).ok).toBe(true)
  await profile.pin('carol', { id: 'alice' })
  go.resolve()
  expect(await asking).toBe('link_empty_response')
  await until(() => profile.service.running === undefined)
  expect(existsSync(profile.paths.mentions)).toBe(false)
  expect(await profile.call('link.ask', { prompt: 'hi' }, { as: 'carol' })).toMatchObject({ text: 'noted' })
  expect(profile.runs.requests.at(-1)?.told).toEqual([])
})

test('ALP-ASK-08 a key that a person changed in the file reads nothing of what the old one said', async () => {
  const profile = await Profile.start()
  await profile.call('link.ask', { prompt: 'my secret' })
  profile.editPeers(`- {id: alice, pubkey: "${carol.id}", allow: [link.ask]}\n`)
  await profile.call('link.ask', { prompt: 'hi' }, { as: 'carol' })
  expect(profile.runs.requests.at(-1)?.told).toEqual([])
})

function limited() {
  const clock = { ms: 0 }
  const rate = new RateLimit(() => clock.ms)
  const admits = (cap: number, from = 'alice') => rate.admits(from, cap)
  return { clock, admits }
}

test('ALP-RATE-01 each identity has a window of its own', () => {
  const { admits } = limited()
  expect([admits(1), admits(1), admits(1, 'bob')]).toEqual([true, false, true])
})

test('ALP-RATE-02 the timelines of the vectors, to the microsecond', () => {
  for (const { cap, times_s, admitted } of vectors.rate_limit) {
    const { clock, admits } = limited()
    const got = times_s.map(seconds => {
      clock.ms = seconds * 1000
      return admits(cap)
    })
    expect(got).toEqual(admitted)
  }
})

test('ALP-RATE-02 what is refused does not count, and a time exactly a minute old still does', () => {
  const { clock, admits } = limited()
  expect(admits(1)).toBe(true)
  for (let ms = 1000; ms <= 60_000; ms += 1000) {
    clock.ms = ms
    expect(admits(1), String(ms)).toBe(false)
  }
  clock.ms = 60_000.001
  expect(admits(1)).toBe(true)
})

test('ALP-RATE-02 a cap that is lowered applies to what was admitted before', () => {
  const { admits } = limited()
  for (let times = 0; times < 5; times++) expect(admits(5)).toBe(true)
  expect(admits(3)).toBe(false)
  expect(admits(6)).toBe(true)
})

test('ALP-RATE-02 what is remembered is bounded, also where per_minute is not', () => {
  const { clock, admits } = limited()
  let times = 0
  while (admits(Number.MAX_SAFE_INTEGER)) times++
  expect(times).toBe(linkLimits.rateTimes)
  clock.ms = 120_000
  for (let peer = 0; peer < 5000; peer++) {
    clock.ms += 60_001
    expect(admits(1, `peer ${peer}`)).toBe(true)
  }
})
