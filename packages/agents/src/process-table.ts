// The machine's processes with the turn that each belongs to: from /proc on Linux, from `ps` on macOS. Elsewhere the
// table is empty, and only what an adapter started itself can be ended.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { sharing } from '@parley/core'
import { agentDefaults, agentLimits } from './limits.ts'

/** The variable that every process of a turn has in its environment: `<run>/<workspace>/<epoch>`. */
export const TURN_MARKER = 'PARLEY_TURN'

export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** Not known on macOS, nor is the next. */
  readonly session?: number
  /** When it was started, in ticks since the machine was: with the number, it tells a process from a later one. */
  readonly started?: number
  readonly marker?: string
}

/** Live processes at a moment after the call. */
export const readProcesses: () => Promise<readonly ProcessEntry[]> = sharing<void, readonly ProcessEntry[]>(readNow)

async function readNow(): Promise<readonly ProcessEntry[]> {
  if (process.platform === 'linux') return readProc()
  if (process.platform === 'darwin') return parsePs(await runPs())
  return []
}

async function readProc(): Promise<readonly ProcessEntry[]> {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  const entries: ProcessEntry[] = []
  for (const [index, pid] of pids.entries()) {
    // Small files that are never on a disk: reading them here is far cheaper than in the thread pool.
    if (index % agentLimits.processesPerSlice === 0) await new Promise(setImmediate)
    const stat = tryRead(`/proc/${pid}/stat`)
    const entry = stat === undefined ? undefined : parseStat(stat)
    if (entry === undefined) continue
    const marker = variableOf(tryRead(`/proc/${pid}/environ`), TURN_MARKER)
    entries.push(marker === undefined ? entry : { ...entry, marker })
  }
  return entries
}

/** Processes go at any moment, and others' environments are closed to us. */
export function tryRead(path: string): string | undefined {
  try {
    // What is no UTF-8 is nothing that is looked for, and Node reads such a text in one call.
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Fields 9 and 22 of proc(5), counted from the state, which is the third. */
const FLAGS = 9 - 3
const STARTED = 22 - 3
const KERNEL_THREAD = 0x00200000

/** `pid (name) state ppid pgrp session …`; the name may have anything in it, brackets too. */
export function parseStat(text: string): ProcessEntry | undefined {
  const pid = Number.parseInt(text, 10)
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parent, group, session] = fields
  // Dead, and only waiting for their parent to ask.
  if (state === 'Z' || state === 'X') return undefined
  // It belongs to nobody's turn, and on a quiet machine most are of this kind.
  if ((Number(fields[FLAGS]) & KERNEL_THREAD) !== 0) return undefined
  const started = Number(fields[STARTED])
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), started }
}

/** A variable in an environment as the kernel shows it: `NAME=value` with a NUL byte behind each. */
export function variableOf(environment: string | undefined, variable: string): string | undefined {
  if (environment === undefined) return undefined
  const name = `\0${variable}=`
  const text = `\0${environment}`
  const at = text.indexOf(name)
  if (at < 0) return undefined
  const end = text.indexOf('\0', at + name.length)
  return text.slice(at + name.length, end < 0 ? text.length : end)
}

function runPs(): Promise<string> {
  const args = ['-Eww', '-axo', 'pid=,ppid=,pgid=,stat=,command=']
  const options = { maxBuffer: agentLimits.processTableBytes, timeout: agentDefaults.processTableMs }
  return new Promise((resolve, reject) => {
    execFile('/bin/ps', args, options, (error, stdout) => (error ? reject(error) : resolve(stdout)))
  })
}

/** With -E the environment follows the command, on the same line. */
export function parsePs(text: string): readonly ProcessEntry[] {
  const entries: ProcessEntry[] = []
  for (const line of text.split('\n')) {
    const fields = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s(.*)$/.exec(line)
    if (fields === null || fields[4]!.startsWith('Z')) continue
    const [, pid, parent, group] = fields.map(Number)
    const marker = new RegExp(`(?:^|\\s)${TURN_MARKER}=(\\S+)`).exec(fields[5]!)?.[1]
    const entry = { pid: pid!, parent: parent!, group: group! }
    entries.push(marker === undefined ? entry : { ...entry, marker })
  }
  return entries
}
