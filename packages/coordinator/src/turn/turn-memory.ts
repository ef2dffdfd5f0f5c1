// What a workspace remembers from one turn to the next, under one key of its working memory.
import type { EnvelopeId } from '@parley/core'
import type { ToldRecord } from './told.ts'

export const TURN_MEMORY = 'turn'

export interface TurnMemory {
  readonly epoch: number
  readonly handled: readonly EnvelopeId[]
  /** What the turn that begins is told. */
  readonly told?: ToldRecord
  /** What the last turn waits for. */
  readonly question?: string
  /** What the agent of the last turn can go on with, if it is still the same agent. */
  readonly session?: { readonly agent: string; readonly id: string }
  /** Turns in a row that changed nothing and that no person started. */
  readonly idle?: number
}
