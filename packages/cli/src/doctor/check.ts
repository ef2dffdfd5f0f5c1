// What a check of `parley doctor` says, and what it may ask of the machine. Every question goes through `Probes`, so
// that each trouble can be shown in a test.
import type { MachineFault } from '@parley/core'

export const CHECK_STATES = ['ok', 'warning', 'problem'] as const
export type CheckState = (typeof CHECK_STATES)[number]

export interface Finding {
  readonly check: string
  readonly state: CheckState
  readonly text: string
  /** How to mend it; there for everything that is not ok. */
  readonly remedy?: string
}

export interface FileFacts {
  readonly folder: boolean
  /** Of what a link leads to. */
  readonly mode: number
  readonly owner: number
  /** Milliseconds since the Unix epoch. */
  readonly changed: number
  /** The number of the device that it is on, links followed. */
  readonly device?: number
}

export interface Probes {
  readonly platform: NodeJS.Platform
  readonly runtime: string
  /** Of this user; undefined where users have no numbers. */
  readonly user: number | undefined
  /** What a program printed; undefined where it is not there or fails. */
  output(program: string, ...args: readonly string[]): Promise<string | undefined>
  /** Undefined where there is nothing. */
  file(path: string): FileFacts | undefined
  text(path: string): string | undefined
  writable(path: string): boolean
  /** What a real write to a folder says of the machine; rights may look well on a disk that takes nothing. */
  writeFault(folder: string): MachineFault | undefined
  /** Folders right below one. */
  folders(path: string): readonly string[]
  /** Bytes that are free on the disk of a folder that exists. */
  freeBytes(folder: string): number | undefined
  /** Inodes that are free there, and all of them; undefined where the disk does not count them. */
  inodes(folder: string): { readonly free: number; readonly all: number } | undefined
  /** Processes that carry the marker of a turn of the node at this socket. */
  turns(socket: string): readonly number[]
}

export function ok(check: string, text: string): Finding {
  return { check, state: 'ok', text }
}

export function warning(check: string, text: string, remedy: string): Finding {
  return { check, state: 'warning', text, remedy }
}

export function problem(check: string, text: string, remedy: string): Finding {
  return { check, state: 'problem', text, remedy }
}
