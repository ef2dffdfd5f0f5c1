// The devices of a simulated machine: the log with its tiers, its index, blobs, a second copy of the cold tier, and the
// profile's key. All of them lose power together; the second copy can be pulled out and put back.
import { FaultyFiles, IndexDisk, type MemoryDisks } from '@parley/trail/testing'

export interface Disks extends MemoryDisks {
  readonly index: IndexDisk
  readonly replica: FaultyFiles
  readonly secrets: FaultyFiles
}

export function newDisks(): Disks {
  return {
    trail: new FaultyFiles(),
    blobs: new FaultyFiles(),
    replica: new FaultyFiles(),
    secrets: new FaultyFiles(),
    index: new IndexDisk(),
  }
}

/** The index is what its last commit left. */
export function crashed({ trail, blobs, replica, secrets, index }: Disks, random: () => number): Disks {
  const away = replica.dead
  index.mend()
  const next = {
    trail: trail.crash(random),
    blobs: blobs.crash(random),
    replica: replica.crash(random),
    secrets: secrets.crash(random),
    index,
  }
  next.replica.dead = away
  return next
}

/** The copy makes an index of its own. */
export function copied({ trail, blobs, replica, secrets }: Disks): Disks {
  const next = {
    trail: trail.copy(),
    blobs: blobs.copy(),
    replica: replica.copy(),
    secrets: secrets.copy(),
    index: new IndexDisk(),
  }
  next.replica.dead = replica.dead
  return next
}

export function mended({ trail, blobs, secrets, index }: Disks): void {
  for (const disk of [trail, blobs, secrets, index]) disk.mend()
}
