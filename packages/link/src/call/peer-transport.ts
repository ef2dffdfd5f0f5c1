// The call protocol with a peer that connected to us: who it is, and whether it is anybody, is asked anew for
// everything that goes to and fro, so that an edit of the peer list applies at once (ALP-PEER-06).
import type { DuplexTransport, Receiver, Transport } from '@parley/call'
import type { Principal } from '@parley/core'

export interface PeerView {
  /** Whether it is still pinned. */
  pinned(): boolean
  /** Who it is to operations. */
  principal(): Principal | undefined
}

export class PeerTransport implements Transport {
  readonly #inner: DuplexTransport
  readonly #view: PeerView

  constructor(inner: DuplexTransport, view: PeerView) {
    this.#inner = inner
    this.#view = view
  }

  get kind(): string {
    return this.#inner.kind
  }

  get identity(): Principal | undefined {
    return this.#view.principal()
  }

  get maxBody(): number {
    return this.#inner.maxBody
  }

  get queued(): number {
    return this.#inner.queued
  }

  start(receiver: Receiver): void {
    this.#inner.start({
      envelope: envelope => {
        if (this.#stillPinned()) receiver.envelope(envelope)
      },
      crowded: () => receiver.crowded?.() ?? false,
      violation: violation => receiver.violation(violation),
      drain: () => receiver.drain(),
      closed: reason => receiver.closed(reason),
    })
  }

  /** Also of a subscription that began before: nothing goes to a stranger. */
  send(text: string): void {
    if (this.#stillPinned()) this.#inner.send(text)
  }

  close(reason?: string): void {
    this.#inner.close(reason)
  }

  /** Who was unpinned is a stranger, and gets what strangers get. */
  #stillPinned(): boolean {
    if (this.#view.pinned()) return true
    this.close('the peer is not pinned any more')
    return false
  }
}
