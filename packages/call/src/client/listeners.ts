// Listeners for one-way events (CALL-WIRE-06) that outlive the link that they listen to.
import type { Link } from '../link/link.ts'
import type { EventListener } from '../link/link-options.ts'

interface Heard {
  readonly type: string
  readonly listener: EventListener
  /** Ends it on the link of this moment. */
  off: (() => void) | undefined
}

export class Listeners {
  readonly #heard = new Set<Heard>()

  attach(link: Link): void {
    for (const heard of this.#heard) heard.off = link.on(heard.type, heard.listener)
  }

  add(link: Link | undefined, type: string, listener: EventListener): () => void {
    const heard: Heard = { type, listener, off: link?.on(type, listener) }
    this.#heard.add(heard)
    return () => {
      this.#heard.delete(heard)
      heard.off?.()
    }
  }
}
