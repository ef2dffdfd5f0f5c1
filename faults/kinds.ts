// The kinds of fault: one line of the table for each, with what it needs, what it does, and how it ends. A fault lasts between `inject` and
// `heal`; afterwards the machine is as before, and the node must go on by itself.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import type { Dice } from '../sim/random.ts'
import type { Operation, Rule, SystemError } from './control.ts'
import { faultLimits, faultTimes } from './limits.ts'
import { Finding, pause } from './waiting.ts'
import type { World } from './world.ts'

export type Need = 'shim' | 'mount' | 'prlimit'

export interface Injected {
  /** What was done, with its parameters. */
  readonly what: string
  heal(): Promise<void>
}

export interface Kind {
  readonly needs: readonly Need[]
  /** Work may fail by it for good, with a reason on record: the machine has lied to the agent or to git, not only to the node. */
  readonly spoils?: boolean
  inject(world: World, dice: Dice): Promise<Injected>
}

/** Files of a profile that single faults are about, as patterns of the shim. */
const TARGETS = {
  index: ['/default/trail.index.db'],
  log: ['/default/trail/*.seg$'],
  heads: ['/default/trail/heads/'],
  keys: ['/default/trail/keys.json', '/default/alp/secrets/'],
  states: ['/default/states/'],
  archives: ['/default/trail/runs/', '/default/trail/cold/'],
  storage: ['/default/trail/imports/', '/default/trail/snapshots/', '/default/blobs/'],
  ledger: ['/default/logs/ledger.json'],
  'node-log': ['/default/logs/node.log'],
  'run-folders': ['/default/runs/'],
} as const
export type Target = keyof typeof TARGETS

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

async function started(world: World): Promise<void> {
  if (world.client) return
  const refused = await world.start()
  if (refused) throw new Finding(`the node does not start again: ${refused.code}: ${refused.message}`)
}

const kill: Kind = {
  needs: [],
  async inject(world) {
    await world.kill()
    return { what: 'kill -9', heal: () => started(world) }
  },
}

/** Killed, and again in the middle of the next start. */
const killStart: Kind = {
  needs: [],
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
        await started(world)
      },
    }
  },
}

const stop: Kind = {
  needs: [],
  async inject(world) {
    const { pid } = world
    process.kill(pid, 'SIGSTOP')
    return { what: 'SIGSTOP', heal: async () => void process.kill(pid, 'SIGCONT') }
  },
}

function clock(sign: 1 | -1): Kind {
  return {
    needs: ['shim'],
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

const diskFull: Kind = {
  needs: ['mount'],
  async inject({ disk }, dice) {
    const left = dice.chance(0.5) ? 0 : dice.int(faultLimits.leftBytes)
    disk.fill(left)
    return { what: `the disk has ${left} bytes left`, heal: async () => disk.free() }
  },
}

const inodes: Kind = {
  needs: ['mount'],
  async inject({ disk }) {
    disk.exhaustInodes()
    return { what: 'the disk has no inodes left', heal: async () => disk.free() }
  },
}

/** The node is down when `on` happens and is started while it lasts: it may refuse, with a reason; not hang or crash. */
function whileStarting(
  what: string,
  needs: readonly Need[],
  on: (world: World, dice: Dice) => () => void,
): Kind {
  return {
    needs,
    async inject(world, dice) {
      await world.kill()
      const off = on(world, dice)
      const refused = await world.start()
      return {
        what: `${what} at the start: ${refused ? refusalOf(world, refused.message) : 'it starts'}`,
        async heal() {
          off()
          await started(world)
        },
      }
    },
  }
}

/** The exit code and reason of a node that refused to start; one that died without either is a finding. */
function refusalOf(world: World, message: string): string {
  const code = /It ended with (?:code (\d+)|a signal)/.exec(message)?.[1]
  const last = world.log(3).join(' | ')
  if (code === undefined) throw new Finding(`a start neither succeeded nor was refused: ${message}`)
  if (code === '70') throw new Finding(`a start ended as a defect: ${last}`)
  return `refused with ${code}`
}

/** Linux does not remount a file system read-only while files on it are open for writing: so calls fail as they would then. */
const readOnly: Kind = {
  needs: ['shim'],
  async inject(world) {
    world.control.set([{ operations: CHANGES, path: `${world.home}/`, error: 'EROFS' }])
    return healed(world, 'the disk is read-only')
  },
}

/** A real limit of the process: no more files than it has open. */
const openFiles: Kind = {
  needs: ['prlimit'],
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
  const injected: { what: string; heal(): Promise<void> } = {
    what,
    async heal() {
      control.clear()
      injected.what = `${what} (${control.hits} calls)`
    },
  }
  return injected
}

function rulesFor(target: Target, error: SystemError, dice: Dice): { rules: Rule[]; what: string } {
  const operations = dice.pick(error === 'EIO' ? [...SHAPES, ...READING] : SHAPES)
  const times = dice.chance(0.5) ? dice.between(1, 4) : undefined
  const rules = TARGETS[target].map(path => ({
    operations,
    path,
    error,
    ...(times !== undefined && { times }),
  }))
  const often = times === undefined ? 'every' : `${times}`
  return { rules, what: `${error} of ${target}: ${often} ${operations.join(', ')}` }
}

function single(error: SystemError, target: Target): Kind {
  return {
    needs: ['shim'],
    ...(target === 'run-folders' && { spoils: true }),
    async inject(world, dice) {
      const { rules, what } = rulesFor(target, error, dice)
      world.control.set(rules)
      return healed(world, what)
    },
  }
}

const targets = Object.keys(TARGETS) as Target[]

export const KINDS: Readonly<Record<string, Kind>> = {
  kill,
  'kill-start': killStart,
  stop,
  'clock-forward': clock(1),
  'clock-back': clock(-1),
  'disk-full': diskFull,
  inodes,
  'read-only': readOnly,
  'open-files': openFiles,
  'start-disk-full': whileStarting('a full disk', ['mount'], ({ disk }, dice) => {
    disk.fill(dice.int(faultLimits.leftBytes))
    return () => disk.free()
  }),
  'start-read-only': whileStarting('a read-only disk', ['mount'], ({ disk }) => {
    disk.remount('ro')
    return () => disk.remount('rw')
  }),
  'start-eio': whileStarting('failing files', ['shim'], (world, dice) => {
    world.control.set(rulesFor(dice.pick(targets), 'EIO', dice).rules)
    return () => world.control.clear()
  }),
  ...Object.fromEntries(targets.map(target => [`eio-${target}`, single('EIO', target)])),
  ...Object.fromEntries(targets.map(target => [`enospc-${target}`, single('ENOSPC', target)])),
}

/** The kinds that can be had in this world, of those that are wanted. */
export function kindsFor(world: World, wanted: readonly string[] = Object.keys(KINDS)): readonly string[] {
  const has: Readonly<Record<Need, boolean>> = {
    shim: world.shim,
    mount: world.disk.mounted,
    prlimit: spawnSync('prlimit', ['--version']).status === 0,
  }
  const unknown = wanted.find(name => KINDS[name] === undefined)
  if (unknown !== undefined)
    throw new RangeError(`there is no fault '${unknown}'; there are: ${Object.keys(KINDS).join(', ')}`)
  return wanted.filter(name => KINDS[name]!.needs.every(need => has[need]))
}
