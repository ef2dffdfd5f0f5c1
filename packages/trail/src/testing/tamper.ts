// What somebody with access to the disk could do: take the records of a log apart, change them, and write sound frames again.
// The store is closed while this happens.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StoredEntry, StoredRecord } from '../entry.ts'
import { FRAME_HEADER, frameRecords, sealFrame } from '../log/frame.ts'
import { readRecord, recordBound, writeRecord } from '../log/record.ts'
import { SEGMENT_HEADER } from '../log/segment.ts'
import { walkFrames } from '../log/walk.ts'

export interface TamperOptions {
  /** Leave the index as it is, or remove it so that it is made anew. */
  readonly keepIndex?: boolean
  /** Remove the heads files too: nobody outside the log knows anything. */
  readonly removeHeads?: boolean
}

/** Rewrites the one segment of a small trail: each record becomes its own frame. */
export function tamper(
  profile: string,
  change: (records: StoredRecord[]) => StoredRecord[],
  options: TamperOptions = {},
): void {
  const folder = join(profile, 'trail')
  const [segment, ...others] = readdirSync(folder).filter(name => name.endsWith('.seg'))
  if (!segment || others.length > 0) throw new Error('tamper works on a trail of one segment')
  const file = join(folder, segment)
  const bytes = readFileSync(file)
  const records: StoredRecord[] = []
  for (const found of walkFrames(
    (at, length) => bytes.subarray(at, at + length),
    SEGMENT_HEADER,
    bytes.length,
  )) {
    if (found.kind === 'gap') throw new Error('the log is damaged already')
    for (const span of frameRecords(found.source, found.frame)) records.push(readRecord(found.source, span))
  }
  const frames = change(records).map((record, index) => {
    const frame = Buffer.alloc(FRAME_HEADER + recordBound(record))
    const end = writeRecord(frame, FRAME_HEADER, record)
    sealFrame(frame, 0, end, index + 1, 1)
    return frame.subarray(0, end)
  })
  writeFileSync(file, Buffer.concat([bytes.subarray(0, SEGMENT_HEADER), ...frames]))
  if (!options.keepIndex) {
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(profile, `trail.index.db${suffix}`), { force: true })
  }
  const heads = join(folder, 'heads')
  if (options.removeHeads && existsSync(heads)) rmSync(heads, { recursive: true })
}

/** The same entry with another text in its view. */
export function edited(record: StoredRecord, from: string, to: string): StoredEntry {
  if (record.kind !== 'entry' || !record.view.includes(from))
    throw new Error(`'${from}' is not in the record`)
  return { ...record, view: record.view.replace(from, to) }
}
