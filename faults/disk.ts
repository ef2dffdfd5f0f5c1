// The disk that a profile is on: a small file system of its own in memory, which really runs full and really becomes
// read-only. Without the right to mount one it is a folder, and kinds of fault that need the real thing are left out.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync } from 'node:fs'
import { faultLimits, faultTimes } from './limits.ts'
import { until } from './waiting.ts'

const { diskBytes, diskInodes } = faultLimits

export class Disk {
  readonly folder: string
  readonly mounted: boolean

  constructor(folder: string) {
    this.folder = folder
    mkdirSync(folder, { recursive: true })
    const options = `size=${diskBytes},nr_inodes=${diskInodes},mode=0700`
    this.mounted =
      process.platform === 'linux' &&
      process.getuid?.() === 0 &&
      spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'parley-faults', folder]).status === 0
  }

  /**
   * About `left` bytes are free and no more. The disk shrinks to what is on it: no ballast of its size has to be
   * written.
   */
  fill(left: number): void {
    this.#shrink(() => {
      const { blocks, bfree, bsize } = statfsSync(this.folder)
      return `size=${(blocks - bfree) * bsize + left}`
    })
  }

  /** No file can be made any more. */
  exhaustInodes(): void {
    this.#shrink(() => {
      const { files, ffree } = statfsSync(this.folder)
      return `nr_inodes=${files - ffree}`
    })
  }

  free(): void {
    const { status, stderr } = this.#remount(`size=${diskBytes},nr_inodes=${diskInodes}`)
    if (status !== 0) throw new Error(`${this.folder} cannot be made large again: ${stderr}`)
  }

  /** Only while nobody has a file open for writing: Linux refuses it otherwise. */
  remount(as: 'ro' | 'rw'): void {
    const { status, stderr } = this.#remount(as)
    if (status !== 0) throw new Error(`${this.folder} cannot be made ${as}: ${stderr}`)
  }

  /** A process that was killed may hold it for a moment longer. */
  async close(): Promise<void> {
    const unmounted = () => spawnSync('umount', [this.folder]).status === 0
    if (this.mounted) await until(faultTimes.end, () => `${this.folder} to be unmounted`, unmounted)
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Somebody may write between the look and the remount, which is then refused. */
  #shrink(to: () => string): void {
    for (let attempt = 0; attempt < faultLimits.shrinks; attempt++) if (this.#remount(to()).status === 0) return
    throw new Error(`${this.folder} does not get smaller`)
  }

  #remount(options: string) {
    return spawnSync('mount', ['-o', `remount,${options}`, this.folder], { encoding: 'utf8' })
  }
}
