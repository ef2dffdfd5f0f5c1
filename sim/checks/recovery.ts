// What a trail must hold after a crash or stop (W-TRAIL-05, W-TRAIL-26, W-REC-11): all that was acknowledged, of what
// was on its way whole batches only; and opening it a second time changes nothing.
import { ManualClock, SeededIds, type Ticks } from '@parley/core'
import { Runtime } from '@parley/kernel'
import { type Entry, type EntryDraft, Trail, type TrailObject, type TrailStore } from '@parley/trail'
import type { EventBody, EventType } from '@parley/trail/events'
import { type Batch, type Manifest, openMemoryStore } from '@parley/trail/testing'
import { RunModel } from '../model/model.ts'
import { isOver, ticksOf } from '../model/records.ts'
import { Dice } from '../random.ts'
import type { Config } from '../world/config.ts'
import { copied, type Disks } from '../world/disks.ts'
import { openKeys } from '../world/keys.ts'
import { StormyTransport } from '../world/transport.ts'
import { Violation } from './invariants.ts'

/**
 * What a restart may write before anybody acts: `ready`, directives, deliveries that were on their way, what time has
 * brought, its own marker, and the house run.
 */
export const RECOVERY_ENTRIES: ReadonlySet<EventType> = new Set<EventType>([
  'signal_emitted',
  'signal_delivered',
  'envelope_created',
  'envelope_rejected',
  'envelope_delivered',
  'envelope_redelivered',
  'workspace_state_changed',
  'port_right_created',
  'port_right_transferred',
  'port_right_consumed',
  'workspace_created',
  'recovery_completed',
  'envelope_undeliverable',
  'gate_triggered',
  'gate_timeout',
  'gate_resolved',
  'gate_reentry_blocked',
  'escalation_timeout',
  'escalation_resolved',
  'migration_failed',
  'graceful_termination_expired',
  'budget_warning',
  'budget_exceeded',
  'liveness_warning',
  'workspace_reparented',
  'integration_started',
  'integration_completed',
  'integration_aborted',
  'conflict_detected',
  'conflict_resolved',
  'task_approved',
  'task_status_changed',
  'task_assigned',
  'task_failed',
  'workspace_rejected',
  'batch_abort',
  'system_degraded',
])

/** What a run was when it was opened, for the numbers of its marker (W-REC-22). */
export interface Opened {
  readonly open: readonly string[]
  readonly signals: number
  readonly seq: number
  readonly floor: number
  /** Envelopes that were delivered since. */
  delivered: number
}

export function openedRun(run: RunModel): Opened {
  return {
    open: [...run.workspaces.values()].filter(each => !isOver(each.status)).map(each => each.id),
    signals: [...run.waiting.values()].flat().length,
    seq: run.seq,
    floor: ticksOf({ timestamp: run.lastTimestamp as never }),
    delivered: 0,
  }
}

/** `exact`: nothing went wrong meanwhile, and the whole trail was read. */
export function markerProblem(
  run: RunModel,
  opened: Opened,
  entry: EntryDraft,
  exact: { readonly storage: boolean; readonly reading: boolean },
): string | undefined {
  const body = entry.body as EventBody<'recovery_completed'>
  const failed = opened.open.filter(id => run.workspace(id).status === 'failed').length
  const expected: Partial<EventBody<'recovery_completed'>> = {
    downtime: Math.floor((ticksOf(entry) - opened.floor) / 1000),
    workspaces_recovered: opened.open.length - failed,
    workspaces_failed: failed,
    signals_requeued: opened.signals,
    quarantined_entries: 0,
    ...(exact.storage && { envelopes_redelivered: opened.delivered }),
    ...(exact.reading && { trail_entries_examined: opened.seq }),
  }
  for (const [name, count] of Object.entries(expected))
    if (body[name as keyof typeof body] !== count)
      return `${run.id}: ${name} is ${body[name as keyof typeof body]}, not ${count}`
  return undefined
}

/** What is known about a trail from before it was opened. */
export interface Known {
  readonly models: ReadonlyMap<string, RunModel>
  /** Handed in and never settled, by run. */
  readonly underway: ReadonlyMap<string, readonly Batch[]>
  /** Answered with a failure, and nothing was written behind them: the disk may have kept them all the same. */
  readonly doubtful: readonly Batch[]
  fold(run: string, batch: Batch): void
}

