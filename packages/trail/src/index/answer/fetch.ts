// Reading the records that rows point to: neighbours in one read, every record checked before anyone sees it.
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { ObjectId, RunId } from '@parley/core'
import type { StoredRecord } from '../../entry.ts'
import { KIND_ENTRY, type RecordSpan, readRecord, recordHash, recordRun, spanRecord } from '../../log/record.ts'
import type { LogReader } from '../contract.ts'
import { IndexFault } from '../fault.ts'
import { indexLimits } from '../limits.ts'
import type { Place } from '../rows.ts'

/** A record as the rows describe it: an entry by its `seq`, an object by its id and checksum. */
export interface Wanted extends Place {
  readonly seq: number
  readonly id?: ObjectId
  readonly crc?: number
}

/** Where records are read from: a segment (above 0) or an archive (below 0). */
export type RecordSource = Pick<LogReader, 'read'>

interface Fetched {
  /** The records one behind the other, in the order wanted, in a buffer of their own. */
  readonly bytes: Buffer
  readonly spans: readonly RecordSpan[]
  /** Archives that could not be read; their records are left out. */
  readonly unreadable: readonly number[]
}

/** Reads records of one run. Throws `trail_damaged` when one is not what it was when it was written. */
export function fetchRecords(reader: RecordSource, run: RunId, wanted: readonly Wanted[]): Fetched {
  const { bytes, unreadable } = readAll(reader, run, wanted)
  if (unreadable.size > 0) {
    const rest = fetchRecords(
      reader,
      run,
      wanted.filter(each => !unreadable.has(each.file)),
    )
    return { ...rest, unreadable: [...unreadable, ...rest.unreadable] }
  }
  const spans: RecordSpan[] = []
  let at = 0
  for (const each of wanted) {
    spans.push(check(bytes, at, run, each))
    at += each.length
  }
  return { bytes, spans, unreadable: [] }
}

/** The same where a hole cannot be shown in the answer. */
export function fetchWhole(reader: RecordSource, run: RunId, wanted: readonly Wanted[]): Fetched {
  const fetched = fetchRecords(reader, run, wanted)
  if (fetched.unreadable.length > 0) throw unreadableArchives(run, fetched.unreadable)
  return fetched
}

export function unreadableArchives(run: RunId, files: readonly number[]): IndexFault {
  const names = files.map(file => -file).join(', ')
  return new IndexFault('archive_unreadable', `Entries of run ${run} lie in archives that cannot be read: ${names}.`, {
    retryable: true,
    details: { run, archives: files },
  })
}

export function unpackRecords(packed: Uint8Array): StoredRecord[] {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const records: StoredRecord[] = []
  for (let at = 0; at < bytes.length; ) {
    const span = spanRecord(bytes, at, bytes.length)!
    records.push(readRecord(bytes, span))
    at = span.end
  }
  return records
}

function readAll(
  reader: RecordSource,
  run: RunId,
  wanted: readonly Wanted[],
): { bytes: Buffer; unreadable: Set<number> } {
  const offsets: number[] = []
  let total = 0
  for (const each of wanted) {
    offsets.push(total)
    total += each.length
  }
  // Not from the shared pool: the buffer may be handed to another thread.
  const bytes = Buffer.allocUnsafeSlow(total)
  const unreadable = new Set<number>()
  const order = inFileOrder(wanted)
  for (let first = 0; first < order.length; ) {
    const { file, at } = wanted[order[first]!]!
    let end = at
    let behind = first
    for (; behind < order.length; behind++) {
      const next = wanted[order[behind]!]!
      const reach = next.at + next.length
      if (next.file !== file || next.at > end + indexLimits.gapBytes) break
      if (behind > first && reach - at > indexLimits.readBytes) break
      end = Math.max(end, reach)
    }
    const source = readRange(reader, file, at, end - at)
    for (; first < behind; first++) {
      const each = wanted[order[first]!]!
      const from = each.at - at
      if (from + each.length <= source.length) source.copy(bytes, offsets[order[first]!]!, from, from + each.length)
      else if (file < 0) unreadable.add(file)
      else throw damaged(run, each, 'is not there any more')
    }
  }
  return { bytes, unreadable }
}

/** Indexes of the places, so that those of one file stand together and ascend. */
function inFileOrder(wanted: readonly Wanted[]): number[] {
  const order = wanted.map((_, index) => index)
  const compare = (a: Place, b: Place) => a.file - b.file || a.at - b.at
  if (wanted.every((each, index) => index === 0 || compare(wanted[index - 1]!, each) <= 0)) return order
  return order.sort((a, b) => compare(wanted[a]!, wanted[b]!))
}

function readRange(reader: RecordSource, file: number, at: number, length: number): Buffer {
  if (file > 0) return reader.read(file, at, length)
  try {
    return reader.read(file, at, length)
  } catch {
    return Buffer.alloc(0)
  }
}

function check(bytes: Buffer, at: number, run: RunId, wanted: Wanted): RecordSpan {
  const end = at + wanted.length
  const span = spanRecord(bytes, at, end)
  if (span?.end !== end || span.seq !== wanted.seq || recordRun(bytes, span) !== run) {
    throw damaged(run, wanted, 'is not where it was written')
  }
  const sound =
    wanted.id === undefined
      ? span.kind === KIND_ENTRY && hash('sha256', bytes.subarray(span.payload, end), 'hex') === recordHash(bytes, span)
      : span.kind !== KIND_ENTRY && crc32(bytes.subarray(at, end)) === wanted.crc
  if (!sound) throw damaged(run, wanted, 'does not match its hash')
  return span
}

function damaged(run: RunId, wanted: Wanted, what: string): IndexFault {
  const { seq, id, file, at } = wanted
  const name = id === undefined ? `Entry ${seq}` : `Object ${id}`
  const where = file > 0 ? `segment ${file}` : `archive ${-file}`
  const message = `${name} of run ${run} ${what} (${where}, byte ${at}); verify the run and restore it from a backup.`
  return new IndexFault('trail_damaged', message, {
    details: { run, seq, segment: file, offset: at, ...(id && { object: id }) },
  })
}
