// Recovery (W-REC-11 to -22): its order, mail, signals and marker; and what the coordinator reports (W-REC-05).
import { durationMs, type EnvelopeId, formatTimestamp, parseTimestamp, type Ticks, unwrap } from '@parley/core'
import type { Entry, ProposedEntry } from '@parley/trail'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
import { leave, proposal } from '../testing/foreign.ts'
import { delivered, inboxOf, receipt, send } from '../testing/mail.ts'
import { decided, emitted as signal } from '../testing/tasks.ts'
import { denial } from '../testing/topology.ts'
import { carriedFixture } from '../testing/transport.ts'

const NOTHING = { workspaces_failed: 0, envelopes_redelivered: 0, signals_requeued: 0, quarantined_entries: 0 }

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

const emitted = (f: Fixture, from: string, type: string, reason?: string, actor = 'worker'): ProposedEntry =>
  proposal(...signal(f.ids.next('sig'), f.id(from), type, actor, reason === undefined ? {} : { reason }))

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

test('W-REC-11 what is asked while a run recovers is held and decided behind the marker', async () => {
  const f = await withWorker()
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
    const f = await withWorker()
    const child = await f.worker('D', { delegate: true })
    await f.worker('C', {}, child)
    await leave(
      f,
      signals.map(([type, reason]) => emitted(f, 'W', type, reason)),
    )
    const { counts } = await restarted(f)
    expect(await f.state('W')).toBe(state)
    expect(counts).toMatchObject({ signals_requeued: signals.length, workspaces_failed: state === 'failed' ? 1 : 0 })
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
    emitted(f, 'D', 'failed', 'timeout', 'protocol'),
    emitted(f, 'W', 'failed', 'delivery_exhausted', 'protocol'),
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

const to = (id: string, receiver = 'W') => ({ id, from: 'R', to: receiver, type: 'directive' })

/** The record of a placement and nothing behind it, as a runtime leaves it that appends entry by entry. */
async function leavePlaced(f: Fixture, id: EnvelopeId, receiver: string): Promise<void> {
  const delivered_at = formatTimestamp(f.runtime.clock.next())
  const body = { envelope_id: id, from: f.id('R'), to: f.id(receiver), delivered_at }
  await leave(f, [proposal('envelope_delivered', f.id(receiver), 'protocol', body)])
}

/** Nothing that is sent arrives. */
async function silent(...names: string[]) {
  const { f, transport } = await carriedFixture()
  for (const name of names) await f.worker(name)
  transport.begin(f.clock, () => 'drop')
  return { f, transport }
}

async function markerOf(f: Fixture): Promise<unknown> {
  return (await f.run.entries()).findLast(entry => entry.event_type === 'recovery_completed')?.body
}

test('W-REC-17 mail stays held for the suspended, and behind a blocking envelope', async () => {
  const { f, transport } = await silent('W', 'S')
  await f.bring('S', 'suspended')
  await send(f, f.root, 'H', 'S', 'directive')
  transport.fate = () => 'pass'
  await send(f, f.root, 'B', 'W', 'directive', { priority: 'blocking' })
  await send(f, f.root, 'N', 'W', 'directive')
  await f.mark()
  await f.restart()
  await f.expectAdded([])
  expect(await markerOf(f)).toMatchObject({ envelopes_redelivered: 0 })
  unwrap(await f.agent('W').consume())
  await f.expectAdded([delivered(to('N')), ...receipt('sig1', to('N'))])
})

test('W-REC-17 a delivery to somebody who has ended since is left as it is', async () => {
  const { f } = await silent('W')
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await leavePlaced(f, id, 'W')
  await f.restart()
  const other = await send(f, f.root, 'F', 'W', 'directive')
  await leavePlaced(f, other, 'W')
  expect(refused(await f.root.look(f.id('W')))).toBe('ok')
  await leave(f, [proposal(...decided(f.id('W'), 'active', 'failed', 'aborted_by_coordinator'))])
  await f.mark()
  await f.restart()
  await f.expectAdded([])
  await f.restart()
  await f.expectAdded([])
})

test('W-REC-22 until the marker the transport carries nothing, however much there is to place', async () => {
  const { f, transport } = await silent('W')
  const count = kernelLimits.groupCommands + 10
  for (let each = 0; each < count; each++) unwrap(await f.root.send(f.mail('W', 'directive')))
  transport.begin(f.clock, () => 'pass')
  await f.restart()
  expect(transport.attempts).toEqual([])
  expect(await markerOf(f)).toMatchObject({ envelopes_redelivered: count })
  expect(await inboxOf(f, 'W')).toHaveLength(count)
})

const report = { reason: 'provider is away', scope: 'systemic', action: 'pause_dispatch' } as const

const degraded = (body: object): Row => [
  'system_degraded',
  null,
  'system',
  { reason: 'provider is away', scope: 'systemic', affected_workspaces: [], ...body },
]

test('W-REC-05 only the coordinator reports, in words of the registry, about what exists', async () => {
  const f = await withWorker()
  const worker = f.agent('W')
  unwrap(await f.root.reportDegraded(report))
  unwrap(await f.root.reportDegraded({ ...report, scope: 'transport', action: 'wait' }))
  await f.expectAdded([
    degraded({ coordinator_action: 'pause_dispatch' }),
    degraded({ scope: 'transport', coordinator_action: 'wait' }),
  ])
  expect(refused(await worker.reportDegraded(report))).toBe('permission_denied')
  await f.expectAdded([denial('W', 'worker', 'operation:report_degraded')])
  for (const [bad, answer] of [
    [{ reason: '' }, 'invalid_argument'],
    [{ scope: 'everything' }, 'invalid_argument'],
    [{ action: 'panic' }, 'invalid_argument'],
    [{ workspaces: 'W' }, 'invalid_argument'],
    [{ workspaces: ['ws_none'] }, 'not_found'],
  ] as const)
    expect(refused(await f.root.reportDegraded({ ...report, ...bad } as never))).toBe(answer)
  await f.expectAdded([])
  // Nothing is detected or stopped by itself.
  expect(await f.state('W')).toBe('active')
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('ok')
})
