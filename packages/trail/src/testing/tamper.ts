// What somebody with access to the disk could do: take the records of a log apart, change them, and write sound frames
// again. The store is closed while this happens.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ticks } from '@parley/core'
import type { StoredEntry, StoredRecord } from '../entry.ts'
import { FRAME_HEADER, frameRecords, sealFrame } from '../log/frame.ts'
import { readRecord, recordBound, writeRecord } from '../log/record.ts'
import { SEGMENT_HEADER } from '../log/segment.ts'
import { walkFrames } from '../log/walk.ts'
import { sha256 } from '../run/chain.ts'

export interface TamperOptions {
  /** Leave the index as it is, or remove it so that it is made anew. */
  readonly keepIndex?: boolean
  /** Remove the heads files too: nobody outside the log knows anything. */
  readonly removeHeads?: boolean
}

/** Rewrites a trail that has no archives: all records end up in its first segment, each in a frame of its own. */
export function tamper(
  profile: string,
  change: (records: StoredRecord[]) => StoredRecord[],
  options: TamperOptions = {},
): void {
  const folder = join(profile, 'trail')
  const segments = readdirSync(folder).filter(name => name.endsWith('.seg'))
  const [first, ...others] = segments.map(name => join(folder, name))
  const records = segments.flatMap(name => recordsOf(readFileSync(join(folder, name))))
  const header = readFileSync(first!).subarray(0, SEGMENT_HEADER)
  const frames = change(records).map((record, index) => {
    const frame = Buffer.alloc(FRAME_HEADER + recordBound(record))
    const end = writeRecord(frame, FRAME_HEADER, record)
    sealFrame(frame, 0, end, { number: index + 1, count: 1, latest: 0 as Ticks })
    return frame.subarray(0, end)
  })
  writeFileSync(first!, Buffer.concat([header, ...frames]))
  for (const file of others) rmSync(file)
  if (!options.keepIndex) removeIndex(profile)
  if (options.removeHeads) rmSync(join(folder, 'heads'), { recursive: true, force: true })
}

export function removeIndex(profile: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(profile, `trail.index.db${suffix}`), { force: true })
}

function recordsOf(bytes: Buffer): StoredRecord[] {
  const records: StoredRecord[] = []
  for (const found of walkFrames((at, length) => bytes.subarray(at, at + length), SEGMENT_HEADER, bytes.length)) {
    if (found.kind === 'gap') throw new Error('the log is damaged already')
    for (const span of frameRecords(found.source, found.frame)) records.push(readRecord(found.source, span))
  }
  return records
}

/** The same entry with another text in its view. */
export function edited(record: StoredRecord, from: string, to: string): StoredEntry {
  if (record.kind !== 'entry' || !record.view.includes(from)) throw new Error(`'${from}' is not in the record`)
  return { ...record, view: record.view.replace(from, to) }
}

/** The entry with a changed text and a hash that fits it again, as somebody would do it who knows how. */
export function forged(record: StoredRecord, from: string, to: string): StoredEntry {
  const changed = edited(record, from, to)
  return { ...changed, hash: sha256(changed.view) }
}

/** All records, the entry with this number changed. */
export function replaced(seq: number, change: (entry: StoredEntry) => StoredRecord) {
  return (records: readonly StoredRecord[]): StoredRecord[] =>
    records.map(record => (record.kind === 'entry' && record.seq === seq ? change(record) : record))
}
