// Recovery (W-REC-11 to -23): states, signals and timers after a crash, the marker with its numbers, and doing it again.
import { durationMs, formatTimestamp, parseTimestamp, type SignalId, type Ticks, unwrap } from '@parley/core'
import type { Entry, ProposedEntry } from '@parley/trail'
import { expect, test } from 'vitest'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { leave } from '../testing/foreign.ts'
import { delivered, receipt, send } from '../testing/mail.ts'
import { carriedFixture } from '../testing/transport.ts'

const NOTHING = {
  workspaces_failed: 0,
  envelopes_redelivered: 0,
  signals_requeued: 0,
  quarantined_entries: 0,
}

const ticks = (entry: Entry) => parseTimestamp(entry.timestamp) as Ticks

/** What a restart adds: the entries, and the marker's numbers but for the downtime, which must be right. */
async function restarted(f: Fixture, meanwhile?: () => void | Promise<void>) {
  await f.settle()
  const before = await f.run.entries()
  await f.restart(meanwhile)
  const added = (await f.run.entries()).slice(before.length)
  const marker = added.find(entry => entry.event_type === 'recovery_completed')
  const rows: Row[] = added.map(entry => f.row(entry))
  if (!marker) return { rows, counts: undefined }
  const { downtime, ...counts } = marker.body as { downtime: number }
  const floor = before.reduce((latest, entry) => Math.max(latest, ticks(entry)), 0) as Ticks
  expect(downtime).toBe(durationMs(floor, ticks(marker)))
  expect([marker.workspace, marker.actor]).toEqual([null, 'protocol'])
  return { rows, counts, downtime }
}

/** Everything but what the clocks say, which went on. */
async function statesOf(f: Fixture): Promise<object> {
  const picture = (await f.picture()) as { readonly workspaces: readonly { readonly meter: unknown }[] }
  return { ...picture, workspaces: picture.workspaces.map(({ meter: _meter, ...rest }) => rest) }
}

function emitted(f: Fixture, from: string, type: string, extra: object = {}): ProposedEntry {
  const signal_id = f.ids.next('sig') as SignalId
  return {
    event_type: 'signal_emitted',
    workspace: f.id(from),
    actor: 'worker',
    body: { signal_id, from: f.id(from), type, ...extra },
  } as ProposedEntry
}

test('WM-032 after a crash states are what the trail says, nothing unrecorded happened, and the marker has the numbers', async () => {
  const f = await fixture({ commitRetries: [50] })
  await f.worker('active')
  await f.worker('blocked')
  await f.bring('blocked', 'blocked')
  await f.workspace('idle')
  for (const state of ['suspended', 'integrating', 'closed', 'failed']) {
    await f.worker(state)
    await f.bring(state, state)
  }
  const before = await statesOf(f)
  const examined = (await f.run.entries()).length
  f.disks.trail.fail('sync', { times: Number.POSITIVE_INFINITY })
  const lost = f.agent('active').blocked('never recorded')
  f.notices.length = 0
  const { rows, counts, downtime } = await restarted(f, () => {
    f.disks.trail.mend()
    f.clock.advance(5000)
  })
  expect(refused(await lost)).toBe('trail_unavailable')
  expect(await statesOf(f)).toEqual(before)
  // The root, and all that are not terminal; timers run for the active, the blocked and the idle one.
  expect(counts).toEqual({
    ...NOTHING,
    workspaces_recovered: 6,
    timers_reconstructed: 3,
    trail_entries_examined: examined,
  })
  expect(downtime).toBeGreaterThan(4900)
  expect(rows.map(([type]) => type)).toEqual(['recovery_completed'])
  await f.settle()
  expect(f.notices).toEqual([{ kind: 'recovered', to: f.id('R'), counts: { ...counts, downtime } }])
})

test('W-REC-22 the coordinator that subscribes later hears of the recovery too; a run that was just started had none', async () => {
  const f = await fixture()
  const heard: string[] = []
  f.root.subscribe(notice => heard.push(notice.kind))
  await f.settle()
  expect(heard).toEqual([])
  await f.restart()
  f.root.subscribe(notice => heard.push(notice.kind))
  await f.settle()
  expect(heard).toEqual(['recovered'])
})

