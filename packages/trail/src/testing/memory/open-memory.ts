// A trail store in memory, over disks that can be made to fail: for tests and simulation. Deterministic: no threads, no
// clock.
import { parseTimestamp, type Ticks } from '@parley/core'
import { below, COLD_BLOBS, coldFiles } from '../../archive/layout.ts'
import { plainSqueeze } from '../../archive/squeeze.ts'
import type { StoredRecord } from '../../entry.ts'
import { IndexLog } from '../../index/log-reader.ts'
import type { Files } from '../../log/files.ts'
import { FRAME_HEADER, sealFrame } from '../../log/frame.ts'
import { recordBound, writeRecord } from '../../log/record.ts'
import { SEGMENT_HEADER, segmentName, writeSegmentHeader } from '../../log/segment.ts'
import { viewTimestamp } from '../../log/view.ts'
import { SegmentStore, type SegmentStoreOptions } from '../../store/segment-store.ts'
import { FaultyFiles } from './faulty-files.ts'
import type { IndexDisk } from './index-disk.ts'
import { MemoryIndex } from './memory-index.ts'

export interface MemoryStoreOptions {
  readonly firstSegmentBytes?: number
  readonly segmentBytes?: number
}

/** The disks of a store in memory: what a crash of one machine hits together. */
export interface MemoryDisks {
  readonly trail: FaultyFiles
  readonly blobs: FaultyFiles
  /** Another device, for a second copy of the cold tier. */
  readonly replica?: FaultyFiles
  /** The index, which is found again by the next opening; without it each opening makes its own. */
  readonly index?: IndexDisk
}

export function memoryDisks(): MemoryDisks {
  return { trail: new FaultyFiles(), blobs: new FaultyFiles() }
}

function indexOver(files: Files, disks: Pick<MemoryDisks, 'replica' | 'index'>): SegmentStoreOptions['index'] {
  const { replica, index: disk } = disks
  return ({ trail, end }) => {
    const reader = new IndexLog(files, trail, end, replica && (() => replica))
    return new MemoryIndex({ reader, trail, end, disk })
  }
}

/** The runs that are whole in a copy of the cold tier, in memory. */
export function openMemoryCold(cold: FaultyFiles): Promise<SegmentStore> {
  const files = coldFiles(cold)
  return SegmentStore.open({
    files,
    blobs: below(cold, COLD_BLOBS),
    index: indexOver(files, {}),
    newTrail: () => '0'.repeat(32),
    squeeze: plainSqueeze,
    readOnly: true,
  })
}

/** A store in memory, over disks that can be made to fail; for tests and simulation. */
export function openMemoryStore(
  disks: MemoryDisks = memoryDisks(),
  options: MemoryStoreOptions = {},
): Promise<SegmentStore> {
  return SegmentStore.open({
    files: disks.trail,
    blobs: disks.blobs,
    index: indexOver(disks.trail, disks),
    newTrail: () => '0'.repeat(32),
    squeeze: plainSqueeze,
    ...(disks.replica && { replica: { open: () => disks.replica!, name: 'replica' } }),
    ...(options.firstSegmentBytes && { firstSegmentBytes: options.firstSegmentBytes }),
    ...(options.segmentBytes && { segmentBytes: options.segmentBytes }),
  })
}

/**
 * What somebody with access to the disk could have written: a log with sound frames that holds these records, whether
 * they fit together or not. A store would refuse most of what tests of verification need.
 */
export async function forgeMemoryLog(records: readonly StoredRecord[]): Promise<FaultyFiles> {
  const files = new FaultyFiles()
  const file = files.open(segmentName(1), 'create')
  const header = Buffer.alloc(SEGMENT_HEADER)
  const trail = '0'.repeat(32)
  writeSegmentHeader(header, {
    segment: 1,
    previous: 0,
    previousEnd: 0,
    firstFrame: 1,
    floor: 0 as Ticks,
    trail,
  })
  file.write(header, 0)
  for (const [index, record] of records.entries()) {
    const frame = Buffer.alloc(FRAME_HEADER + recordBound(record))
    const end = writeRecord(frame, FRAME_HEADER, record)
    const time = record.kind === 'entry' ? parseTimestamp(viewTimestamp(record.view)) : undefined
    sealFrame(frame, 0, end, { number: index + 1, count: 1, latest: time ?? (0 as Ticks) })
    file.write(frame.subarray(0, end), file.size)
  }
  await file.sync()
  file.close()
  await files.syncFolder('')
  return files
}
