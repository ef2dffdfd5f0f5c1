// A replica in a folder, which is somebody else's to make: where a device is not mounted there is none.
import { statSync } from 'node:fs'
import { DiskFiles } from '../log/disk-files.ts'
import type { ReplicaOptions } from './replica.ts'

export function diskReplica(folder: string): ReplicaOptions {
  return {
    name: folder,
    open: () => {
      if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new Error('there is no such folder')
      return new DiskFiles(folder)
    },
  }
}
