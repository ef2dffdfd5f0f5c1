// Envelopes of registered blocks, read from the library at their position; the last ones asked for stay in memory.
import type { KbEnvelope } from '@alx/protocol'
import { invariant, type Library } from '@parley/core'
import type { Block } from './blocks.ts'
import { kbLimits } from './limits.ts'
import { blockBodyOf, envelopeOf } from './records.ts'

export class Envelopes {
  readonly #library: Library
  readonly #limit: number
  /** As JSON, whose size is known and which nobody can change, in the order in which they were last asked for. */
  readonly #recent = new Map<string, string>()
  #characters = 0

  constructor(library: Library, limit: number = kbLimits.cachedCharacters) {
    this.#library = library
    this.#limit = limit
  }

  /** Throws what reading the library throws. */
  async envelope(block: Pick<Block, 'kbHash' | 'at'>): Promise<KbEnvelope> {
    const { kbHash } = block
    const known = this.#recent.get(kbHash)
    if (known !== undefined) {
      this.#recent.delete(kbHash)
      this.#recent.set(kbHash, known)
      return JSON.parse(known) as KbEnvelope
    }
    const envelope = await this.#read(block)
    this.#keep(kbHash, JSON.stringify(envelope))
    return envelope
  }

  async #read({ kbHash, at }: Pick<Block, 'kbHash' | 'at'>): Promise<KbEnvelope> {
    for await (const record of this.#library.read({ after: at - 1 })) {
      const body = blockBodyOf(record)
      const envelope = body && envelopeOf(body)
      invariant(record.at === at && body?.kbHash === kbHash && envelope, 'a block is where its record was')
      return envelope
    }
    invariant(false, 'a record of the library stays')
  }

  #keep(kbHash: string, text: string): void {
    if (text.length > this.#limit || this.#recent.has(kbHash)) return
    this.#recent.set(kbHash, text)
    this.#characters += text.length
    for (const [oldest, { length }] of this.#recent) {
      if (this.#characters <= this.#limit) return
      this.#recent.delete(oldest)
      this.#characters -= length
    }
  }
}