/**
 * Compares a trail that was just opened with what is known, and folds what arrived without having been acknowledged.
 */
export async function checkRecovered(
  trail: Trail,
  store: TrailStore,
  known: Known,
  deletions: ReadonlySet<string>,
): Promise<void> {
  const { models, underway, doubtful } = known
  const runs = await trail.runs()
  const found = new Set<string>(runs.map(each => each.run))
  for (const { id, log } of models.values()) if (log.length > 0 && !found.has(id)) throw lost(id, 'the whole run')
  for (const { run } of runs) {
    const records: Records = []
    for await (const record of trail.run(run).replay()) records.push(record)
    const before = models.get(run)
    if (before) noteDeleted(before, await store.tiers.manifests(run), deletions)
    const log = (before?.log ?? []).filter(id => !before?.gone.has(id))
    for (const [index, id] of log.entries())
      if (records[index]?.id !== id) throw lost(run, `record ${index + 1} of ${log.length}, ${id}`)
    checkHead(before, records.slice(0, log.length))
    const possible = [...(underway.get(run) ?? []), ...doubtful]
    for (const batch of wholeBatches(run, records.slice(log.length), possible)) known.fold(run, batch)
    const model = models.get(run)!
    if (records.length > log.length) model.head = lastHash(records)
    if (model.gone.size === 0) sameFold(model, records)
  }
}

type Records = (Entry | TrailObject)[]

/** W-TRAIL-28: what was to be deleted may be gone or not when the power went; nothing else is. */
function noteDeleted(model: RunModel, manifests: readonly Manifest[], deletions: ReadonlySet<string>): void {
  for (const { archive, deleted, entries, objects } of manifests) {
    if (!deleted) continue
    if (!deletions.has(`${model.id} ${archive}`))
      throw new Violation('W-TRAIL-28 only what may be deleted is', `archive ${archive} of ${model.id}`)
    for (const { id } of [...entries, ...objects]) model.gone.add(id)
  }
}

function lastHash(records: Readonly<Records>): string | null {
  const last = records.findLast(record => 'event_type' in record) as Entry | undefined
  return last?.integrity.entry_hash ?? null
}

function lost(run: string, what: string): Violation {
  return new Violation('W-TRAIL-05 what was acknowledged survives', `${run} lost ${what}`)
}

function checkHead(model: RunModel | undefined, records: Readonly<Records>): void {
  // What was deleted may have been the newest.
  if (!model || model.gone.has(model.drafts.at(-1)?.id ?? '')) return
  if (model.head === lastHash(records)) return
  throw lost(model.id, `entry ${model.seq} as it was`)
}

/** What was never answered with `ok` is wholly there or wholly absent. */
function wholeBatches(run: string, records: Readonly<Records>, possible: readonly Batch[]): Batch[] {
  const arrived: Batch[] = []
  for (let at = 0; at < records.length; ) {
    const { id } = records[at]!
    const batch = possible.find(each => recordsOf(each)[0] === id)
    if (!batch) throw new Violation('W-REC-06 what failed did not happen', `${run} has ${id}, which nobody handed in`)
    const ids = recordsOf(batch)
    if (ids.some((each, index) => records[at + index]?.id !== each))
      throw new Violation('0.3 W-TRAIL-26 a batch is there wholly or not at all', `${run}: ${ids.join()}`)
    at += ids.length
    arrived.push(batch)
  }
  return arrived
}

function recordsOf({ objects = [], entries }: Batch): string[] {
  return [...objects, ...entries].map(record => record.id)
}

/** The model that grew with the commits is the one that the records give. */
function sameFold(model: RunModel, records: Readonly<Records>): void {
  const again = new RunModel(model.id)
  for (const record of records) {
    if ('event_type' in record) again.entry(record)
    else again.object(record)
  }
  if (shown(again) !== shown(model)) throw new Violation('W-REC-14 replay gives the state of the commits', model.id)
}

function shown(run: RunModel): string {
  const workspaces = [...run.workspaces.values()].map(({ id, status, inbox, register }) => [
    id,
    status,
    inbox,
    register,
  ])
  return JSON.stringify([workspaces, [...run.tasks.values()], [...run.rights.values()], [...run.waiting]])
}

