// The house run: the users of a profile and who may do what, over all runs and restarts.
import { type RunId, unwrap } from '@parley/core'
import type { Entry } from '@parley/trail'
import { CAPABILITIES } from '@parley/trail/events'
import { expect, test } from 'vitest'
import type { Command } from '../command.ts'
import { decide } from '../decide.ts'
import { evolve } from '../evolve.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import { newRun } from '../run/run.ts'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { houseWatch, person, withUsers } from '../testing/people.ts'

/** Without what every restart leaves. */
async function entriesOf(f: Fixture, run: RunId): Promise<readonly Entry[]> {
  const entries = await unwrap(await f.runtime.open(run)).entries()
  return entries.filter(({ event_type }) => event_type !== 'recovery_completed')
}

function shapeOf(entries: readonly Entry[]): readonly unknown[] {
  return entries.map(({ event_type, actor, body }) => {
    const { type, to_state } = body as { type?: string; to_state?: string }
    return [event_type, actor, type ?? to_state].filter(part => part !== undefined).join(' ')
  })
}

const FOUNDED = [
  'workspace_created protocol',
  'port_right_created protocol',
  'signal_emitted system ready',
  'signal_emitted system started',
  'workspace_state_changed protocol active',
]
const CLOSED = ['workspace_state_changed protocol integrating', 'workspace_state_changed protocol closed']

async function contextOf(f: Fixture, run: RunId): Promise<unknown> {
  return unwrap(await (unwrap(await f.runtime.open(run)).coordinator as AgentHandle).readContext())
}

test('the house is founded with the first runtime, and the next one finds it', async () => {
  const f = await fixture()
  const house = f.runtime.house.run
  expect(shapeOf(await entriesOf(f, house))).toEqual(FOUNDED)
  expect((await entriesOf(f, house))[0]?.body).toMatchObject({ owner: 'operator', originator: 'system' })
  expect(await contextOf(f, house)).toEqual({ house: true, previous: null })
  expect(f.runtime.active).toEqual([f.run.id])
  for (let count = 0; count < 3; count++) await f.restart()
  expect(f.runtime.house.run).toBe(house)
  expect(shapeOf(await entriesOf(f, house))).toEqual(FOUNDED)
  expect(await f.trail.runs()).toHaveLength(2)
})

test('runs that somebody owns are not taken for the house, whatever their context says', async () => {
  const f = await fixture()
  const house = f.runtime.house.run
  for (const context of [undefined, {}, { home: true }])
    unwrap(await f.runtime.start({ owner: 'ux', ...(context && { context }) }))
  await f.restart()
  expect(f.runtime.house.run).toBe(house)
  expect(f.runtime.active).toHaveLength(4)
})

/** A finished run of f's, and the handles of two of its agents that cannot see each other. */
async function finish(f: Fixture): Promise<{ readonly one: AgentHandle; readonly other: AgentHandle }> {
  const one = await f.worker('W1')
  const other = await f.worker('W2')
  unwrap(await f.checkpoint('W2'))
  await f.bring('W1', 'failed')
  await f.bring('W2', 'failed')
  unwrap(await f.run.close())
  await f.mark()
  return { one, other }
}

test('a read of a finished run that is denied is on record in the house, and the run stays as it ended', async () => {
  const f = await fixture()
  const house = f.runtime.house.run
  const { one, other } = await finish(f)
  const before = (await entriesOf(f, house)).length
  const added = async () => (await entriesOf(f, house)).slice(before).map(entry => f.row(entry))

  expect(refused(await one.look(other.workspace))).toBe('not_found')
  expect(unwrap(await one.query({ workspace: other.workspace })).entries).toEqual([])
  const denial = { user_id: null, capability: 'access:read', action: 'read_workspace', target: 'W2' }
  const reader = { workspace: 'W1', role: 'worker' }
  const query = { requester: 'W1', requested_scope: 'local', requested_workspace: 'W2' }
  expect(await added()).toEqual([
    ['capability_denied', null, 'system', { ...denial, reason: 'permission_denied', ...reader }],
    ['trail_access_denied', null, 'system', { ...query, reason: 'outside_visibility' }],
  ])
  // What may be read leaves nothing.
  unwrap(await one.look())
  unwrap(await one.query({}))
  unwrap(await f.root.look(other.workspace))
  expect(await added()).toHaveLength(2)
  await f.expectAdded([])

  await f.restart()
  expect(refused(await f.agent('W1').look(other.workspace))).toBe('not_found')
  expect(await added()).toHaveLength(3)
})

test('a read whose denial cannot be recorded is not answered (W-REC-06)', async () => {
  const f = await fixture()
  const { one, other } = await finish(f)
  const entries = await entriesOf(f, f.runtime.house.run)
  f.disks.trail.fail('sync', { times: Number.POSITIVE_INFINITY })
  expect(refused(await one.look(other.workspace))).toBe('trail_unavailable')
  f.disks.trail.mend()
  expect(await entriesOf(f, f.runtime.house.run)).toEqual(entries)
})

