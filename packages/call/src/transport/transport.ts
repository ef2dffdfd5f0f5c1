// The contract of a transport (CALL-TRANS-01): carries envelopes of one link, not calls. Its suite is compliance.ts.
import type { Principal } from '@parley/core'
import type { Envelope, ProtocolViolation } from '../wire/envelope.ts'

/** One of the streams of a link that has several; the transport's own number for it. */
export type StreamId = number

/** What a link does with what its transport brings. A transport calls these one at a time, in the order of arrival. */
export interface Receiver {
  /** A carrier of objects brings an `UnfitPayload` where a payload is not JSON. `stream`: where there are several. */
  envelope(envelope: Envelope, stream?: StreamId): void
  /** Whether a consumer has no room left since this was asked last: it must have its turn before more is delivered. */
  crowded?(): boolean
  /** The peer sent what cannot be understood. The transport then closes itself, or the stream where it has several. */
  violation(violation: ProtocolViolation): void
  /** One of several streams is gone; the link stays (CALL-WIRE-05, CALL-PEND-07). */
  streamClosed?(stream: StreamId): void
  /** There was no room to send, and now there is. */
  drain(): void
  /** Nothing is sent or received any more. Called once, whichever side closed. */
  closed(reason: string): void
}

export interface Transport {
  /** For people and logs: `unix`, `tcp`, `tls`, `websocket`, `port`, `stdio`, `noise`. */
  readonly kind: string
  readonly identity: Principal | undefined
  /** Bytes of the largest body that may be sent. */
  readonly maxBody: number
  /** Bytes that are queued and not yet with the operating system. */
  readonly queued: number
  /** Called once, before anything is delivered. */
  start(receiver: Receiver): void
  /** The stream for a new request. A transport without this has a single stream for everything. */
  openStream?(): StreamId
  /**
   * Sends one envelope, given as its JSON text: an answer on the stream of its request, and what has no stream on any
   * that is open. What is sent after closing is dropped. Never throws.
   */
  send(text: string, stream?: StreamId): void
  /** Closes both directions; what was sent before still goes out where the carrier allows it. Safe to repeat. */
  close(reason?: string): void
}
