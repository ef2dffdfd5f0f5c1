// Runs a script of actions in a world and says how it ended: a summary, or the invariant that broke and where.

import { type Action, act, type Favours, planOf } from './actions.ts'
import { Violation, violated } from './checks/invariants.ts'
import { stillWaiting } from './checks/recovery.ts'
import type { Tamper } from './checks/watch.ts'
import { isOver } from './model/records.ts'
import { isOpen } from './model/salvage.ts'
import type { Statistics } from './statistics.ts'
import { World } from './world/world.ts'

/** The whole state is compared every so many steps, and after every crash. */
const COMPARED_EVERY = 25

export interface Failure {
  readonly invariant: string
  readonly detail: string
  /** Index of the action that broke it; the number of actions if it broke at the end. */
  readonly at: number
  readonly stack: string | undefined
}

export interface Outcome {
  readonly seed: number
  readonly statistics: Statistics
  readonly failure: Failure | undefined
  /** Run, length and hash of every chain at the end. */
  readonly heads: readonly string[]
}

export interface SimulateOptions {
  readonly tamper?: Tamper
  readonly onStep?: (index: number, action: Action) => void
  /** What the seed's own plan has much of. */
  readonly favours?: Favours
}

export function simulateSeed(seed: number, steps: number, options: SimulateOptions = {}): Promise<Outcome> {
  return simulate(seed, planOf(seed, steps, options.favours), options)
}

export async function simulate(
  seed: number,
  actions: readonly Action[],
  options: SimulateOptions = {},
): Promise<Outcome> {
  const world = new World(seed, { tamper: options.tamper })
  const uncaught = (cause: unknown) => world.watch.uncaught(cause)
  process.on('unhandledRejection', uncaught)
  let at = 0
  let heads: readonly string[] = []
  try {
    await world.open()
    for (; at < actions.length; at++) {
      options.onStep?.(at, actions[at]!)
      await step(world, actions[at]!, at)
    }
    heads = await finish(world)
    return { seed, statistics: world.watch.statistics, failure: undefined, heads }
  } catch (cause) {
    return { seed, statistics: world.watch.statistics, failure: failureOf(cause, at), heads }
  } finally {
    process.off('unhandledRejection', uncaught)
  }
}

async function step(world: World, action: Action, index: number): Promise<void> {
  const { statistics } = world.watch
  statistics.steps++
  statistics.actions[action.kind] = (statistics.actions[action.kind] ?? 0) + 1
  const begun = world.begin()
  await act(world, action)
  await world.settle()
  if (world.storage.uncertain) await world.crash()
  world.end(begun)
  if (index % COMPARED_EVERY === 0) await world.compare()
}

/** Everything is mended, the line is perfect and there is time: nothing may be left to wait for. */
async function finish(world: World): Promise<readonly string[]> {
  await world.heal()
  const { transport, clock } = world.life
  transport.trouble = 0
  transport.release(transport.held)
  for (let waits = 0; waits < 16; waits++) {
    await world.settle()
    clock.advance(world.config.runtime.redeliveryBase)
  }
  await world.settle()
  world.end(world.begin())
  await world.compare()
  for (const run of world.openRuns) violated('W-ENV-14 W-REC-10 no mail waits for ever', stillWaiting(run))
  await endIntegrations(world)
  const [left] = world.life.asked
  if (left) throw new Violation('0.5 every command is answered', `${left.command.type} is not`)
  await endRuns(world)
  await world.restart()
  return verify(world)
}

/** Open integrations are given up, so that whoever waits behind them is answered. */
async function endIntegrations(world: World): Promise<void> {
  for (let round = 0; round < 100; round++) {
    const open = world.openRuns.flatMap(run =>
      [...run.workspaces.values()].filter(each => each.merging !== null).map(each => ({ run, source: each.merging! })),
    )
    if (open.length === 0) return
    for (const { run, source } of open) {
      const root = world.agents.get(run.root!.id)
      const salvage = run.salvages.get(source)
      const judge = isOpen(salvage) && world.agents.get(salvage.target)
      const handle = world.runs.get(run.id)
      if (judge) world.launch(() => judge.discardSalvage(source as never))
      // Where an abort waits for a human, nobody answers any more.
      else if (run.highway?.gates.workspace_abort.on && handle) world.launch(() => handle.stop())
      else if (root) world.launch(() => root.abort(source as never))
    }
    await world.settle()
  }
}

async function endRuns(world: World): Promise<void> {
  for (const run of world.openRuns) {
    if (world.dice.chance(0.5)) continue
    const handle = world.runs.get(run.id)
    if (handle) world.launch(() => handle.stop())
  }
  await world.settle()
  for (const run of world.models.values()) {
    if (!run.ended) continue
    const open = [...run.workspaces.values()].find(each => !isOver(each.status))
    if (open) throw new Violation('W-LIFE-13 W-WS-12 nothing outlives its run', `${open.id} is ${open.status}`)
  }
}

async function verify(world: World): Promise<readonly string[]> {
  const { trail } = world.life
  const report = await trail.verifyAll()
  const finding = report.runs.flatMap(run => run.findings)[0]
  if (finding || report.unreadable.length > 0)
    throw new Violation('W-TRAIL-16 the trail verifies', finding?.message ?? String(report.unreadable))
  const runs = await trail.runs()
  await world.runtime.close()
  await trail.close()
  return runs.map(({ run, seq, hash }) => `${run} ${seq} ${hash}`).sort()
}

function failureOf(cause: unknown, at: number): Failure {
  if (cause instanceof Violation) return { invariant: cause.invariant, detail: cause.detail, at, stack: cause.stack }
  const error = cause as Error
  return { invariant: 'no exception', detail: String(error?.message ?? cause), at, stack: error?.stack }
}