test('W-REC-11 every run that was not finished is recovered, the house among them; a finished one is not', async () => {
  const f = await fixture()
  const other = unwrap(await f.runtime.start({ owner: 'ux', highway: 'off' }))
  unwrap(await other.stop())
  const house = f.runtime.house.run
  const markers = async (run: typeof house) => {
    const entries = await unwrap(await f.runtime.open(run)).entries()
    return entries.filter(entry => entry.event_type === 'recovery_completed').length
  }
  expect([await markers(f.run.id), await markers(house), await markers(other.id)]).toEqual([0, 0, 0])
  await f.restart()
  expect([await markers(f.run.id), await markers(house), await markers(other.id)]).toEqual([1, 1, 0])
  await f.restart()
  expect([await markers(f.run.id), await markers(house), await markers(other.id)]).toEqual([2, 2, 0])
})

test('WM-009 a late signal is left as it was recorded: nothing is quarantined and nothing requeued', async () => {
  const f = await fixture()
  await f.worker('W', { timeout: 1000 })
  await f.advance(2000)
  expect(await f.state('W')).toBe('failed')
  const local = await f.root.query({ scope: 'local', workspace: [f.id('W')] })
  await f.mark()
  unwrap(await f.agent('W').complete())
  const [late, ...others] = (await f.added()).map(entry => f.row(entry))
  expect([late?.slice(0, 3), late?.[3]?.from, others]).toEqual([['signal_emitted', null, 'worker'], 'W', []])
  const { rows, counts } = await restarted(f)
  expect(rows.map(([type]) => type)).toEqual(['recovery_completed'])
  expect(counts).toMatchObject(NOTHING)
  expect(await f.root.query({ scope: 'local', workspace: [f.id('W')] })).toEqual(local)
})

test('WM-039 the plan is carried out in its order behind the anchored clock, and nobody is let in before the marker', async () => {
  const newest: (string | undefined)[] = []
  let opened: Fixture | undefined
  const { f, transport } = await carriedFixture({
    bind: async agent => {
      const page = await opened?.trail.run(agent.run).query({ order: 'descending', limit: 1 })
      newest.push(page && unwrap(page).entries[0]?.event_type)
    },
  })
  opened = f
  await f.worker('W')
  await f.worker('T', { timeout: 10_000 })
  transport.begin(f.clock, () => 'drop')
  await send(f, f.root, 'E', 'W', 'directive')
  await f.settle()
  const before = await f.run.entries()
  const floor = Math.max(...before.map(ticks))
  newest.length = 0
  const { rows } = await restarted(f, () => f.clock.advance(20_000))
  const mail = { id: 'E', from: 'R', to: 'W' }
  expect(rows.map(row => row.slice(0, 3))).toEqual([
    ...[delivered(mail), ...receipt('sig', mail)].map(row => row.slice(0, 3)),
    ['signal_emitted', 'T', 'protocol'],
    ['workspace_state_changed', 'T', 'protocol'],
    ['signal_delivered', 'R', 'protocol'],
    ['recovery_completed', null, 'protocol'],
  ])
  for (const entry of (await f.run.entries()).slice(before.length))
    expect(ticks(entry)).toBeGreaterThan(floor)
  // The root and W have their agents again, T needs none.
  expect(newest).toEqual(['recovery_completed', 'recovery_completed'])
})

test('W-REC-11 what is asked while a run recovers is held and decided behind the marker', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.mark()
  // The trail is away when the runtime comes back: recovery waits for it, and so does everybody else.
  await f.restart(() => f.disks.trail.fail('sync', { times: Number.POSITIVE_INFINITY }))
  const asked = f.agent('W').blocked('waiting')
  expect(await f.state('W')).toBe('active')
  expect(unwrap(await f.agent('W').look()).status).toBe('active')
  f.disks.trail.mend()
  for (let second = 0; second < 5; second++) await f.advance(1000)
  expect(refused(await asked)).toBe('ok')
  expect((await f.addedWithOutages()).map(entry => entry.event_type)).toEqual([
    'system_degraded',
    'recovery_completed',
    'signal_emitted',
    'workspace_state_changed',
    'signal_delivered',
  ])
})

