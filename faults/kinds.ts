// The kinds of fault: one line of the table for each, with what it needs, what it does, and how it ends. A fault lasts
// between `inject` and `heal`; afterwards the machine is as before, and the node must go on by itself.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import type { Dice } from '../sim/random.ts'
import { ACTS, type ActName } from './acts.ts'
import type { Operation, Rule, SystemError } from './control.ts'
import { faultLimits, faultTimes } from './limits.ts'
import { pause } from './waiting.ts'
import type { World } from './world.ts'

/** `disk`: a real one that can be made full, or the shim, which lets calls fail as they would then. */
export type Need = 'shim' | 'disk' | 'prlimit'

export interface Injected {
  /** What was done, with its parameters. */
  readonly what: string
  /** Whether anything has met it yet; a fault that nothing meets is none. Without it: by its nature. */
  readonly met?: () => boolean
  heal(): Promise<void>
}

export interface Kind {
  readonly needs: readonly Need[]
  /**
   * Work may fail by it for good, with a reason on record: the machine has lied to the agent or to git, not only to the
   * node.
   */
  readonly spoils?: boolean
  /** Acts that meet it, one of which is done; any by default. */
  readonly during?: readonly ActName[]
  inject(world: World, dice: Dice): Promise<Injected>
}

interface Target {
  /** Patterns of the shim. */
  readonly files: readonly string[]
  /** Acts that touch these files, where ordinary work does so too rarely. */
  readonly during?: readonly ActName[]
}

/** Files of a profile that single faults are about. */
const TARGETS = {
  index: { files: ['/default/trail.index.db'] },
  log: { files: ['/default/trail/*.seg$'] },
  heads: { files: ['/default/trail/heads/'], during: ['restart', 'compact'] },
  keys: {
    files: ['/default/trail/keys.json', '/default/alp/secrets/'],
    during: ['rotate', 'rotate', 'restart'],
  },
  states: { files: ['/default/states/'], during: ['restart'] },
  archives: {
    files: ['/default/trail/runs/', '/default/trail/cold/'],
    during: ['compact', 'export', 'restore'],
  },
  storage: {
    files: ['/default/trail/imports/', '/default/trail/snapshots/', '/default/blobs/'],
    during: ['import', 'snapshot'],
  },
  ledger: { files: ['/default/logs/ledger.json'] },
  'node-log': { files: ['/default/logs/node.log'], during: ['restart', 'rotate'] },
  'run-folders': { files: ['/default/runs/'] },
} as const satisfies Readonly<Record<string, Target>>
type TargetName = keyof typeof TARGETS

/** What can be done to a node while its process stays the same. */
const WITHOUT_RESTART = (Object.keys(ACTS) as ActName[]).filter(name => name !== 'restart')

const CHANGES: readonly Operation[] = ['create', 'write', 'sync', 'truncate', 'rename', 'unlink', 'mkdir']
/** Which calls fail together. */
const SHAPES: readonly (readonly Operation[])[] = [
  ['write'],
  ['write', 'torn'],
  ['sync'],
  ['create', 'mkdir'],
  ['rename', 'unlink', 'truncate'],
  CHANGES,
]
/** A disk that fails reads as well; a full one does not. */
const READING: readonly (readonly Operation[])[] = [['read'], ['open'], ['open', 'read', ...CHANGES]]

const kill: Kind = {
  needs: [],
  during: WITHOUT_RESTART,
  async inject(world) {
    await world.kill()
    return { what: 'kill -9', heal: () => world.started() }
  },
}

/** Killed, and again in the middle of the next start. */
const killStart: Kind = {
  needs: [],
  during: WITHOUT_RESTART,
  async inject(world, dice) {
    await world.kill()
    const after = dice.between(50, 900)
    const starting = world.startAside()
    await pause(after)
    for (const pid of world.processes()) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {}
    }
    return {
      what: `kill -9, and again ${after} ms into the start`,
      async heal() {
        const refused = await starting
        if (!refused) world.forget()
        await world.started()
      },
    }
  },
}

