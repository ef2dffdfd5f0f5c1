// Room that the profile keeps for the day when its disk is full: a file with real bytes, removed when there is no room
// left, so that the node can still record what happens and say what is wrong. It is laid out again when there is room.
import { randomFillSync } from 'node:crypto'
import { lstatSync, rmSync, type Stats } from 'node:fs'
import { type FileHandle, open, rename, rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type MachineFault, machineFaultOf } from '@parley/core'
import { nodeLimits } from '../limits.ts'

export class Reserve {
  readonly #file: string
  /** Bytes of it, once the disk is known. */
  #bytes: number | undefined
  #wanted = false
  readonly #missing: (why: string) => void

  /** `missing` gets the reason why a node that keeps running has none. */
  constructor(file: string, missing: (why: string) => void = () => undefined) {
    this.#file = file
    this.#missing = missing
  }

  /** Answers with why there is none; a node works without it. */
  async layOut(): Promise<string | undefined> {
    try {
      this.#bytes = await this.#size()
      if (this.#bytes === 0) return 'the disk is too small for one'
      if (!this.#isThere(this.#bytes)) {
        if (!(await this.#fits(this.#bytes))) return 'the disk has no room for one'
        await this.#write(this.#bytes)
      }
      this.#wanted = true
      return undefined
    } catch (cause) {
      return cause instanceof Error ? cause.message : String(cause)
    }
  }

  /** What it holds is room for others from now on. Never throws. */
  release(): void {
    const found = this.#found()
    // One that an earlier node has laid out is to come back as well.
    if (found?.isFile() && !this.#wanted) {
      this.#bytes = found.size
      this.#wanted = true
    }
    for (const each of [this.#file, `${this.#file}.new`]) {
      try {
        rmSync(each, { force: true })
      } catch {
        // A disk that cannot be written has no use for it either.
      }
    }
  }

  /**
   * Lays it out again, if there was to be one. Answers with the fault of the machine that keeps it from that. Never
   * rejects.
   */
  async restore(): Promise<MachineFault | undefined> {
    // One that there never was is no reason to wait for it.
    if (!this.#wanted || this.#bytes === undefined) {
      const why = await this.layOut()
      if (why !== undefined) this.#missing(why)
      return undefined
    }
    if (this.#isThere(this.#bytes)) return undefined
    try {
      if (!(await this.#fits(this.#bytes))) return { code: 'ENOSPC', where: dirname(this.#file) }
      await this.#write(this.#bytes)
      return undefined
    } catch (cause) {
      return machineFaultOf(cause)
    }
  }

  /** Looking must not take what others need meanwhile. */
  async #fits(bytes: number): Promise<boolean> {
    const { bavail, bsize } = await statfs(dirname(this.#file))
    return bavail * bsize >= bytes + nodeLimits.reserveLeaves
  }

  /** A small part of a small disk. */
  async #size(): Promise<number> {
    const { blocks, bsize } = await statfs(dirname(this.#file))
    const part = Math.floor((blocks * bsize) / nodeLimits.reservePart)
    return part < nodeLimits.reserveLeast ? 0 : Math.min(part, nodeLimits.reserveBytes)
  }

  /** A disk that cannot tell has none. */
  #found(): Stats | undefined {
    try {
      return lstatSync(this.#file, { throwIfNoEntry: false })
    } catch {
      return undefined
    }
  }

  /** A sparse file has its size and no room. */
  #isThere(bytes: number): boolean {
    const found = this.#found()
    return found?.isFile() === true && found.size === bytes && found.blocks * 512 >= bytes
  }

  /** Random bytes: a disk that packs its content would keep no room for zeros. Whole, or not at all. */
  async #write(bytes: number): Promise<void> {
    const aside = `${this.#file}.new`
    const piece = Buffer.allocUnsafe(Math.min(bytes, nodeLimits.reservePiece))
    let handle: FileHandle | undefined
    try {
      await rm(aside, { force: true })
      handle = await open(aside, 'wx', 0o600)
      for (let at = 0; at < bytes; ) {
        const { bytesWritten } = await handle.write(randomFillSync(piece), 0, Math.min(piece.length, bytes - at), at)
        at += bytesWritten
      }
      await handle.datasync()
      await handle.close()
      await rename(aside, this.#file)
    } catch (cause) {
      await handle?.close().catch(() => undefined)
      await rm(aside, { force: true }).catch(() => undefined)
      throw cause
    }
  }
}
