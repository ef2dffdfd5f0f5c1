// The disk, and files on it that are replaced whole.
export { type Disk, machineDisk } from './disk.ts'
export { writeWholeSync } from './whole-file.ts'
