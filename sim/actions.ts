// The steps of a simulation. An action is data, a kind and a seed; what it comes to is decided when it is carried out,
// from its own seed and the state of the world, so that a script stays meaningful when parts of it are taken away.
import type { Ticks } from '@parley/core'
import { kernelLimits } from '@parley/kernel'
import { exportRun, prove } from './checks/evidence.ts'
import { inspect } from './checks/inspect.ts'
import { type CommandKind, perform as command, commands } from './commands/commands.ts'
import { Dice } from './random.ts'
import type { Disks } from './world/disks.ts'
import { turn, type World } from './world/world.ts'

const events = {
  advance: 7,
  jump: 0.7,
  release: 4,
  burst: 8,
  fault: 2,
  heal: 2.5,
  crash: 0.7,
  crash_midway: 0.7,
  restart: 0.6,
  inspect: 0.6,
  export: 0.3,
  prove: 0.8,
} as const

type EventKind = keyof typeof events
/** By then an alarm has looked at the time again. */
const ALARM_LOOKS = kernelLimits.alarmWait + 1

export type ActionKind = CommandKind | EventKind

export interface Action {
  readonly kind: ActionKind
  readonly seed: number
}

const WEIGHTS: Readonly<Record<ActionKind, number>> = { ...commands, ...events }

/** Weights of some actions instead of their own: what a seed shall see much of. */
export type Favours = { readonly [Kind in ActionKind]?: number }

export function planOf(seed: number, steps: number, favours: Favours = {}): Action[] {
  // Not the stream that the world draws from: what happens in it must not depend on the length of the plan.
  const dice = new Dice(seed ^ 0x5eed)
  const weights = { ...WEIGHTS, ...favours } as typeof WEIGHTS
  return Array.from({ length: steps }, () => ({ kind: dice.weighted(weights), seed: dice.seed() }))
}

export function isAction(kind: string): kind is ActionKind {
  return kind in WEIGHTS
}

export async function act(world: World, { kind, seed }: Action): Promise<void> {
  const dice = new Dice(seed)
  switch (kind) {
    case 'advance':
      world.life.clock.advance(dice.pick([1, 50, 200, 1000, 1000, 3000, 10_000]))
      return
    case 'jump':
      jump(world, dice)
      return
    case 'release':
      world.life.transport.release(dice.between(1, 4))
      return
    case 'burst':
      burst(world, dice)
      return
    case 'fault':
      fault(world, dice)
      if (dice.chance(0.7)) {
        command(world, dice.pick(['rush', 'rush', 'contest', 'archive']), dice)
        burst(world, dice)
      }
      return
    case 'heal':
      return world.heal()
    case 'crash':
      return world.crash()
    case 'crash_midway':
      // Housekeeping takes longer than a command.
      if (dice.chance(0.3)) command(world, 'archive', dice)
      burst(world, dice)
      for (let turns = dice.int(dice.pick([6, 6, 40])); turns > 0; turns--) await turn()
      return world.crash()
    case 'inspect':
      return inspect(world, dice)
    case 'export':
      return exportRun(world, dice)
    case 'prove':
      return prove(world, dice)
    case 'restart':
      return world.restart()
    default:
      command(world, kind, dice)
  }
}

/**
 * The wall clock steps. Ahead, and enough time passes for the runtime to notice; or back, which it never follows
 * (W-CLOCK-03).
 */
function jump(world: World, dice: Dice): void {
  const { clock } = world.life
  const step = dice.pick([2000, 30_000, 30_000, 600_000, -5, -2000, -60_000, dice.chance(0.3) ? 86_400_000 : 500])
  clock.set((clock.now() + step * 1000) as Ticks)
  if (step > 0) clock.advance(ALARM_LOOKS)
}

/** Several commands at once. */
function burst(world: World, dice: Dice): void {
  for (let count = dice.between(2, 6); count > 0; count--) command(world, dice.weighted(commands), dice)
}

/** What storage can do to us, each with its chance; several may come together. */
const faults: Readonly<Record<string, readonly [number, (disks: Disks, dice: Dice) => void]>> = {
  sync: [0.5, ({ trail }, dice) => trail.fail('sync', some(dice))],
  write: [0.4, ({ trail }, dice) => trail.fail('write', some(dice))],
  open: [0.15, ({ trail }, dice) => trail.fail('open', { after: dice.int(2), times: 2 })],
  remove: [0.1, ({ trail }, dice) => trail.fail('remove', some(dice))],
  disk_full: [
    0.1,
    ({ trail }) => {
      trail.capacity = 1000
    },
  ],
  blob_sync: [0.1, ({ blobs }) => blobs.fail('sync', { times: 2 })],
  index_commit: [
    0.25,
    ({ index }, dice) => {
      for (let times = dice.between(1, 4); times > 0; times--) index.fail(dice.pick(['undone', 'refused']))
    },
  ],
  index_full: [0.15, ({ index }) => index.fill()],
}

function some(dice: Dice): { after: number; times: number } {
  return { after: dice.pick([0, 0, 1, 3]), times: dice.between(1, 6) }
}

function fault(world: World, dice: Dice): void {
  world.watch.troubled = true
  for (const [name, [chance, inject]] of Object.entries(faults)) {
    if (!dice.chance(chance)) continue
    inject(world.disks, dice)
    world.watch.statistics.fault(name)
  }
}