const stop: Kind = {
  needs: [],
  during: WITHOUT_RESTART,
  async inject(world) {
    const { pid } = world
    process.kill(pid, 'SIGSTOP')
    return { what: 'SIGSTOP', heal: async () => void process.kill(pid, 'SIGCONT') }
  },
}

function clock(sign: 1 | -1): Kind {
  return {
    needs: ['shim'],
    during: WITHOUT_RESTART,
    async inject(world, dice) {
      // From a second to days, each magnitude as likely as the other.
      const milliseconds = Math.round(1000 * (faultTimes.step / 1000) ** dice.next())
      world.control.clockMs = sign * milliseconds
      return {
        what: `the wall clock steps by ${sign * milliseconds} ms, and back`,
        async heal() {
          world.control.clockMs = 0
        },
      }
    },
  }
}

/** Something that fails from now on, and how it ends. */
interface Failing {
  readonly what: string
  readonly met?: () => boolean
  readonly off: () => void
}

/**
 * A whole disk that refuses something: the real one, or where none could be mounted, every call that it would refuse.
 */
function failingDisk(
  { disk, control, home }: World,
  what: string,
  real: readonly [on: () => void, off: () => void],
  operations: readonly Operation[],
  error: SystemError,
): Failing {
  const [on, off] = real
  if (disk.mounted) {
    on()
    return { what, off }
  }
  control.set([{ operations, path: `${home}/`, error }])
  return { what, met: () => control.hits > 0, off: () => control.clear() }
}

function full(world: World, dice: Dice): Failing {
  const { disk } = world
  const left = dice.chance(0.5) ? 0 : dice.int(faultLimits.leftBytes)
  const real = [() => disk.fill(left), () => disk.free()] as const
  return failingDisk(world, `the disk has ${left} bytes left`, real, ['write', 'create', 'mkdir'], 'ENOSPC')
}

function withoutInodes(world: World): Failing {
  const { disk } = world
  const real = [() => disk.exhaustInodes(), () => disk.free()] as const
  return failingDisk(world, 'the disk has no inodes left', real, ['create', 'mkdir'], 'ENOSPC')
}

/** Only while no node runs: Linux does not remount a file system read-only while files on it are open for writing. */
function readOnlyDisk(world: World): Failing {
  const { disk } = world
  const real = [() => disk.remount('ro'), () => disk.remount('rw')] as const
  return failingDisk(world, 'the disk is read-only', real, CHANGES, 'EROFS')
}

function ofDisk(fail: (world: World, dice: Dice) => Failing): Kind {
  return {
    needs: ['disk'],
    async inject(world, dice) {
      const { off, ...failing } = fail(world, dice)
      return { ...failing, heal: async () => off() }
    },
  }
}

/**
 * The node is down when it begins to fail and is started while it lasts: it may refuse, with a reason; not hang or
 * crash.
 */
function whileStarting(needs: readonly Need[], fail: (world: World, dice: Dice) => Failing, spoils = false): Kind {
  return {
    needs,
    during: WITHOUT_RESTART,
    ...(spoils && { spoils }),
    async inject(world, dice) {
      await world.kill()
      const { what, met, off } = fail(world, dice)
      const refused = await world.start()
      return {
        what: `${what} at the start: ${refused ? world.refusal(refused) : 'it starts'}`,
        ...(met && { met }),
        async heal() {
          off()
          await world.started()
        },
      }
    },
  }
}

/** Under a node that runs: calls on any file of its home fail as they would then. */
function everywhere(what: string, operations: readonly Operation[], error: SystemError): Kind {
  return {
    needs: ['shim'],
    async inject(world) {
      world.control.set([{ operations, path: `${world.home}/`, error }])
      return healed(world, what)
    },
  }
}

