// What a node and the process that starts its programs say to each other.
import type { CollectedEnd, CollectedProgram } from './collected.ts'

export interface StartedProgram {
  readonly command: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Standard input; empty by default. */
  readonly input?: string | undefined
}

export type Exit = readonly [code: number | null, signal: NodeJS.Signals | null]

export type StartError = Pick<NodeJS.ErrnoException, 'code' | 'errno' | 'syscall' | 'message'>

export type Question =
  | { readonly id: number; readonly collect: CollectedProgram }
  | { readonly id: number; readonly start: StartedProgram }
  | { readonly id: number; readonly release: true }

/** A collected program has one answer. A started one: `error`; or `pid`, then its output and `exit`, then `closed`. */
export type Answer =
  | { readonly id: number; readonly end: CollectedEnd }
  | { readonly id: number; readonly error: StartError }
  | { readonly id: number; readonly pid: number }
  | { readonly id: number; readonly stdout: Uint8Array }
  | { readonly id: number; readonly stderr: Uint8Array }
  | { readonly id: number; readonly exit: Exit }
  | { readonly id: number; readonly closed: true }
