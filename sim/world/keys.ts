// The profile's key on the simulated disks: the real key file and the real list of former keys, with signatures made in
// place, since what a thread does comes at no certain time.
import { formatTimestamp, type Ticks, type Timestamp } from '@parley/core'
import { KeyFile, KeyRing, ProfileKeys, type Signer, type TrailKeys, type TrailOptions } from '@parley/trail/testing'
import type { Disks } from './disks.ts'

export async function openKeys(disks: Disks, now: Ticks, floor: Ticks): Promise<Pick<TrailOptions, 'signer' | 'keys'>> {
  const file = new KeyFile(disks.secrets, 'secrets', () => undefined)
  const ring = new KeyRing(disks.trail)
  const opened = await ProfileKeys.open(file, ring, formatTimestamp(now), formatTimestamp(floor))
  return { keys: inPlace(opened.keys), signer: alone(opened.signer) }
}

function inPlace(keys: ProfileKeys): TrailKeys {
  return {
    get keys() {
      return keys.keys
    },
    get unrecorded() {
      return keys.unrecorded
    },
    trust: () => keys.trust(),
    rotate: async (old: Signer, at: Timestamp, until: Timestamp) => alone(await keys.rotate(old, at, until)),
    recorded: key => keys.recorded(key),
  }
}

function alone(signer: Signer): Signer {
  return { id: signer.id, sign: hash => signer.sign(hash) }
}