/** Opens a copy twice with a perfect transport: the second time there is nothing left to do. */
export async function checkTwice(disks: Disks, config: Config, seed: number): Promise<void> {
  const copy = copied(disks)
  const ids = new SeededIds(seed + 1)
  const heads: Map<string, number>[] = []
  let now = 0
  for (let life = 0; life < 2; life++) {
    const store = await openMemoryStore(copy, config.store)
    const signing = config.signed ? await openKeys(copy, store.floor, store.floor) : {}
    const trail = new Trail({ store, ...signing })
    let moves = 0
    const transport = new StormyTransport({ ...config, trouble: 0 }, new Dice(seed), {
      arrived: new Map(),
      carrying: () => undefined,
      refused: () => undefined,
      moved: () => {
        moves++
      },
    })
    // Off every whole millisecond, so that the few ticks of the first life make nothing due in the second.
    now ||= trail.floor + 1_000_500
    const clock = new ManualClock(now as Ticks)
    const runtime = await Runtime.open({ ...config.runtime, trail, clock, ids, transport })
    for (let quiet = 0; quiet < 12; quiet++) {
      const before = moves
      await new Promise(resolve => setImmediate(resolve))
      if (moves !== before) quiet = 0
    }
    await runtime.close()
    const written = new Map<string, number>()
    for (const { run } of await trail.runs()) {
      let count = 0
      for await (const record of trail.run(run).replay())
        if ('event_type' in record && record.event_type !== 'recovery_completed') count++
      written.set(run, count)
    }
    heads.push(written)
    await trail.close()
  }
  const [first, second] = heads.map(head => JSON.stringify([...head].sort()))
  if (first !== second)
    throw new Violation('W-REC-11 recovering twice adds nothing but its marker', `${first} became ${second}`)
}

/** W-ENV-14, W-SIG-06: with a perfect line and enough time, nothing waits for a receiver that takes it. */
export function stillWaiting(run: RunModel): string | undefined {
  for (const workspace of run.workspaces.values()) {
    if (isOver(workspace.status) || !['idle', 'active', 'blocked'].includes(workspace.status)) continue
    const isBlocking = (id: string) => run.envelopes.get(id)?.priority === 'blocking'
    const closed = workspace.inbox.some(isBlocking)
    const gated = new Set([...run.gates.values()].map(gate => gate.subject))
    for (const [from, [head]] of workspace.channels)
      if (head !== undefined && !gated.has(head) && (!closed || isBlocking(head)))
        return `${head} from ${from} to ${workspace.id}`
  }
  return undefined
}

/** After a restart every agent has said `ready`, and every directive that waits for nobody is submitted. */
export function notTakenUp(run: RunModel): string | undefined {
  for (const workspace of run.workspaces.values()) {
    if (isOver(workspace.status)) continue
    if (!workspace.ready && !['suspended', 'migrating'].includes(workspace.status))
      return `${workspace.id} has not said ready`
    // The directive is its creator's to send: of one that was moved since, that is somebody else.
    if (workspace.parents.length > 1) continue
    const parent = workspace.parent === null ? undefined : run.workspace(workspace.parent)
    if (!workspace.dispatches || workspace.directive === null || parent?.status !== 'active') continue
    if (!run.envelopes.has(workspace.directive)) return `the directive of ${workspace.id} was not sent`
  }
  return undefined
}

/** Each delivery on record, first or repeated, was brought by the transport. */
export function deliveredTooOften(
  run: RunModel,
  arrived: ReadonlyMap<string, number>,
  carriesSignals: boolean,
): string | undefined {
  for (const { id, status, repeats } of run.envelopes.values()) {
    const delivered = status === 'delivered' || status === 'acknowledged' ? 1 : 0
    if (delivered + repeats > (arrived.get(id) ?? 0)) return `${id}: ${delivered + repeats} of ${arrived.get(id) ?? 0}`
  }
  for (const { id, deliveries } of carriesSignals ? run.signals.values() : [])
    if (deliveries > (arrived.get(id) ?? 0)) return `${id}: ${deliveries} of ${arrived.get(id) ?? 0}`
  return undefined
}
