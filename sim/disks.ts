// The devices of a simulated machine: the log with its tiers, blobs, a second copy of the cold tier, and the profile's key. All of them
// lose power together; the second copy can be pulled out and put back.
import { FaultyFiles, type MemoryDisks } from '@parley/trail'

export interface Disks extends MemoryDisks {
  readonly replica: FaultyFiles
  readonly secrets: FaultyFiles
}

export function newDisks(): Disks {
  return {
    trail: new FaultyFiles(),
    blobs: new FaultyFiles(),
    replica: new FaultyFiles(),
    secrets: new FaultyFiles(),
  }
}

export function crashed({ trail, blobs, replica, secrets }: Disks, random: () => number): Disks {
  const away = replica.dead
  const next = {
    trail: trail.crash(random),
    blobs: blobs.crash(random),
    replica: replica.crash(random),
    secrets: secrets.crash(random),
  }
  next.replica.dead = away
  return next
}

export function copied({ trail, blobs, replica, secrets }: Disks): Disks {
  const next = {
    trail: trail.copy(),
    blobs: blobs.copy(),
    replica: replica.copy(),
    secrets: secrets.copy(),
  }
  next.replica.dead = replica.dead
  return next
}

export function mended({ trail, blobs, secrets }: Disks): void {
  for (const disk of [trail, blobs, secrets]) disk.mend()
}
