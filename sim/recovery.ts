// What a trail must hold after a crash or stop (W-TRAIL-05, W-TRAIL-26, W-REC-11): all that was acknowledged, of what was on its way
// whole batches only; and opening it a second time changes nothing.
import { ManualClock, SeededIds, type Ticks } from '@parley/core'
import { Runtime } from '@parley/kernel'
import {
  type Batch,
  type Entry,
  type MemoryDisks,
  openMemoryStore,
  Trail,
  type TrailObject,
} from '@parley/trail'
import type { EventType } from '@parley/trail/events'
import type { Config } from './config.ts'
import { Violation } from './invariants.ts'
import { isOver, RunModel } from './model.ts'
import { Dice } from './random.ts'
import { StormyTransport } from './transport.ts'

/** What a restart may write before anybody acts: `ready`, directives, deliveries that were on their way, and the house run. */
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
])

/** What is known about a trail from before it was opened. */
export interface Known {
  readonly models: ReadonlyMap<string, RunModel>
  /** Handed in and never settled, by run. */
  readonly underway: ReadonlyMap<string, readonly Batch[]>
  /** Answered with a failure, and nothing was written behind them: the disk may have kept them all the same. */
  readonly doubtful: readonly Batch[]
  fold(run: string, batch: Batch): void
}

/** Compares a trail that was just opened with what is known, and folds what arrived without having been acknowledged. */
export async function checkRecovered(trail: Trail, known: Known): Promise<void> {
  const { models, underway, doubtful } = known
  const runs = await trail.runs()
  const found = new Set<string>(runs.map(each => each.run))
  for (const { id, log } of models.values())
    if (log.length > 0 && !found.has(id)) throw lost(id, 'the whole run')
  for (const { run } of runs) {
    const records: Records = []
    for await (const record of trail.run(run).replay()) records.push(record)
    const log = models.get(run)?.log ?? []
    for (const [index, id] of log.entries())
      if (records[index]?.id !== id) throw lost(run, `record ${index + 1} of ${log.length}, ${id}`)
    checkHead(models.get(run), records)
    const possible = [...(underway.get(run) ?? []), ...doubtful]
    for (const batch of wholeBatches(run, records.slice(log.length), possible)) known.fold(run, batch)
    const model = models.get(run)!
    model.head = lastHash(records)
    sameFold(model, records)
  }
}

type Records = (Entry | TrailObject)[]

function lastHash(records: Readonly<Records>): string | null {
  const last = records.findLast(record => 'event_type' in record) as Entry | undefined
  return last?.integrity.entry_hash ?? null
}

function lost(run: string, what: string): Violation {
  return new Violation('W-TRAIL-05 what was acknowledged survives', `${run} lost ${what}`)
}

function checkHead(model: RunModel | undefined, records: Readonly<Records>): void {
  if (!model || model.head === lastHash(records.slice(0, model.log.length))) return
  throw lost(model.id, `entry ${model.seq} as it was`)
}

/** What was never answered with `ok` is wholly there or wholly absent. */
function wholeBatches(run: string, records: Readonly<Records>, possible: readonly Batch[]): Batch[] {
  const arrived: Batch[] = []
  for (let at = 0; at < records.length; ) {
    const { id } = records[at]!
    const batch = possible.find(each => recordsOf(each)[0] === id)
    if (!batch)
      throw new Violation('W-REC-06 what failed did not happen', `${run} has ${id}, which nobody handed in`)
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
  if (shown(again) !== shown(model))
    throw new Violation('W-REC-14 replay gives the state of the commits', model.id)
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
export async function checkTwice(disks: MemoryDisks, config: Config, seed: number): Promise<void> {
  const copy = { trail: disks.trail.copy(), blobs: disks.blobs.copy() }
  const ids = new SeededIds(seed + 1)
  const heads: string[] = []
  for (let life = 0; life < 2; life++) {
    const trail = new Trail({ store: await openMemoryStore(copy, config.store) })
    let moves = 0
    const transport = new StormyTransport({ ...config, trouble: 0 }, new Dice(seed), {
      arrived: new Map(),
      carrying: () => undefined,
      refused: () => undefined,
      moved: () => {
        moves++
      },
    })
    const clock = new ManualClock(Math.max(trail.floor, 1) as Ticks)
    const runtime = await Runtime.open({ ...config.runtime, trail, clock, ids, transport })
    for (let quiet = 0; quiet < 6; quiet++) {
      const before = moves
      await new Promise(resolve => setImmediate(resolve))
      if (moves !== before) quiet = 0
    }
    await runtime.close()
    const runs = await trail.runs()
    heads.push(JSON.stringify(runs.map(({ run, seq, hash }) => [run, seq, hash]).sort()))
    await trail.close()
  }
  if (heads[0] !== heads[1])
    throw new Violation('W-REC-11 recovering twice changes nothing', `${heads[0]} became ${heads[1]}`)
}

/** W-ENV-14, W-SIG-06: with a perfect line and enough time, nothing waits for a receiver that takes it. */
export function stillWaiting(run: RunModel): string | undefined {
  for (const workspace of run.workspaces.values()) {
    if (isOver(workspace.status) || !['idle', 'active', 'blocked'].includes(workspace.status)) continue
    for (const [from, ids] of workspace.channels)
      if (ids.length > 0) return `${ids[0]} from ${from} to ${workspace.id}`
  }
  return undefined
}

/** After a restart every agent has said `ready`, and every directive that waits for nobody is submitted. */
export function notTakenUp(run: RunModel): string | undefined {
  for (const workspace of run.workspaces.values()) {
    if (isOver(workspace.status)) continue
    if (!workspace.ready && workspace.status !== 'suspended') return `${workspace.id} has not said ready`
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
    if (delivered + repeats > (arrived.get(id) ?? 0))
      return `${id}: ${delivered + repeats} of ${arrived.get(id) ?? 0}`
  }
  for (const { id, deliveries } of carriesSignals ? run.signals.values() : [])
    if (deliveries > (arrived.get(id) ?? 0)) return `${id}: ${deliveries} of ${arrived.get(id) ?? 0}`
  return undefined
}
