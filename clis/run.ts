// Runs checks of programs, a few at once, each on a machine of its own.
import type { Bundled } from '@parley/node/testing'
import type { Check } from './checks/check.ts'
import { clisLimits } from './limits.ts'
import type { Program } from './programs.ts'
import { World } from './world.ts'

export interface Outcome {
  readonly program: string
  readonly version: string
  readonly check: string
  readonly seconds: number
  /** What failed, in a few words. */
  readonly failure?: string
  /** What was measured. */
  readonly measured?: string
  /** The folder of a check that failed, if it is kept. */
  readonly kept?: string
}

/** What every run of a program needs. */
export interface Around {
  readonly programs: readonly Program[]
  readonly bundle: Bundled
  readonly bin: (program: Program) => string
  readonly jobs: number
  readonly keep: boolean
  readonly verbose: boolean
}

export interface Runs extends Around {
  readonly checks: readonly Check[]
  readonly tell: (outcome: Outcome) => void
}

/** What is at work now: an interruption must leave nothing behind. */
const worlds = new Set<World>()

export async function closeAll(): Promise<void> {
  await Promise.allSettled([...worlds].map(world => world.close(false)))
}

export async function runAll(runs: Runs): Promise<readonly Outcome[]> {
  const all = runs.checks.flatMap(check => runs.programs.map(program => ({ check, program })))
  const outcomes = new Map<object, Outcome>()
  const left = [...all]
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const outcome = await runOne(runs, next.program, next.check)
      outcomes.set(next, outcome)
      runs.tell(outcome)
    }
  }
  await Promise.all(Array.from({ length: runs.jobs }, work))
  return all.map(each => outcomes.get(each)!)
}

async function runOne(runs: Runs, program: Program, check: Check): Promise<Outcome> {
  const began = performance.now()
  const world = await World.make(runs.bundle, [runs.bin(program)], [program])
  worlds.add(world)
  let failure: string | undefined
  let measured: string | undefined
  let cancel: NodeJS.Timeout | undefined
  try {
    const late = new Promise<never>((_, reject) => {
      const words = `not over in ${clisLimits.checkMs / 1000} s`
      cancel = setTimeout(() => reject(new Error(words)), clisLimits.checkMs)
    })
    const result = await Promise.race([check.run({ program, world }), late])
    if (typeof result === 'string') measured = result
  } catch (thrown) {
    failure = (thrown as Error).message.split('\n')[0]!
  } finally {
    clearTimeout(cancel)
  }
  const keep = runs.keep && failure !== undefined
  if (runs.verbose) console.error(JSON.stringify(world.server.log, null, 1))
  worlds.delete(world)
  await world.close(keep).catch(thrown => (failure ??= (thrown as Error).message))
  return {
    program: program.name,
    version: program.version,
    check: check.name,
    seconds: (performance.now() - began) / 1000,
    ...(failure === undefined ? measured !== undefined && { measured } : { failure }),
    ...(keep && { kept: world.folder }),
  }
}
