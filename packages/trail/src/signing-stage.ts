// What stands between a run and the store where a trail signs: batches get their signatures here, a few at once in place, many on the
// signer's thread, and go on to the store in the order in which they came. It keeps the contract of `TrailStore.append`, except that
// what the store refuses at once is answered through `settle`.
import { ParleyError, type RunId } from '@parley/core'
import type { StoredRecord } from './entry.ts'
import { trailLimits } from './limits.ts'
import type { Settle } from './log/group.ts'
import type { Signer } from './signing.ts'
import type { TrailStore } from './store/store.ts'

/** Up to so many signatures are made in place: waking another thread takes as long. */
const IN_PLACE = 8
const HASH_BYTES = 32
const SIGNATURE_BYTES = 64

interface Waiting {
  readonly run: RunId
  readonly records: readonly StoredRecord[]
  readonly entries: number
  readonly settle: Settle
  /** With the store, or answered. */
  passed: boolean
  failed: boolean
}

export class SigningStage {
  readonly #store: TrailStore
  readonly #signer: Signer
  #queue: Waiting[] = []
  /** What is being signed. */
  #signing: readonly Waiting[] = []
  #entries = 0
  #running: Promise<void> | undefined

  constructor(store: TrailStore, signer: Signer) {
    this.#store = store
    this.#signer = signer
  }

  append(records: readonly StoredRecord[], settle: Settle): ParleyError | undefined {
    const [first] = records
    if (!first) return this.#store.append(records, settle)
    let entries = 0
    for (const record of records) if (record.kind === 'entry') entries++
    if (this.#entries > 0 && this.#entries + entries > trailLimits.unsignedEntries)
      return new ParleyError('trail_busy', 'Too much is waiting to be signed; try again in a moment.', {
        retryable: true,
      })
    this.#queue.push({ run: first.run, records, entries, settle, passed: false, failed: false })
    this.#entries += entries
    // Callers that were answered together go on one after the other before this runs, and so are signed together.
    this.#running ??= Promise.resolve().then(() => this.#run())
    return undefined
  }

  /** Resolves when everything that was taken is with the store. */
  async drain(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const group = this.#queue
      this.#queue = []
      this.#signing = group
      const count = group.reduce((sum, { entries }) => sum + entries, 0)
      try {
        const signatures = this.#signatures(group, count)
        this.#forward(group, signatures instanceof Promise ? await signatures : signatures)
      } catch (cause) {
        // W-TRAIL-15: without its key a run that signs takes nothing.
        const error = new ParleyError(
          'signing_failed',
          'The entries could not be signed; nothing was recorded.',
          {
            retryable: true,
            cause,
          },
        )
        for (const each of group) this.#settle(each, error)
      }
      this.#entries -= count
    }
    this.#running = undefined
  }

  /** In hexadecimal, in the order of the entries. */
  #signatures(group: readonly Waiting[], count: number): string[] | Promise<string[]> {
    const hashes: string[] = []
    for (const { records } of group)
      for (const record of records) if (record.kind === 'entry') hashes.push(record.hash)
    if (!this.#signer.signMany || count <= IN_PLACE) return hashes.map(hash => this.#signer.sign(hash))
    const bytes = Buffer.allocUnsafeSlow(count * HASH_BYTES)
    for (const [index, hash] of hashes.entries()) bytes.write(hash, index * HASH_BYTES, 'hex')
    return this.#signer.signMany(bytes).then(made => {
      const signatures = Buffer.from(made.buffer, made.byteOffset, made.byteLength)
      return hashes.map((_, index) =>
        signatures.toString('hex', index * SIGNATURE_BYTES, (index + 1) * SIGNATURE_BYTES),
      )
    })
  }

  #forward(group: readonly Waiting[], signatures: readonly string[]): void {
    const signer = this.#signer.id
    let next = 0
    for (const waiting of group) {
      const signed = waiting.records.map(record =>
        record.kind === 'entry' ? { ...record, signature: signatures[next++]!, signer } : record,
      )
      // A batch behind one that failed builds on it.
      if (waiting.failed) continue
      waiting.passed = true
      const refused = this.#store.append(signed, error => this.#settle(waiting, error))
      if (refused) this.#settle(waiting, refused)
    }
  }

  /** A failure takes along what stands behind it for the same run, before anything new can be appended to it. */
  #settle(waiting: Waiting, error?: ParleyError): void {
    if (waiting.failed) return
    waiting.failed = error !== undefined
    waiting.settle(error)
    if (!error) return
    for (const each of [...this.#signing, ...this.#queue]) {
      if (each.run !== waiting.run || each.failed || each.passed) continue
      each.failed = true
      each.settle(error)
    }
  }
}