test('at its limit the house is succeeded: the new one names the head of the old one, which closes', async () => {
  const f = await fixture({ houseEntries: FOUNDED.length + 3 })
  const first = f.runtime.house.run
  const { one, other } = await finish(f)
  for (let count = 0; count < 3; count++) await one.look(other.workspace)
  expect(f.runtime.house.run).toBe(first)
  const head = (await entriesOf(f, first)).at(-1)!

  await one.look(other.workspace)
  const second = f.runtime.house.run
  expect(second).not.toBe(first)
  expect(await contextOf(f, second)).toEqual({
    house: true,
    previous: { run: first, seq: head.seq, hash: head.integrity.entry_hash },
  })
  const denied = 'capability_denied system'
  expect(shapeOf(await entriesOf(f, first))).toEqual([...FOUNDED, denied, denied, denied, ...CLOSED])
  expect(shapeOf(await entriesOf(f, second))).toEqual([...FOUNDED, denied])
  expect(f.runtime.active).toEqual([])
  await f.restart()
  expect(f.runtime.house.run).toBe(second)
})

test('denials that come together while the house is succeeded are each recorded once', async () => {
  const f = await fixture({ houseEntries: FOUNDED.length + 2 })
  const { one, other } = await finish(f)
  const houses = new Set([f.runtime.house.run])
  for (let round = 0; round < 4; round++) {
    const answers = await Promise.all(Array.from({ length: 5 }, () => one.look(other.workspace)))
    expect(answers.map(refused)).toEqual(answers.map(() => 'not_found'))
    houses.add(f.runtime.house.run)
  }
  let denials = 0
  for (const house of houses) {
    const entries = await entriesOf(f, house)
    denials += entries.filter(({ event_type }) => event_type === 'capability_denied').length
    expect((await f.trail.run(house).verify()).findings).toEqual([])
  }
  expect(denials).toBe(20)
  expect(houses.size).toBeGreaterThan(2)
})

/** The records of a run that no handle could start, as a runtime that crashed right behind them left them. */
async function foundByHand(
  f: Fixture,
  context: Record<string, unknown>,
  active: boolean,
  owner = 'operator',
): Promise<RunId> {
  const id = f.ids.next('run') as RunId
  const run = newRun(id)
  const record = async (command: Command) => {
    const { entries: decided, objects } = decide(run, command, { now: f.runtime.clock.next(), ids: f.ids })
    const entries = decided.map(entry =>
      'owner' in entry.body ? { ...entry, body: { ...entry.body, owner } } : entry,
    ) as typeof decided
    f.runtime.clock.take(entries.length)
    unwrap(await f.trail.run(id).append({ entries, objects }))
    for (const each of [...objects, ...entries]) evolve(run, each)
  }
  await record({ type: 'start', draft: { owner: 'operator', context } })
  const caller = run.root!.id
  await record({ type: 'emit', caller, draft: { type: 'ready' } })
  if (active) await record({ type: 'emit', caller, draft: { type: 'started' } })
  return id
}

test.each([
  ['has started', true],
  ['is idle', false],
])(
  'after a crash between founding a successor, which %s, and closing the old house, the successor is the house',
  async (_state, active) => {
    const f = await fixture()
    const old = f.runtime.house.run
    const head = await f.trail.run(old).head()
    const successor = await foundByHand(f, { house: true, previous: { run: old, ...head } }, active)
    await f.restart()
    expect(f.runtime.house.run).toBe(successor)
    expect(shapeOf(await entriesOf(f, old))).toEqual([...FOUNDED, ...CLOSED])
    expect(shapeOf(await entriesOf(f, successor))).toEqual(FOUNDED)
    expect(f.runtime.active).toEqual([f.run.id])
    await f.restart()
    expect(f.runtime.house.run).toBe(successor)
    expect((await f.trail.runs()).filter(({ ended }) => !ended)).toHaveLength(2)
  },
)

test('W-USER-07 a house from before it had an owner is still the house, and its successor belongs to the operator', async () => {
  const f = await fixture({ houseEntries: 8 })
  const first = f.runtime.house.run
  const head = await f.trail.run(first).head()
  const old = await foundByHand(f, { house: true, previous: { run: first, ...head } }, true, 'system')
  await f.restart()
  expect(f.runtime.house.run).toBe(old)
  expect(await f.runtime.house.read(state => state.root?.owner)).toBe('system')
  for (let count = 0; count < 8; count++) unwrap(await f.runtime.users.accept({ user: `u${count}`, method: 'token' }))
  expect(f.runtime.house.run).not.toBe(old)
  expect(await f.runtime.house.read(state => state.root?.owner)).toBe('operator')
})

test('nobody else starts a run that would pass for the house, and the host binds no agent in the house', async () => {
  const bound: string[] = []
  const f = await fixture({ bind: agent => void bound.push(agent.run) })
  const forged = { house: true, previous: { run: f.runtime.house.run, seq: 5, hash: null } }
  expect(refused(await f.runtime.start({ owner: 'ux', context: forged }))).toBe('invalid_argument')
  const house = f.runtime.house.run
  await f.restart()
  expect(f.runtime.house.run).toBe(house)
  expect(bound).not.toContain(house)
  expect(bound).toContain(f.run.id)
})

