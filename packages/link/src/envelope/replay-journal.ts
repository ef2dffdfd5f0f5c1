// The memory of ALP-ENV-08 on disk, so that it outlives the process: `alp/secrets/replay.jsonl`, one line for each pair
// of a pinned sender. A pair is in the file before its message is acted upon; a message whose pair cannot be written is
// dropped.
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { type Clock, ParleyError, systemCode, type Ticks, ticksPerSecond } from '@parley/core'
import { parseText } from '../json/parse.ts'
import { float, isWireObject, numberOf } from '../json/value.ts'
import { asciiText } from '../json/write.ts'
import { linkLimits } from '../limits.ts'
import { type ReplayLimits, ReplayMemory, type SeenPair } from './replay-memory.ts'

const MODE = 0o600
const FLAGS = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

export interface ReplayJournalOptions {
  readonly clock: Clock
  readonly limits?: ReplayLimits
}

export class ReplayJournal {
  readonly #path: string
  readonly #clock: Clock
  readonly #memory: ReplayMemory
  #descriptor: number
  #lines = 0
  /** Whether the file ends inside a line: a write was cut, now or before a crash. */
  #torn = false
  #rewriteFrom: number = linkLimits.replayRewriteLines

  /**
   * Throws `replay_journal_unusable` where the file is a symbolic link or cannot be read: without it, old messages
   * would be taken again.
   */
  static open(path: string, options: ReplayJournalOptions): ReplayJournal {
    return new ReplayJournal(path, options)
  }

  private constructor(path: string, { clock, limits }: ReplayJournalOptions) {
    this.#path = path
    this.#clock = clock
    this.#memory = new ReplayMemory(limits)
    try {
      this.#descriptor = openSync(path, FLAGS, MODE)
    } catch (cause) {
      throw unusable(path, systemCode(cause) === 'ELOOP' ? 'is a symbolic link' : 'cannot be opened', cause)
    }
    try {
      this.#load()
    } catch (cause) {
      closeSync(this.#descriptor)
      throw cause instanceof ParleyError ? cause : unusable(path, 'cannot be read', cause)
    }
  }

  /** Pairs that are remembered on disk. */
  get size(): number {
    return this.#memory.size
  }

  /** Remembers the pair, or says why the message is dropped. A stranger's, without effect, is kept in memory alone. */
  admit(from: string, nonce: string, pinned: boolean): 'replay' | 'replay journal' | undefined {
    const now = this.#clock.now()
    if (this.#memory.seen(from, nonce, now)) return 'replay'
    const pair: SeenPair = { from, nonce, seenAt: now }
    if (!pinned) {
      this.#memory.rememberStranger(pair)
      return undefined
    }
    if (!this.#memory.hasRoom(from, now) || !this.#append(pair)) return 'replay journal'
    this.#memory.remember(pair)
    this.#rewriteIfDue(now)
    return undefined
  }

  close(): void {
    if (this.#descriptor < 0) return
    closeSync(this.#descriptor)
    this.#descriptor = -1
  }

  #append(pair: SeenPair): boolean {
    if (this.#descriptor < 0) return false
    try {
      const line = Buffer.from(`${this.#torn ? '\n' : ''}${lineOf(pair)}`)
      const written = writeSync(this.#descriptor, line)
      this.#torn = written < line.length
    } catch {
      // Some of it may have been written all the same.
      this.#torn = true
    }
    this.#lines++
    return !this.#torn
  }

  #load(): void {
    fchmodSync(this.#descriptor, MODE)
    const most = linkLimits.replayFileBytes
    if (fstatSync(this.#descriptor).size > most) throw unusable(this.#path, `is larger than ${most} bytes`)
    const now = this.#clock.now()
    // Lines of ours are ASCII; others are no loss.
    const lines = readFileSync(this.#descriptor, 'latin1').split('\n')
    this.#torn = lines.pop() !== ''
    for (const line of lines) this.#recall(line, now)
    this.#memory.sweep(now)
  }

  /** Passes over a line that a crash has cut. */
  #recall(line: string, now: Ticks): void {
    this.#lines++
    const value = parseText(line)
    if (!isWireObject(value)) return
    const { from, nonce } = value
    const seconds = numberOf(value.seen_at)
    if (typeof from !== 'string' || typeof nonce !== 'string' || seconds === undefined) return
    const seenAt = Math.round(seconds * ticksPerSecond)
    if (Number.isSafeInteger(seenAt) && this.#memory.hasRoom(from, now)) this.#memory.remember({ from, nonce, seenAt })
  }

  /** ALP-ENV-08: at 2048 lines and twice the live set. A failure leaves the file as it was: longer than it need be. */
  #rewriteIfDue(now: Ticks): void {
    if (this.#lines < this.#rewriteFrom || this.#lines < 2 * this.#memory.size) return
    this.#memory.sweep(now)
    if (this.#lines < 2 * this.#memory.size) return
    const temporary = `${this.#path}.tmp`
    let fresh = -1
    try {
      rmSync(temporary, { force: true })
      fresh = openSync(temporary, FLAGS | constants.O_EXCL, MODE)
      const pairs = [...this.#memory.live()]
      writeFileSync(fresh, pairs.map(lineOf).join(''))
      fsyncSync(fresh)
      renameSync(temporary, this.#path)
      closeSync(this.#descriptor)
      this.#descriptor = fresh
      this.#lines = pairs.length
      this.#torn = false
      this.#rewriteFrom = linkLimits.replayRewriteLines
    } catch {
      if (fresh >= 0 && fresh !== this.#descriptor) closeSync(fresh)
      // Not again with every message.
      this.#rewriteFrom = this.#lines + linkLimits.replayRewriteLines
    }
  }
}

function lineOf({ from, nonce, seenAt }: SeenPair): string {
  return `${asciiText({ seen_at: float(seenAt / ticksPerSecond), from, nonce })}\n`
}

function unusable(path: string, what: string, cause?: unknown): ParleyError {
  return new ParleyError(
    'replay_journal_unusable',
    `${path} ${what}. It remembers which messages were already acted upon: look at it, move it away if it is not Parley's, then start again.`,
    { cause },
  )
}
