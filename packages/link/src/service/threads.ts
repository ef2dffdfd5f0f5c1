// What a peer and the profile have said to each other (ALP-ASK-08): one file for each peer, of the last turns, read
// before the next one. Separate from each other and from everything that the profile says elsewhere. A thread belongs
// to a key; the id only names its file.
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

/** Whose thread it is. */
export interface ThreadOwner {
  readonly id: string
  readonly identity: string
}

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
  history(peer: ThreadOwner): readonly AskMessage[] {
    const turns = this.#turns(peer)
    if (turns.length === 0) return []
    const said = turns.flatMap(({ user, assistant }): AskMessage[] => [
      { role: 'user', text: user },
      { role: 'assistant', text: assistant },
    ])
    return [{ role: 'system', text: NOTICE }, ...said]
  }

  /** Adds a turn behind the others; the oldest go. Throws the system's error. */
  add(peer: ThreadOwner, user: string, assistant: string): void {
    const path = this.#path(peer.id)
    if (path === undefined) return
    const turn = { at: this.#clock.now() / MICROS, user: bounded(user), assistant: bounded(assistant) }
    const turns = [...this.#turns(peer), turn].slice(-linkLimits.threadTurns)
    writeWhole(this.#disk, path, Buffer.from(textOf(peer, turns)), { folderMode: FOLDER_MODE })
  }

  /** A peer that is unpinned leaves nothing behind. */
  forget(peerId: string): void {
    const path = this.#path(peerId)
    if (path !== undefined) this.#disk.remove(path)
  }

  #path(peerId: string): string | undefined {
    const usable = ID.test(peerId) && peerId.length <= linkLimits.peerIdLength
    return usable ? join(this.#folder, `${peerId}.json`) : undefined
  }

  #turns({ id, identity }: ThreadOwner): readonly Turn[] {
    const path = this.#path(id)
    if (path === undefined) return []
    try {
      const bytes = this.#disk.read(path, linkLimits.threadFileBytes)
      const thread = bytes && isUtf8(bytes) ? parseText(bytes.toString('utf8')) : undefined
      if (!isWireObject(thread)) return []
      // Another key had this id before. Other implementations name no key.
      const foreign = thread.identity !== undefined && thread.identity !== identity
      return foreign ? [] : turnsOf(thread.turns)
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
  const turns = Array.isArray(value) ? (value as WireValue[]) : []
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

/** As Python writes it with an indent of two; the key is a member of ours, which others ignore. */
function textOf({ id, identity }: ThreadOwner, turns: readonly Turn[]): string {
  const items = turns.map(({ at, user, assistant }) => {
    const members = [
      `"at": ${asciiText(float(at))}`,
      `"user": ${asciiText(user)}`,
      `"assistant": ${asciiText(assistant)}`,
    ]
    return `    {\n${members.map(member => `      ${member}`).join(',\n')}\n    }`
  })
  const owner = `  "sender": ${asciiText(id)},\n  "identity": ${asciiText(identity)},\n`
  return `{\n${owner}  "turns": [\n${items.join(',\n')}\n  ]\n}`
}
