// Envelopes of registered blocks, read from the library at their position; the last ones asked for stay in memory.
import type { KbEnvelope } from '@alx/protocol'
import { invariant, type Library } from '@parley/core'
import type { Block } from './blocks.ts'
import { kbLimits } from './limits.ts'
import { type BlockBody, blockBodyOf } from './records.ts'

export class Envelopes {
  readonly #library: Library
  readonly #limit: number
  /** In the order in which they were last asked for. */
  readonly #recent = new Map<string, string>()
  #characters = 0

  constructor(library: Library, limit: number = kbLimits.cachedCharacters) {
    this.#library = library
    this.#limit = limit
  }

  /** The canonical text. Throws what reading the library throws. */
  async text(block: Pick<Block, 'kbHash' | 'at'>): Promise<string> {
    const { kbHash } = block
    const known = this.#recent.get(kbHash)
    if (known !== undefined) {
      this.#recent.delete(kbHash)
      this.#recent.set(kbHash, known)
      return known
    }
    const { text } = await this.#read(block)
    this.#keep(kbHash, text)
    return text
  }

  async envelope(block: Pick<Block, 'kbHash' | 'at'>): Promise<KbEnvelope> {
    return JSON.parse(await this.text(block)) as KbEnvelope
  }

  async #read({ kbHash, at }: Pick<Block, 'kbHash' | 'at'>): Promise<BlockBody> {
    for await (const record of this.#library.read({ after: at - 1 })) {
      const body = blockBodyOf(record)
      invariant(record.at === at && body?.kbHash === kbHash, 'a block is where its record was')
      return body
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
