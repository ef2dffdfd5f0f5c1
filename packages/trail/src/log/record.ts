// The binary form of one record inside a frame. An entry's `view` bytes are the preimage of its hash, so that
// verifying needs no re-encoding.
//
//   entry:  u8 kind 1 · u8 run length · u8 signer length (0: unsigned) · u8 0 · u32 view length · u32 seq
//           run · 32 bytes hash · [64 bytes signature · signer] · view
//   object: u8 kind 2 · u8 run length · u8 id length · u8 kind length · u32 data length · u32 seq
//           run · id · kind · data        (kind 3: the SHA-256 of a blob instead of the data)
//   hole:   u8 kind 4 · zeros · u32 length of the zeros behind the header: what moved to an archive
import type { ObjectId, RunId } from '@parley/core'
import type { StoredEntry, StoredObject, StoredRecord } from '../entry.ts'

const RECORD_HEADER = 12
const HASH_BYTES = 32
const SIGNATURE_BYTES = 64
export const KIND_ENTRY = 1
export const KIND_OBJECT = 2
export const KIND_BLOB = 3
export const KIND_HOLE = 4

/** An upper bound of the bytes that a record takes, without encoding it. */
export function recordBound(record: StoredRecord): number {
  if (record.kind === 'entry') {
    return RECORD_HEADER + 64 + HASH_BYTES + SIGNATURE_BYTES + 255 + record.view.length * 3
  }
  return RECORD_HEADER + 64 * 3 + (record.blob ?? record.data).length * 3
}

/** Writes a record at `at` and returns the offset behind it. */
export function writeRecord(target: Buffer, at: number, record: StoredRecord): number {
  const run = target.write(record.run, at + RECORD_HEADER, 'latin1')
  let offset = at + RECORD_HEADER + run
  target[at + 1] = run
  target.writeUInt32LE(record.seq, at + 8)
  if (record.kind === 'entry') {
    target[at] = KIND_ENTRY
    target[at + 2] = 0
    target[at + 3] = 0
    offset += target.write(record.hash, offset, 'hex')
    if (record.signature !== undefined && record.signer !== undefined) {
      offset += target.write(record.signature, offset, 'hex')
      target[at + 2] = target.write(record.signer, offset, 'latin1')
      offset += record.signer.length
    }
    const length = target.write(record.view, offset, 'utf8')
    target.writeUInt32LE(length, at + 4)
    return offset + length
  }
  target[at] = record.blob === undefined ? KIND_OBJECT : KIND_BLOB
  target[at + 2] = target.write(record.id, offset, 'latin1')
  offset += record.id.length
  target[at + 3] = target.write(record.objectKind, offset, 'latin1')
  offset += record.objectKind.length
  const length = target.write(record.blob ?? record.data, offset, 'utf8')
  target.writeUInt32LE(length, at + 4)
  return offset + length
}

/** Where the parts of a record lie in its buffer; nothing is copied or decoded. */
export interface RecordSpan {
  readonly kind: number
  readonly seq: number
  readonly start: number
  readonly end: number
  /** Offset of the hash (entry) or of the object's id. */
  readonly middle: number
  /** Offset of the view or the data. */
  readonly payload: number
}

/** Reads a record's layout at `at`, or undefined when it does not fit below `limit` or its kind is unknown. */
export function spanRecord(source: Buffer, at: number, limit: number): RecordSpan | undefined {
  if (at + RECORD_HEADER > limit) return undefined
  const kind = source[at]!
  const runLength = source[at + 1]!
  const third = source[at + 2]!
  const length = source.readUInt32LE(at + 4)
  const middle = at + RECORD_HEADER + runLength
  let payload = middle
  if (kind === KIND_ENTRY) payload += HASH_BYTES + (third === 0 ? 0 : SIGNATURE_BYTES + third)
  else if (kind === KIND_OBJECT || kind === KIND_BLOB) payload += third + source[at + 3]!
  else if (kind !== KIND_HOLE) return undefined
  const end = payload + length
  if (end > limit) return undefined
  return { kind, seq: source.readUInt32LE(at + 8), start: at, end, middle, payload }
}

export function recordRun(source: Buffer, span: RecordSpan): RunId {
  return source.toString('latin1', span.start + RECORD_HEADER, span.middle) as RunId
}

export function recordHash(source: Buffer, span: RecordSpan): string {
  return source.toString('hex', span.middle, span.middle + HASH_BYTES)
}

export function readEntry(source: Buffer, span: RecordSpan): StoredEntry {
  const base = {
    kind: 'entry' as const,
    run: recordRun(source, span),
    seq: span.seq,
    view: source.toString('utf8', span.payload, span.end),
    hash: recordHash(source, span),
  }
  const signerLength = source[span.start + 2]!
  if (signerLength === 0) return base
  const signature = span.middle + HASH_BYTES
  return {
    ...base,
    signature: source.toString('hex', signature, signature + SIGNATURE_BYTES),
    signer: source.toString('latin1', signature + SIGNATURE_BYTES, signature + SIGNATURE_BYTES + signerLength),
  }
}

export function readObject(source: Buffer, span: RecordSpan): StoredObject {
  const idEnd = span.middle + source[span.start + 2]!
  const base = {
    kind: 'object' as const,
    run: recordRun(source, span),
    seq: span.seq,
    id: source.toString('latin1', span.middle, idEnd) as ObjectId,
    objectKind: source.toString('latin1', idEnd, span.payload),
  }
  const data = source.toString('utf8', span.payload, span.end)
  return span.kind === KIND_BLOB ? { ...base, data: '', blob: data } : { ...base, data }
}

export function readRecord(source: Buffer, span: RecordSpan): StoredRecord {
  return span.kind === KIND_ENTRY ? readEntry(source, span) : readObject(source, span)
}

/** Wipes a record in place; offsets behind it stay as they are. */
export function blankRecord(target: Buffer, span: RecordSpan): void {
  target.fill(0, span.start, span.end)
  target[span.start] = KIND_HOLE
  target.writeUInt32LE(span.end - span.start - RECORD_HEADER, span.start + 4)
}

/** Records one behind the other. */
export function packRecords(records: readonly StoredRecord[], bound = recordBound): Buffer {
  const target = Buffer.allocUnsafe(records.reduce((sum, record) => sum + bound(record), 0))
  let length = 0
  for (const record of records) length = writeRecord(target, length, record)
  return target.subarray(0, length)
}