test('W-CLOCK-07 a wall clock that comes back early does not bring an entry before what is on record', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.mark()
  const last = ticks((await f.run.entries()).at(-1)!)
  await f.restart(() => f.clock.set((last - 3_600_000_000) as Ticks))
  unwrap(await f.agent('W').blocked('waiting'))
  const [marker, ...rest] = await f.addedWithOutages()
  expect(rest.length).toBeGreaterThan(0)
  for (const entry of [marker!, ...rest]) expect(ticks(entry)).toBeGreaterThan(last)
})

test.each(['directive', 'feedback'])(
  'WM-043 a recorded complete beats a timeout that ran out meanwhile, and a recorded %s wakes the idle',
  async kind => {
    const f = await fixture()
    await f.worker('W', { timeout: 10_000 })
    unwrap(await f.final('W'))
    await f.workspace('I')
    await f.bring('I', 'active')
    const mail = {
      id: f.ids.next('env'),
      from: f.id('R'),
      to: f.id('I'),
      type: kind,
      payload: { format: 'markdown', content: 'go', attachments: [] },
      in_reply_to: null,
      rights: [],
      priority: 'normal',
      timestamp: '2026-03-01T09:05:00.000042Z',
      origin: 'agent',
      originator: 'system',
    }
    const { id, from, to, type, priority, in_reply_to, originator, origin } = mail
    await leave(
      f,
      [
        emitted(f, 'W', 'complete'),
        {
          event_type: 'envelope_created',
          workspace: f.id('R'),
          actor: 'system',
          body: { envelope_id: id, from, to, type, priority, in_reply_to, originator, origin },
        } as ProposedEntry,
      ],
      [{ id: id as never, kind: 'envelope', value: mail }],
    )
    await leave(f, [
      {
        event_type: 'envelope_delivered',
        workspace: f.id('I'),
        actor: 'protocol',
        body: { envelope_id: id, from, to, delivered_at: formatTimestamp(f.runtime.clock.next()) },
      } as ProposedEntry,
    ])
    f.name(id, 'E')
    const { rows, counts } = await restarted(f, () => f.clock.advance(20_000))
    expect([await f.state('W'), await f.state('I')]).toEqual(['integrating', 'active'])
    expect(rows.filter(([type]) => type === 'workspace_state_changed').map(row => [row[1], row[3]])).toEqual([
      [
        'I',
        {
          workspace_id: 'I',
          from_state: 'idle',
          to_state: 'active',
          trigger: 'first_envelope',
          initiator: 'protocol',
        },
      ],
      [
        'W',
        {
          workspace_id: 'W',
          from_state: 'active',
          to_state: 'integrating',
          trigger: 'agent_complete',
          initiator: 'worker',
        },
      ],
    ])
    expect(counts).toMatchObject({ workspaces_failed: 0, signals_requeued: 1, envelopes_redelivered: 1 })
    expect(rows.at(-2)?.slice(0, 3)).toEqual(['signal_delivered', 'R', 'protocol'])
  },
)

test.for([
  { signals: [['blocked', 'waiting']], state: 'blocked' },
  { signals: [['blocked', 'waiting'], ['started']], state: 'active' },
  { signals: [['blocked', 'waiting'], ['complete']], state: 'blocked' },
  { signals: [['complete'], ['failed', 'no']], state: 'integrating' },
  { signals: [['failed', 'no'], ['complete']], state: 'failed' },
  { signals: [['started']], state: 'active' },
] as const)(
  'W-REC-16 signals without their transitions are evaluated in order: $signals gives $state',
  async ({ signals, state }) => {
    const f = await fixture()
    await f.worker('W')
    const child = await f.worker('D', { delegate: true })
    await f.worker('C', {}, child)
    await leave(
      f,
      signals.map(([type, reason]) => emitted(f, 'W', type, reason === undefined ? {} : { reason })),
    )
    const { counts } = await restarted(f)
    expect(await f.state('W')).toBe(state)
    expect(counts).toMatchObject({
      signals_requeued: signals.length,
      workspaces_failed: state === 'failed' ? 1 : 0,
    })
    const again = await restarted(f)
    expect(again.rows.map(([type]) => type)).toEqual(['recovery_completed'])
    expect(again.counts).toMatchObject(NOTHING)
  },
)