const why = { reason: 'because' }

async function crowd(f: Fixture): Promise<void> {
  await person(f, 'a', ...CAPABILITIES.filter(each => each !== 'view_trail_own'))
  await person(f, 'b', 'abort_own')
  await person(f, 'c')
  await person(f, 'd')
  const { users } = f.runtime
  unwrap(await users.suspend('b', { by: 'a', reason: 'holiday' }))
  unwrap(await users.block('b', why))
  unwrap(await users.deactivate('c', why))
  unwrap(await users.suspend('d', why))
}

test('users, their states and capabilities survive a restart', async () => {
  const f = await withUsers()
  await crowd(f)
  const before = f.runtime.users.list()
  expect(before.map(({ user, state }) => `${user} ${state}`)).toEqual([
    'ux active',
    'a active',
    'b blocked',
    'c deactivated',
    'd suspended',
  ])
  await f.restart()
  expect(f.runtime.users.list()).toEqual(before)
})

test('a house that is succeeded hands on its users whole: nobody is created twice, no suspension is lost', async () => {
  const f = await withUsers({ houseEntries: 30 })
  await crowd(f)
  const before = f.runtime.users.list()
  const first = f.runtime.house.run
  while (f.runtime.house.run === first) await f.runtime.users.accept({ user: 'a', method: 'token' })
  const house = houseWatch(f)
  expect((await house()).map(row => row[0])).not.toContain('user_created')
  expect(f.runtime.users.list()).toEqual(before)
  await f.restart()
  expect(f.runtime.house.run).not.toBe(first)
  expect(f.runtime.users.list()).toEqual(before)
  await house()
  unwrap(await f.runtime.users.unblock('b', why))
  expect(f.runtime.users.stateOf('b')).toBe('suspended')
  expect(await house()).toEqual([
    ['user_unblocked', null, 'system', { user_id: 'b', resolved_condition: 'because' }],
    ['user_suspended', null, 'protocol', { user_id: 'b', reason: 'holiday', suspended_by: 'a' }],
  ])
})

test('changes that come while the house is being succeeded are all in the house that is left', async () => {
  const f = await withUsers({ houseEntries: 12 })
  const houses = new Set([f.runtime.house.run])
  for (let round = 0; round < 5; round++) {
    const names = Array.from({ length: 6 }, (_, index) => `u${round}_${index}`)
    const accepted = names.map(user => f.runtime.users.accept({ user, method: 'token' }))
    expect((await Promise.all(accepted)).map(refused)).toEqual(names.map(() => 'ok'))
    houses.add(f.runtime.house.run)
  }
  expect(houses.size).toBeGreaterThan(3)
  const before = f.runtime.users.list()
  expect(before).toHaveLength(31)
  await f.restart()
  expect(f.runtime.users.list().toSorted(byName)).toEqual(before.toSorted(byName))
})

test('a house that is succeeded while changes still wait for their turn hands on all of them', async () => {
  const f = await withUsers({ houseEntries: 8 })
  const first = f.runtime.house.run
  const accept = (user: string) => f.runtime.users.accept({ user, method: 'token' })
  // Three commits' worth, so that some still wait when the answers of the first bring the house over its limit.
  const names = Array.from({ length: 3 * kernelLimits.groupCommands }, (_, index) => `u${index}`)
  const accepted = names.map(accept)
  await accepted[0]
  for (const late of ['v0', 'v1', 'v2']) {
    names.push(late)
    accepted.push(accept(late))
  }
  expect((await Promise.all(accepted)).filter(result => !result.ok)).toEqual([])
  expect(f.runtime.house.run).not.toBe(first)
  await f.restart()
  const known = f.runtime.users.list().map(({ user }) => user)
  expect(known.toSorted()).toEqual([...names, 'ux'].toSorted())
})

test('a successor that could not say its first words is the house all the same', async () => {
  const f = await withUsers({ houseEntries: 8 })
  await person(f, 'ux')
  const first = f.runtime.house.run
  const accept = (user: string) => f.runtime.users.accept({ user, method: 'token' })
  // Founding is one commit; everything behind it fails, until the disk is back.
  f.disks.trail.fail('sync', { after: 1, times: Number.POSITIVE_INFINITY })
  const pending = accept('uy')
  await f.settle()
  const successor = f.runtime.house.run
  expect(successor).not.toBe(first)
  f.disks.trail.mend()
  await f.advance(kernelDefaults.degradedRetry)
  unwrap(await pending)
  await f.restart()
  expect(f.runtime.house.run).toBe(successor)
  expect(f.runtime.users.list().map(({ user }) => user)).toEqual(['ux', 'uy'])
  expect((await f.trail.runs()).find(({ run }) => run === first)?.ended).toBe(true)
})

function byName(one: { readonly user: string }, other: { readonly user: string }): number {
  return one.user < other.user ? -1 : 1
}