/** A real limit of the process: no more files than it has open. */
const openFiles: Kind = {
  needs: ['prlimit'],
  during: WITHOUT_RESTART,
  async inject({ pid }) {
    const limit = (soft: number | string) =>
      spawnSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:`], { encoding: 'utf8' })
    const before = spawnSync('prlimit', ['--pid', String(pid), '--nofile', '--output=SOFT', '--noheadings'], {
      encoding: 'utf8',
    }).stdout.trim()
    const open = readdirSync(`/proc/${pid}/fd`).length
    limit(open)
    return {
      what: `no more than ${open} open files`,
      async heal() {
        limit(before)
      },
    }
  },
}

function healed({ control }: World, what: string): Injected {
  const injected: { what: string; met(): boolean; heal(): Promise<void> } = {
    what,
    met: () => control.hits > 0,
    async heal() {
      control.clear()
      injected.what = `${what} (${control.hits} calls)`
    },
  }
  return injected
}

function rulesFor(target: TargetName, error: SystemError, dice: Dice): { rules: Rule[]; what: string } {
  const operations = dice.pick(error === 'EIO' ? [...SHAPES, ...READING] : SHAPES)
  const times = dice.chance(0.5) ? dice.between(1, 4) : undefined
  const rules = TARGETS[target].files.map(path => ({
    operations,
    path,
    error,
    ...(times !== undefined && { times }),
  }))
  const often = times === undefined ? 'every' : `${times}`
  return { rules, what: `${error} of ${target}: ${often} ${operations.join(', ')}` }
}

function single(error: SystemError, target: TargetName): Kind {
  const { during }: Target = TARGETS[target]
  return {
    needs: ['shim'],
    // A full disk is over sooner or later, and the work waits for that; who says what a failing one has done?
    ...(error === 'EIO' && (target === 'run-folders' || target === 'ledger') && { spoils: true }),
    ...(during && { during }),
    async inject(world, dice) {
      const { rules, what } = rulesFor(target, error, dice)
      world.control.set(rules)
      return healed(world, what)
    },
  }
}

const targets = Object.keys(TARGETS) as TargetName[]

export const KINDS: Readonly<Record<string, Kind>> = {
  kill,
  'kill-start': killStart,
  stop,
  'clock-forward': clock(1),
  'clock-back': clock(-1),
  'disk-full': ofDisk(full),
  inodes: ofDisk(withoutInodes),
  'read-only': everywhere('the disk is read-only', CHANGES, 'EROFS'),
  quota: everywhere('the quota is used up', ['write', 'create', 'mkdir'], 'EDQUOT'),
  memory: everywhere('no memory is left for files', ['write', 'create', 'mkdir', 'rename'], 'ENOMEM'),
  'open-files': openFiles,
  'start-disk-full': whileStarting(['disk'], full),
  'start-read-only': whileStarting(['disk'], readOnlyDisk),
  'start-eio': whileStarting(
    ['shim'],
    ({ control }, dice) => {
      const { rules, what } = rulesFor(dice.pick(targets), 'EIO', dice)
      control.set(rules)
      return { what, met: () => control.hits > 0, off: () => control.clear() }
    },
    true,
  ),
  ...Object.fromEntries(targets.map(target => [`eio-${target}`, single('EIO', target)])),
  ...Object.fromEntries(targets.map(target => [`enospc-${target}`, single('ENOSPC', target)])),
}

/** The kinds that can be had in this world, of those that are wanted. */
export function kindsFor(world: World, wanted: readonly string[] = Object.keys(KINDS)): readonly string[] {
  const has: Readonly<Record<Need, boolean>> = {
    shim: world.shim,
    disk: world.disk.mounted || world.shim,
    prlimit: spawnSync('prlimit', ['--version']).status === 0,
  }
  const unknown = wanted.find(name => KINDS[name] === undefined)
  if (unknown !== undefined)
    throw new RangeError(`there is no fault '${unknown}'; there are: ${Object.keys(KINDS).join(', ')}`)
  return wanted.filter(name => KINDS[name]!.needs.every(need => has[need]))
}
