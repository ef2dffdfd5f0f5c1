// What the parts of the server share.
import type { Capability, HashFn, ProtocolInfo } from '@alx/protocol'
import { type Clock, formatTimestamp, type IdSource, type Library, type Principal, type RunPort } from '@parley/core'
import type { ArtifactSelector, KnowledgeService, PlanExecutor } from '../ports.ts'
import type { Runs } from '../run/runs.ts'
import type { SessionIndex } from '../session/session-index.ts'
import { millis } from '../session/session-state.ts'
import type { AlxSettings } from '../settings.ts'

export type Log = (level: 'debug' | 'info' | 'warn' | 'error', message: string, facts?: object) => void

export interface AlxServerOptions {
  readonly runs: RunPort
  readonly library: Library
  readonly selector: ArtifactSelector
  readonly executor: PlanExecutor
  readonly knowledge: KnowledgeService
  /** The server itself: sees all runs of origin `alx`, starts none. */
  readonly self: Principal
  readonly log: Log
  readonly clock?: Clock
  readonly ids?: IdSource
  readonly hash?: HashFn
  readonly settings?: Partial<AlxSettings>
  /** What is switched on; all but signed requests by default. */
  readonly capabilities?: readonly Capability[]
}

export interface Host extends Required<Omit<AlxServerOptions, 'hash' | 'runs' | 'settings'>> {
  readonly port: RunPort
  readonly runs: Runs
  readonly index: SessionIndex
  readonly settings: AlxSettings
  readonly protocol: ProtocolInfo
  /** The moment as ALX writes it. */
  now(): string
}

/** Who asks. */
export interface Caller {
  readonly principal: Principal
  /** Authentication is switched off for development: everybody sees everything (ALX-HTTP-04). */
  readonly development: boolean
  readonly correlationId: string
}

export function mayRead({ principal, development }: Caller, userId: string): boolean {
  return development || principal.id === userId
}

export function isoOf(clock: Clock): string {
  return millis(formatTimestamp(clock.now()))
}
