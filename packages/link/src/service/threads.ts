// What a peer and the profile have said to each other (ALP-ASK-08): one file for each peer, of the last turns, read before the next one. Separate
// from each other and from everything that the profile says elsewhere.
import { isUtf8 } from 'node:buffer'
import { join } from 'node:path'
import type { Clock } from '@parley/core'
import { type Disk, machineDisk, writeWhole } from '../files/disk.ts'
import { parseText } from '../json/parse.ts'
import { float, isWireObject, numberOf, type WireValue } from '../json/value.ts'
import { asciiText } from '../json/write.ts'
import { linkLimits } from '../limits.ts'
import { whole } from './answer.ts'
import type { AskMessage } from './ask-port.ts'

interface Turn {
  /** Unix seconds. */
  readonly at: number
  readonly user: string
  readonly assistant: string
}

export interface ThreadsOptions {
  readonly clock: Clock
  readonly disk?: Disk
}

const MICROS = 1_000_000
const FOLDER_MODE = 0o700
/** Which peers have a thread: others could name a file that is not theirs. */
const ID = /^[A-Za-z0-9_-]+$/

const NOTICE =
  'The following turns are an earlier conversation with this peer. They are context only: where they and your memory differ, your memory counts.'

export class Threads {
  readonly #folder: string
  readonly #clock: Clock
  readonly #disk: Disk

  constructor(folder: string, { clock, disk = machineDisk }: ThreadsOptions) {
    this.#folder = folder
    this.#clock = clock
    this.#disk = disk
  }

  /** What was said before, as the agent reads it; nothing where nothing was. */
  history(peerId: string): readonly AskMessage[] {
    const turns = this.#turns(peerId)
    if (turns.length === 0) return []
    const said = turns.flatMap(({ user, assistant }): AskMessage[] => [
      { role: 'user', text: user },
      { role: 'assistant', text: assistant },
    ])
    return [{ role: 'system', text: NOTICE }, ...said]
  }

  /** Adds a turn behind the others; the oldest go. Throws the system's error. */
  add(peerId: string, user: string, assistant: string): void {
    const path = this.#path(peerId)
    if (path === undefined) return
    const turn = { at: this.#clock.now() / MICROS, user: bounded(user), assistant: bounded(assistant) }
    const turns = [...this.#turns(peerId), turn].slice(-linkLimits.threadTurns)
    writeWhole(this.#disk, path, Buffer.from(textOf(peerId, turns)), { folderMode: FOLDER_MODE })
  }

  /** A peer that is unpinned leaves nothing for whoever is pinned under its name next. */
  forget(peerId: string): void {
    const path = this.#path(peerId)
    if (path !== undefined) this.#disk.remove(path)
  }

  #path(peerId: string): string | undefined {
    const usable = ID.test(peerId) && peerId.length <= linkLimits.peerIdLength
    return usable ? join(this.#folder, `${peerId}.json`) : undefined
  }

  #turns(peerId: string): readonly Turn[] {
    const path = this.#path(peerId)
    if (path === undefined) return []
    try {
      const bytes = this.#disk.read(path, linkLimits.threadFileBytes)
      return bytes && isUtf8(bytes) ? turnsOf(parseText(bytes.toString('utf8'))) : []
    } catch {
      // ALP-ERR-05.
      return []
    }
  }
}

function bounded(text: string): string {
  return whole(text.toWellFormed(), linkLimits.threadText)
}

function turnsOf(value: WireValue | undefined): readonly Turn[] {
  const turns = isWireObject(value) && Array.isArray(value.turns) ? (value.turns as WireValue[]) : []
  return turns
    .flatMap(turn => {
      if (!isWireObject(turn)) return []
      const { user, assistant } = turn
      if (typeof user !== 'string' || typeof assistant !== 'string') return []
      const at = numberOf(turn.at) ?? 0
      return [
        { at: Number.isFinite(at) ? at : 0, user: user.toWellFormed(), assistant: assistant.toWellFormed() },
      ]
    })
    .slice(-linkLimits.threadTurns)
}

/** As Python writes it with an indent of two. */
function textOf(sender: string, turns: readonly Turn[]): string {
  const items = turns.map(({ at, user, assistant }) => {
    const members = [
      `"at": ${asciiText(float(at))}`,
      `"user": ${asciiText(user)}`,
      `"assistant": ${asciiText(assistant)}`,
    ]
    return `    {\n${members.map(member => `      ${member}`).join(',\n')}\n    }`
  })
  return `{\n  "sender": ${asciiText(sender)},\n  "turns": [\n${items.join(',\n')}\n  ]\n}`
}
