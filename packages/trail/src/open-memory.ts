// A trail store in memory, over disks that can be made to fail: for tests and simulation. Deterministic: no threads, no clock.
import { below, COLD_BLOBS, coldFiles } from './archive/layout.ts'
import { plainSqueeze } from './archive/squeeze.ts'
import { memoryIndex } from './index/memory-index.ts'
import { FaultyFiles } from './log/faulty-files.ts'
import { SegmentStore } from './store/segment-store.ts'

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
}

export function memoryDisks(): MemoryDisks {
  return { trail: new FaultyFiles(), blobs: new FaultyFiles() }
}

/** The runs that are whole in a copy of the cold tier, in memory. */
export function openMemoryCold(cold: FaultyFiles): Promise<SegmentStore> {
  return SegmentStore.open({
    files: coldFiles(cold),
    blobs: below(cold, COLD_BLOBS),
    index: ({ end, reader }) => memoryIndex(reader, end),
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
    index: ({ end, reader }) => memoryIndex(reader, end),
    newTrail: () => '0'.repeat(32),
    squeeze: plainSqueeze,
    ...(disks.replica && { replica: { open: () => disks.replica!, name: 'replica' } }),
    ...(options.firstSegmentBytes && { firstSegmentBytes: options.firstSegmentBytes }),
    ...(options.segmentBytes && { segmentBytes: options.segmentBytes }),
  })
}
