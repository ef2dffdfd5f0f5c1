// One life of a node: from its first start through up to 50 faults, one after the other, at moments of the work that a
// seed chooses, to a clean stop. The seed chooses kinds, moments and work; what the machine makes of it is not the same
// every time.
import type { Bundled } from '@parley/node/testing'
import { Dice } from '../sim/random.ts'
import { ACTS, type ActName, type Stage } from './acts.ts'
import { checkIndependently, checkLeftovers, checkVerified, checkWhole, settled } from './check.ts'
import { Clients } from './client.ts'
import { Journal } from './journal.ts'
import { type Injected, KINDS, kindsFor } from './kinds.ts'
import { faultLimits, faultTimes } from './limits.ts'
import { Finding, pause, until } from './waiting.ts'
import type { ForeignRun } from './work.ts'
import { World } from './world.ts'

export interface LifeOptions {
  readonly seed: number
  readonly faults: number
  /** All that can be had, by default. */
  readonly kinds?: readonly string[]
  readonly shim?: string
  readonly bundle: Bundled
  readonly foreign: readonly ForeignRun[]
  /** The folders of a life that failed stay. */
  readonly keep?: boolean
}

export interface LifeOutcome {
  readonly seed: number
  /** How often each kind was injected. */
  readonly histories: Readonly<Record<string, number>>
  /** Moments at which nothing met a fault; not among the histories. */
  readonly missed: number
  readonly runs: number
  readonly entries: number
  readonly seconds: number
  /** Somebody stopped it before its end: it says nothing. */
  readonly stopped?: true
  readonly failure?: LifeFailure
}

export interface LifeFailure {
  /** The kind after which it was noticed. */
  readonly kind: string
  readonly findings: readonly string[]
  readonly faults: readonly string[]
  readonly journal: readonly string[]
  readonly log: readonly string[]
  /** Where the profile is, if it was kept. */
  readonly folder?: string
}

/** `signal`: the life ends after the present fault, and what it has made is removed. */
export async function live(options: LifeOptions, signal?: AbortSignal): Promise<LifeOutcome> {
  const began = performance.now()
  const dice = new Dice(options.seed)
  const world = new World({
    ...(options.shim !== undefined && { shim: options.shim }),
    bundle: options.bundle,
    children: dice.chance(0.5),
    replica: dice.chance(0.5),
  })
  const journal = new Journal()
  const histories: Record<string, number> = {}
  const clients = new Clients(world, journal, dice)
  const stage: Stage = { world, journal, clients, dice, foreign: [...options.foreign] }
  let kind = 'none'
  let missed = 0
  try {
    const refused = await world.start()
    if (refused) throw new Finding(`the node does not start: ${refused.message}`)
    const kinds = kindsFor(world, options.kinds)
    if (kinds.length === 0) throw new Error('none of these faults can be had here')
    let unchecked = 0
    // Moments at which nothing meets a fault are not counted, and not tried for ever.
    let attempts = options.faults * faultLimits.attempts
    for (let number = 0; number < options.faults && attempts-- > 0 && journal.findings.length === 0; ) {
      if (signal?.aborted) break
      kind = dice.pick(kinds)
      if (await oneFault(stage, kind)) {
        histories[kind] = (histories[kind] ?? 0) + 1
        number++
      } else missed++
      if (++unchecked < faultLimits.between && number < options.faults && attempts > 0) continue
      await check(stage)
      unchecked = 0
    }
    if (journal.findings.length === 0 && !signal?.aborted) await end(stage)
  } catch (thrown) {
    journal.found(thrown instanceof Finding ? thrown.message : String((thrown as Error).stack ?? thrown))
  }
  const stopped = signal?.aborted === true
  const failed = journal.findings.length > 0 && !stopped
  const keep = failed && options.keep === true
  const log = world.log()
  clients.close()
  await world.close(keep)
  return {
    seed: options.seed,
    histories,
    missed,
    runs: journal.runs.size,
    entries: [...journal.runs.values()].reduce((sum, { entries }) => sum + entries.size, 0),
    seconds: (performance.now() - began) / 1000,
    ...(stopped && { stopped }),
    ...(failed && {
      failure: {
        kind,
        findings: journal.findings,
        faults: journal.faults,
        journal: journal.lines(),
        log,
        ...(keep && { folder: world.folder }),
      },
    }),
  }
}

/**
 * Work goes on, something is asked for, something fails, it is over: the node answers again. Whether anything met the
 * fault.
 */
async function oneFault(stage: Stage, name: string): Promise<boolean> {
  const { world, journal, clients, dice } = stage
  const kind = KINDS[name]!
  // Not waited for: a start is hit by a fault like everything else.
  const wanted = dice.between(1, faultLimits.runs) - journal.atWork.length
  const starting = Array.from({ length: Math.max(0, wanted) }, () => clients.startRun())
  const act = dice.pick(kind.during ?? (Object.keys(ACTS) as ActName[]))
  // The work goes on for a moment before somebody asks for something, and for another before something fails.
  await pause(dice.int(faultTimes.before))
  const before = dice.chance(0.5)
  const acting = { done: before ? ACTS[act](stage) : Promise.resolve() }
  acting.done.catch(() => undefined)
  await pause(dice.int(faultTimes.before / 3))
  const injected = await kind.inject(world, dice)
  if (!before) acting.done = ACTS[act](stage)
  acting.done.catch(() => undefined)
  if (kind.spoils) journal.spoils(injected.what)
  journal.note(`${name} during ${act}: ${injected.what}`)
  await pause(dice.between(faultTimes.shortest, faultTimes.longest))
  const met = await metBy(injected)
  await injected.heal()
  journal.fault(`${name} during ${act}: ${injected.what}`)
  await acting.done
  await Promise.all(starting)
  journal.spoilsNoMore()
  await world.started()
  await answers(stage)
  return met
}

/** Waits a little longer for something to meet the fault. */
async function metBy({ met }: Injected): Promise<boolean> {
  if (!met) return true
  for (const end = performance.now() + faultTimes.longest; performance.now() < end && !met(); )
    await pause(faultTimes.look)
  return met()
}

/** The node answers, whatever it has been through. */
async function answers({ world, clients }: Stage): Promise<void> {
  await until(
    faultTimes.answer,
    () => `an answer of the node${world.alive ? '' : ', which is gone although nothing ended it'}`,
    async () => {
      if (!world.alive) throw new Finding(`the node is gone, although nothing ended it`)
      return clients.ask('status', client =>
        client.invoke('node', 'status', {}, { type: 'query', timeout: faultTimes.answer }),
      )
    },
  )
}

async function check(stage: Stage): Promise<void> {
  // Where none is taken any more, nothing that follows would find anything wrong, for want of work.
  await until(
    faultTimes.settle,
    () => 'a start that is taken, although nothing fails any more',
    () => stage.clients.startRun(),
  )
  await settled(stage)
  await checkWhole(stage, 'new')
}

async function end(stage: Stage): Promise<void> {
  const { world, journal } = stage
  await checkWhole(stage, 'all')
  await checkVerified(stage)
  const kept = await world.stop()
  if (kept) throw new Finding(`the node does not stop in the end: ${kept.message}`)
  checkIndependently(world, journal)
  await checkLeftovers(world, journal)
}
