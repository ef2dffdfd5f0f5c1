// Writing a run as one file (format.ts): a stream of buffers, a part in memory at a time.
import { createHash, hash } from 'node:crypto'
import { promisify } from 'node:util'
import { zstdCompress } from 'node:zlib'
import { canonicalize, type Timestamp } from '@parley/core'
import { type ContentCipher, damagedContent, openObject, proofOf, unwrapProven } from '../content/cipher.ts'
import type { StoredObject, StoredRecord } from '../entry.ts'
import { damagedError } from '../errors.ts'
import type { TrailKey } from '../keys/trail-key.ts'
import { trailLimits } from '../limits.ts'
import { packRecords, recordBound } from '../log/record.ts'
import type { Signer } from '../signing.ts'
import type { RunHead, TrailStore, TrailTiers } from '../store/store.ts'
import {
  type Bridges,
  EXPORT_FORMAT,
  type ExportContent,
  type ExportEnd,
  type ExportHeader,
  type ExportSeal,
  FIRST_LINE,
  PART,
  type PartKind,
  sealedHash,
  writePartHeader,
} from './format.ts'

const compress = promisify(zstdCompress)

interface ExportSource {
  readonly replay: TrailStore['replay']
  readonly tiers: Pick<TrailTiers, 'manifests'>
}

interface ExportOptions {
  readonly head: RunHead
  readonly at: Timestamp
  /** Every key that may have signed the run or seals the file. */
  readonly keys: readonly TrailKey[]
  /** Seals the file; without one nothing vouches for content, head and keys. */
  readonly signer: Signer | undefined
  readonly content: ExportContent
  readonly cipher?: ContentCipher | undefined
}

/** Throws `trail_damaged` where the run cannot be read whole: nothing is exported as sound that is not. */
export async function* exportRun(source: ExportSource, options: ExportOptions): AsyncGenerator<Buffer> {
  const { head, at, keys, signer, content } = options
  const digest = createHash('sha256')
  const passed = (bytes: Buffer): Buffer => {
    digest.update(bytes)
    return bytes
  }
  const header: ExportHeader = {
    format: EXPORT_FORMAT,
    run: head.run,
    head: { seq: head.seq, hash: head.hash },
    content,
    exported_at: at,
    keys: [...keys],
  }
  yield passed(FIRST_LINE)
  yield passed(await part(PART.header, Buffer.from(canonicalize(header))))
  const records = new Records(source, options)
  for await (const bytes of records.parts()) yield passed(bytes)
  yield passed(await part(PART.end, Buffer.from(canonicalize(records.end))))
  const sum = digest.digest('hex')
  const seal: ExportSeal = {
    digest: sum,
    signer: signer?.id ?? null,
    signature: signer?.sign(sealedHash(sum)) ?? null,
  }
  // As it is: nothing covers the bytes of the seal but what it says.
  yield framed(PART.seal, false, Buffer.from(canonicalize(seal)))
}

async function part(kind: PartKind, content: Buffer): Promise<Buffer> {
  return framed(kind, true, content, await compress(content))
}

function framed(kind: PartKind, compressed: boolean, content: Buffer, stored: Buffer = content): Buffer {
  const frame = { kind, compressed, length: content.length, stored: stored.length }
  return Buffer.concat([writePartHeader({ ...frame, digest: hash('sha256', content, 'hex') }), stored])
}

class Records {
  readonly #source: ExportSource
  readonly #options: ExportOptions
  #waiting: StoredRecord[] = []
  #bytes = 0
  #seq = 0
  #counts = { bridged: 0, objects: 0, bytes: 0, left_out: { objects: 0, bytes: 0 } }

  constructor(source: ExportSource, options: ExportOptions) {
    this.#source = source
    this.#options = options
  }

  get end(): ExportEnd {
    return { entries: this.#seq, ...this.#counts }
  }

  async *parts(): AsyncGenerator<Buffer> {
    const { head } = this.#options
    for await (const record of this.#source.replay(head.run)) {
      if (record.seq > head.seq) break
      // An object stands before its entry, and so behind whatever is gone before that.
      if (record.seq > this.#seq + 1) yield* this.#bridge(record.seq)
      if (record.kind === 'object') {
        if (!this.#take(record)) continue
      } else {
        this.#seq = record.seq
        this.#add(record)
      }
      if (this.#bytes >= trailLimits.exportChunkBytes) yield await this.#flush()
      if (this.#seq >= head.seq) break
    }
    // What ends with entries that are gone has nothing behind them.
    if (this.#seq < head.seq) yield* this.#bridge(head.seq + 1)
    if (this.#waiting.length > 0) yield await this.#flush()
  }

  /** False for an object that is left out. */
  #take(object: StoredObject): boolean {
    if (object.lost !== undefined && this.#options.content !== 'none') {
      const { run } = this.#options.head
      const message = `${run}: the content of ${object.id} is gone, so the run cannot be exported with its content: ${object.lost}`
      throw damagedError(message, { run, object: object.id })
    }
    const { content, cipher } = this.#options
    const bytes = Buffer.byteLength(unwrapProven(object).data)
    if (content === 'none') {
      this.#counts.left_out.objects++
      this.#counts.left_out.bytes += bytes
      return false
    }
    // A proof is good for this profile alone: it is checked, and stays here.
    if (proofOf(object, cipher) === 'forged') throw damagedContent(object)
    const { blob: _blob, ...whole } = content === 'opened' ? openObject(object, cipher) : unwrapProven(object)
    this.#counts.objects++
    this.#counts.bytes += Buffer.byteLength(whole.data)
    this.#add(whole)
    return true
  }

  #add(record: StoredRecord): void {
    this.#waiting.push(record)
    this.#bytes += record.kind === 'entry' ? record.view.length : record.data.length
  }

  async #flush(): Promise<Buffer> {
    const packed = packRecords(this.#waiting, boundOf)
    this.#waiting = []
    this.#bytes = 0
    return part(PART.records, packed)
  }

  /** Goes over entries that retention has deleted, by the manifests of their archives (W-TRAIL-29). */
  async *#bridge(until: number): AsyncGenerator<Buffer> {
    if (this.#waiting.length > 0) yield await this.#flush()
    const gone = new Map<number, Bridges[number]>()
    for (const { deleted, entries } of await this.#source.tiers.manifests(this.#options.head.run))
      if (deleted) for (const { at: _at, length: _length, ...entry } of entries) gone.set(entry.seq, entry)
    let bridges: Bridges = []
    while (this.#seq + 1 < until) {
      const entry = gone.get(this.#seq + 1)
      if (!entry) {
        const { run } = this.#options.head
        const message = `${run}: entry ${this.#seq + 1} is missing, so the run cannot be exported. Verify it.`
        throw damagedError(message, { run, seq: this.#seq + 1 })
      }
      bridges.push(entry)
      this.#seq++
      this.#counts.bridged++
      if (bridges.length >= trailLimits.exportBridges) {
        yield await part(PART.bridges, Buffer.from(canonicalize(bridges)))
        bridges = []
      }
    }
    if (bridges.length > 0) yield await part(PART.bridges, Buffer.from(canonicalize(bridges)))
  }
}

/** An object may be large: what it takes is counted, not estimated. */
function boundOf(record: StoredRecord): number {
  return record.kind === 'entry'
    ? recordBound(record)
    : recordBound({ ...record, data: '' }) + Buffer.byteLength(record.data)
}
