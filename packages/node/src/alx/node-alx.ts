// ALX of a node: nothing of it is loaded before somebody asks. Where the HTTP surface is open that is at once, so that
// runs which a crash cut off are followed again.
import type { AlxServer, Knowledge } from '@parley/alx'
import { asParleyError } from '@parley/core'
import type { HttpMount } from '../http/mount.ts'
import type { AlxParts, OpenAlx } from './open-alx.ts'

export interface AlxCounts {
  readonly blocks: number
  readonly sessions: number
}

export class NodeAlx {
  readonly #parts: AlxParts
  #opening: Promise<OpenAlx> | undefined
  #open: OpenAlx | undefined

  constructor(parts: AlxParts) {
    this.#parts = parts
  }

  /** Rejects where the library cannot be read; the next one who asks tries again. */
  async knowledge(): Promise<Knowledge> {
    return (await this.#opened()).knowledge
  }

  /** With the sessions of earlier nodes. */
  async server(): Promise<AlxServer> {
    const { server } = await this.#opened()
    await server.open()
    return server
  }

  /** What the HTTP surface serves; nothing, and the reason in the log, where ALX cannot be opened. */
  async mounts(): Promise<readonly HttpMount[]> {
    try {
      return [(await this.#opened()).mount]
    } catch (cause) {
      const { code, message } = asParleyError(cause)
      this.#parts.log.error(`ALX is not served: ${message} Everything else goes on.`, { code, cause })
      return []
    }
  }

  /** Follows runs that an earlier node left, and does what a crash cut off behind their end. */
  resume(): void {
    this.server().catch(cause => this.#parts.log.warn('the sessions of ALX could not be read yet', { cause }))
  }

  /** Undefined while nobody has asked for it. */
  counts(): AlxCounts | undefined {
    const open = this.#open
    return open && { blocks: open.knowledge.count, sessions: open.server.sessions.count }
  }

  async close(): Promise<void> {
    await (await this.#opening?.catch(() => undefined))?.close()
  }

  #opened(): Promise<OpenAlx> {
    this.#opening ??= import('./open-alx.ts')
      .then(({ openAlx }) => openAlx(this.#parts))
      .then(open => {
        this.#open = open
        return open
      })
      .catch((cause: unknown) => {
        this.#opening = undefined
        throw cause
      })
    return this.#opening
  }
}
