// Stands between a run and the store of a signed trail: batches are signed here, a few at once in place, many on the
// signer's thread, and go on to the store in their order. It keeps the contract of `TrailStore.append`, except that
// what the store refuses at once is answered through `settle`.
import { ParleyError, type RunId } from '@parley/core'
import type { StoredRecord } from './entry.ts'
import { trailLimits } from './limits.ts'
import type { Settle } from './log/group.ts'
import type { Signer } from './signing.ts'
import type { TrailStore } from './store/store.ts'

/** Up to so many signatures are made in place: waking another thread takes as long. */
const IN_PLACE = 8
/** Entries sent to the thread at once: half of what waits, so that callers of one half continue during the other. */
const LEAST_AT_ONCE = 64
const MOST_AT_ONCE = 512
/** Groups at the thread: while one comes back the next is being signed. */
const GROUPS = 2
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

interface Flight {
  readonly group: readonly Waiting[]
  readonly entries: number
  readonly signatures: string[] | Promise<string[]>
}

export class SigningStage {
  readonly #store: TrailStore
  #signer: Signer
  #queue: Waiting[] = []
  readonly #flights: Flight[] = []
  #entries = 0
  #running: Promise<void> | undefined
  /** Batches that the store has and has not answered. */
  #stored = 0
  #answered: PromiseWithResolvers<void> | undefined
  /** While a signer is being replaced, what comes waits. */
  #held = false
  #replacing: Promise<unknown> = Promise.resolve()
  /** Nobody knows with which key to go on. */
  #broken: ParleyError | undefined

  constructor(store: TrailStore, signer: Signer) {
    this.#store = store
    this.#signer = signer
  }

  append(records: readonly StoredRecord[], settle: Settle): ParleyError | undefined {
    const [first] = records
    if (this.#broken) return this.#broken
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

  async drain(): Promise<void> {
    await this.#replacing
    await this.#running
  }

  /**
   * Continues with another signer. `change` makes it last while nothing is signed and all that the old one signed is
   * settled; new batches wait. If it fails the old signer stays, except after `keys_uncertain`, which ends all signing.
   */
  replace(change: (old: Signer) => Promise<Signer>): Promise<void> {
    const replaced = this.#replacing.then(() => this.#replace(change))
    this.#replacing = replaced.catch(() => undefined)
    return replaced
  }

  async #replace(change: (old: Signer) => Promise<Signer>): Promise<void> {
    this.#held = true
    try {
      await this.#running
      if (this.#stored > 0) {
        this.#answered = Promise.withResolvers()
        await this.#answered.promise
      }
      const old = this.#signer
      this.#signer = await change(old)
      old.close?.()
    } catch (cause) {
      if (cause instanceof ParleyError && cause.code === 'keys_uncertain') this.#broken = cause
      throw cause
    } finally {
      this.#held = false
      if (this.#broken) this.#giveUp(this.#broken)
      else if (this.#queue.length > 0) this.#running ??= Promise.resolve().then(() => this.#run())
    }
  }

  #giveUp(error: ParleyError): void {
    for (const each of this.#queue.splice(0)) {
      this.#entries -= each.entries
      this.#settle(each, error)
    }
  }

  async #run(): Promise<void> {
    for (;;) {
      while (!this.#held && this.#flights.length < GROUPS && this.#queue.length > 0) this.#flights.push(this.#take())
      const [flight] = this.#flights
      if (!flight) break
      try {
        const { signatures } = flight
        this.#forward(flight.group, signatures instanceof Promise ? await signatures : signatures)
      } catch (cause) {
        this.#refuse(flight.group, cause)
      }
      // Only now: a batch that the store refuses takes along those behind it in the same group.
      this.#flights.shift()
      this.#entries -= flight.entries
    }
    this.#running = undefined
  }

  #take(): Flight {
    let waiting = 0
    for (const each of this.#queue) waiting += each.entries
    const most = Math.min(Math.max(LEAST_AT_ONCE, waiting / 2), MOST_AT_ONCE)
    let count = 0
    let entries = 0
    while (count < this.#queue.length && (count === 0 || entries < most)) entries += this.#queue[count++]!.entries
    const group = this.#queue.splice(0, count)
    let signatures: Flight['signatures']
    try {
      signatures = this.#signatures(group, entries)
    } catch (cause) {
      signatures = Promise.reject(cause)
    }
    // `#run` awaits it later and handles the failure.
    if (signatures instanceof Promise) signatures.catch(() => undefined)
    return { group, entries, signatures }
  }

  /** W-TRAIL-15: without its key a run that signs takes nothing. */
  #refuse(group: readonly Waiting[], cause: unknown): void {
    const message = 'The entries could not be signed; nothing was recorded.'
    const error = new ParleyError('signing_failed', message, { retryable: true, cause })
    for (const each of group) this.#settle(each, error)
  }

  #signatures(group: readonly Waiting[], count: number): string[] | Promise<string[]> {
    const hashes: string[] = []
    for (const { records } of group) for (const record of records) if (record.kind === 'entry') hashes.push(record.hash)
    const alone = this.#flights.length === 0 && count <= IN_PLACE
    if (!this.#signer.signMany || alone) return hashes.map(hash => this.#signer.sign(hash))
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
      this.#stored++
      const refused = this.#store.append(signed, error => this.#stores(waiting, error))
      if (refused) this.#stores(waiting, refused)
    }
  }

  #stores(waiting: Waiting, error?: ParleyError): void {
    this.#stored--
    this.#settle(waiting, error)
    if (this.#stored === 0) this.#answered?.resolve()
  }

  /** A failure takes along what stands behind it for the same run, before anything new can be appended to it. */
  #settle(waiting: Waiting, error?: ParleyError): void {
    if (waiting.failed) return
    waiting.failed = error !== undefined
    waiting.settle(error)
    if (!error) return
    for (const each of [...this.#flights.flatMap(({ group }) => group), ...this.#queue]) {
      if (each.run !== waiting.run || each.failed || each.passed) continue
      each.failed = true
      each.settle(error)
    }
  }
}
