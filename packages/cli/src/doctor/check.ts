// What a check of `parley doctor` reports, and what it asks of the machine: only `Probes`, which tests can fake.
import type { MachineFault } from '@parley/core'

export type CheckState = 'ok' | 'warning' | 'problem'

export interface Finding {
  readonly check: string
  readonly state: CheckState
  readonly text: string
  /** How to fix it; set unless the state is ok. */
  readonly remedy?: string
}

export interface FileFacts {
  readonly folder: boolean
  /** Of the target of a link. */
  readonly mode: number
  readonly owner: number
  /** Milliseconds since the Unix epoch. */
  readonly changed: number
  /** Of the target of a link. */
  readonly device?: number
}

export interface Probes {
  readonly platform: NodeJS.Platform
  readonly runtime: string
  /** Undefined on systems without numeric users. */
  readonly user: number | undefined
  /** Standard output; undefined if the program is missing or fails. */
  output(program: string, ...args: readonly string[]): Promise<string | undefined>
  file(path: string): FileFacts | undefined
  text(path: string): string | undefined
  writable(path: string): boolean
  /** Of a real write: permissions may look fine on a disk that accepts no data. */
  writeFault(folder: string): MachineFault | undefined
  /** Full paths of the folders in a folder. */
  folders(path: string): readonly string[]
  freeBytes(folder: string): number | undefined
  /** Undefined if the file system does not count them. */
  inodes(folder: string): { readonly free: number; readonly all: number } | undefined
  /** Processes of turns of the node at this socket. */
  turns(socket: string): readonly number[]
}

/** How a change of the configuration reaches a running node. */
export const RESTART = 'When its runs can pause: parley down, then parley up.'

export function ok(check: string, text: string): Finding {
  return { check, state: 'ok', text }
}

export function warning(check: string, text: string, remedy: string): Finding {
  return { check, state: 'warning', text, remedy }
}

export function problem(check: string, text: string, remedy: string): Finding {
  return { check, state: 'problem', text, remedy }
}
