// The disk that a profile is on: a small file system of its own in memory, which really runs full and really becomes read-only. Without the
// right to mount one it is a folder, and kinds of fault that need the real thing are left out.
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statfsSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { faultLimits } from './limits.ts'

const CHUNK = Buffer.alloc(1024 * 1024)

export class Disk {
  readonly folder: string
  readonly mounted: boolean
  readonly #ballast: string

  constructor(folder: string) {
    this.folder = folder
    this.#ballast = join(folder, 'ballast')
    mkdirSync(folder, { recursive: true })
    const { diskBytes, diskInodes } = faultLimits
    const options = `size=${diskBytes},nr_inodes=${diskInodes},mode=0700`
    this.mounted =
      process.platform === 'linux' &&
      process.getuid?.() === 0 &&
      spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'parley-faults', folder]).status === 0
    mkdirSync(this.#ballast)
  }

  /** No more than `left` bytes are free. */
  fill(left: number): void {
    const handle = openSync(join(this.#ballast, 'bytes'), 'w')
    try {
      for (let free = this.#free() - left; free > 0; free = this.#free() - left) {
        if (writeSync(handle, CHUNK, 0, Math.min(free, CHUNK.length)) === 0) break
      }
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOSPC') throw thrown
    } finally {
      closeSync(handle)
    }
  }

  /** No file can be made any more. */
  exhaustInodes(): void {
    try {
      for (let number = 0; ; number++) closeSync(openSync(join(this.#ballast, `inode-${number}`), 'w'))
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOSPC') throw thrown
    }
  }

  free(): void {
    for (const name of readdirSync(this.#ballast)) unlinkSync(join(this.#ballast, name))
  }

  /** Only while nobody has a file open for writing: Linux refuses it otherwise. */
  remount(as: 'ro' | 'rw'): void {
    const { status, stderr } = spawnSync('mount', ['-o', `remount,${as}`, this.folder], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`${this.folder} cannot be made ${as}: ${stderr}`)
  }

  close(): void {
    if (this.mounted) {
      const { status, stderr } = spawnSync('umount', [this.folder], { encoding: 'utf8' })
      if (status !== 0) throw new Error(`${this.folder} cannot be unmounted: ${stderr}`)
    }
    rmSync(this.folder, { recursive: true, force: true })
  }

  #free(): number {
    const { bavail, bsize } = statfsSync(this.folder)
    return bavail * bsize
  }
}
