// How deliveries travel to their receivers: in one process a call; tests and remote hosts bring their own.
import type { EnvelopeId, SignalId, WorkspaceId } from '@parley/core'
import type { EnvelopeRecord } from '../../envelope/envelope.ts'

export type Delivery =
  | {
      readonly kind: 'envelope'
      readonly id: EnvelopeId
      readonly from: WorkspaceId
      readonly to: WorkspaceId
      readonly envelope: EnvelopeRecord | undefined
      /** Under `zero-trust` instead of `envelope`: sealed for its channel, and handed in as it is on arrival. */
      readonly sealed?: string
    }
  | { readonly kind: 'signal'; readonly id: SignalId; readonly from: WorkspaceId; readonly to: WorkspaceId }

export interface Transport {
  /**
   * Carries one delivery. `arrive` places it at the receiver and may be called late, twice or never; it resolves once
   * the arrival is on record, and rejects if it could not be recorded. A transport that carries the envelope itself
   * hands in what arrived, which is checked against the proof on record; without it the record is checked. The promise
   * returned resolves when the runtime may count the delivery as confirmed; one that never resolves or rejects makes
   * the runtime try again at the times of W-ENV-14.
   */
  carry(delivery: Delivery, arrive: (arrived?: unknown) => Promise<void>): Promise<void>
  /** Whether signals travel this way too; otherwise the runtime delivers them itself, together with their emission. */
  readonly signals?: boolean
  /** W-SEC-16: it never leaves the process, or both ends are authenticated and all is encrypted. */
  readonly protection?: 'in-process' | 'mutual-tls'
}

export const directTransport: Transport = {
  carry: (_delivery, arrive) => arrive(),
  protection: 'in-process',
}
