// A machine for `parley doctor`, on which everything is well unless a test says otherwise, and a node that has nothing
// to say.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { CallError } from '@parley/call'
import { NODE_VERSION } from '@parley/node'
import { afterEach, beforeEach, expect } from 'vitest'
import type { Table } from '../command.ts'
import { doctorWith } from '../commands/node/doctor.ts'
import type { FileFacts, Finding, Probes } from '../doctor/check.ts'
import type { NodeStatus } from '../node/views.ts'
import { type Answering, type Brought, fakeNode } from './fake-node.ts'
import { parley, type Surroundings } from './parley.ts'

export const own: FileFacts = { folder: true, mode: 0o700, owner: 1000, changed: 0 }
export const well: Probes = {
  platform: 'linux',
  runtime: 'v24.21.0',
  user: 1000,
  output: async () => 'git version 2.39.5',
  file: () => undefined,
  text: path =>
    path === '/proc/self/limits'
      ? 'Max open files            4096                 4096                 files'
      : path.includes('inotify')
        ? '128\n'
        : undefined,
  writable: () => true,
  writeFault: () => undefined,
  folders: () => [],
  freeBytes: () => 50 * 1024 ** 3,
  inodes: () => ({ free: 1_000_000, all: 2_000_000 }),
  turns: () => [],
}

export const noNode = () => {
  throw new CallError('node_not_running', 'No node is running.')
}

/** The command alone, on a machine of the test's own. */
export function doctorTable(probes: Probes): Table {
  const doctor = ['doctor', 'Check', async () => ({ default: doctorWith(probes) })] as const
  return { sections: [], commands: [doctor], groups: [], alone: doctor }
}

/** All checks, in a home of its own, on a machine that is well but for what a test brings. */
export async function examined(home: string, probes: Partial<Probes> = {}, around: Surroundings = {}) {
  const ran = await parley(['doctor', '--json'], {
    cwd: home,
    env: { HOME: home, PARLEY_HOME: join(home, '.parley'), PATH: '' },
    node: noNode,
    ...around,
    table: doctorTable({ ...well, ...probes }),
  })
  const { checks, problems, warnings } = JSON.parse(ran.out) as {
    checks: Finding[]
    problems: number
    warnings: number
  }
  const bad = checks.filter(({ state }) => state !== 'ok').map(({ check, state }) => `${state}: ${check}`)
  for (const { state, remedy } of checks) if (state !== 'ok') expect(remedy).toBeTruthy()
  return { code: ran.code, checks, bad, problems, warnings }
}

/** A home of its own for each test of a file, and the checks there. */
export function doctorHome() {
  let home = ''
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'parley-doctor-'))
  })
  afterEach(() => rmSync(home, { recursive: true, force: true }))
  const doctor = (probes: Partial<Probes> = {}, around: Surroundings = {}) => examined(home, probes, around)
  return {
    home: () => home,
    doctor,
    finding: async (name: string, probes?: Partial<Probes>, around?: Surroundings) =>
      (await doctor(probes, around)).checks.find(({ check }) => check === name),
    /** A file of the profile; its path. */
    write(file: string, text: string | Uint8Array, mode = 0o600): string {
      const path = join(home, '.parley', 'default', file)
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, text, { mode })
      return path
    },
  }
}

/** A node with this status and a sound record. */
export const nodeWith = (more: object = {}, brought: Brought = {}) =>
  fakeNode({ '/node/status': { ...status, ...more }, '/trail/verify': sound, ...brought })

export const status = {
  version: NODE_VERSION,
  pid: 7,
  runs: { working: 1, waiting: 0, for_peers: 0 },
  storage: { working: null, faults: [] },
  damage: [],
} as unknown as NodeStatus
export const sound: Answering<'/trail/verify'> = async () => ({
  sound: true,
  runs: [],
  unreadable: [],
  unreadable_total: 0,
})

/** A profile that was used has its key. */
export const KEY: FileFacts = { ...own, folder: false, mode: 0o600 }
/** Files on devices, by how their paths end. */
export const on = (devices: Readonly<Record<string, number>>) => ({
  file: (path: string) => {
    if (path.endsWith('alp_key.pem')) return KEY
    const name = Object.keys(devices).find(each => path.endsWith(each))
    return name === undefined ? undefined : { ...own, folder: name === 'trail', mode: 0o600, device: devices[name]! }
  },
})
