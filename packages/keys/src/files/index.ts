// The disk, files on it that are replaced whole, and locks between processes.
export { type Disk, machineDisk } from './disk.ts'
export { withLock } from './lock-file.ts'
export { type FolderLock, lockFolder } from './lock-folder.ts'
export { writeWholeSync } from './whole-file.ts'