test('W-REC-16 a failure of the runtime keeps its code, takes its children along, and the notice of a lost envelope moves nothing', async () => {
  const f = await fixture()
  const parent = await f.worker('D', { delegate: true })
  await f.worker('C', {}, parent)
  await f.worker('W')
  await leave(f, [
    { ...emitted(f, 'D', 'failed', { reason: 'timeout' }), actor: 'protocol' } as ProposedEntry,
    { ...emitted(f, 'W', 'failed', { reason: 'delivery_exhausted' }), actor: 'protocol' } as ProposedEntry,
  ])
  const { rows } = await restarted(f)
  expect([await f.state('D'), await f.state('C'), await f.state('W')]).toEqual(['failed', 'failed', 'active'])
  const failures = rows.filter(([type]) => type === 'workspace_state_changed')
  expect(failures.map(row => [row[1], row[2], row[3]?.trigger, row[3]?.reason])).toEqual([
    ['D', 'protocol', 'timeout', 'timeout'],
    ['C', 'protocol', 'parent_failed', 'parent_failed'],
  ])
  // The signal is on record already.
  expect(rows.filter(([type]) => type === 'signal_emitted')).toEqual([])
})

test('WM-046 signals that were emitted and not delivered are delivered in order of emission', async () => {
  const f = await fixture()
  await f.worker('W')
  await leave(f, [emitted(f, 'W', 'ready'), emitted(f, 'W', 'checkpoint', { ref: 'x' })])
  const [first, second] = (await f.run.entries()).slice(-2)
  const idOf = (entry: Entry) => (entry.body as { signal_id: string }).signal_id
  f.name(idOf(first!), 'S1')
  f.name(idOf(second!), 'S2')
  const { rows, counts } = await restarted(f)
  expect(rows.slice(0, 2)).toEqual([
    ['signal_delivered', 'R', 'protocol', { signal_id: 'S1', from: 'W', delivered_to: 'R' }],
    ['signal_delivered', 'R', 'protocol', { signal_id: 'S2', from: 'W', delivered_to: 'R' }],
  ])
  expect(counts).toMatchObject({ ...NOTHING, signals_requeued: 2 })
})

test('W-REC-18 a signal for a receiver that is paused is requeued and waits on', async () => {
  const f = await fixture()
  const parent = await f.worker('D', { delegate: true })
  await f.worker('C', {}, parent)
  await f.bring('D', 'suspended')
  unwrap(await f.agent('C').blocked('waiting'))
  const { rows, counts } = await restarted(f)
  expect(rows.map(([type]) => type)).toEqual(['recovery_completed'])
  expect(counts).toMatchObject({ signals_requeued: 1 })
  await f.mark()
  unwrap(await f.root.resume(f.id('D')))
  await f.expectAmong([['signal_delivered', 'D', 'protocol']])
})

test.for([
  { back: 3000, state: 'active', failed: 0 },
  { back: 6000, state: 'failed', failed: 1 },
])(
  'WM-047 a timeout runs on through an outage: back after $back ms the worker is $state',
  async ({ back, state, failed }) => {
    const f = await fixture()
    await f.worker('W', { timeout: 10_000 })
    await f.advance(5000)
    const { rows, counts } = await restarted(f, () => f.clock.advance(back))
    expect(await f.state('W')).toBe(state)
    expect(counts).toMatchObject({
      timers_reconstructed: 1,
      workspaces_failed: failed,
      workspaces_recovered: 2 - failed,
    })
    if (state === 'failed') {
      expect(rows.find(([type]) => type === 'workspace_state_changed')?.[3]).toMatchObject({
        trigger: 'timeout',
        reason: 'timeout',
      })
      expect(rows.at(-1)?.[0]).toBe('recovery_completed')
      return
    }
    await f.advance(1990)
    expect(await f.state('W')).toBe('active')
    await f.advance(20)
    expect(await f.state('W')).toBe('failed')
  },
)

test('W-REC-18 where a transport carries signals too, recovery delivers what was on its way itself', async () => {
  const { f, transport } = await carriedFixture()
  Object.assign(transport, { signals: true })
  await f.worker('W')
  transport.begin(f.clock, () => 'drop')
  unwrap(await f.agent('W').blocked('waiting'))
  const { rows, counts } = await restarted(f)
  expect(rows.map(([type]) => type)).toEqual(['signal_delivered', 'recovery_completed'])
  expect(counts).toMatchObject({ signals_requeued: 1 })
})
