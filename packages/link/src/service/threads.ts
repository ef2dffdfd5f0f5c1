// What a peer and the profile have said to each other (ALP-ASK-08): one file for each peer, of the last turns, read
// before the next one. Separate from each other and from everything that the profile says elsewhere. A thread belongs
// to a key; the id only names its file.
import { isUtf8 } from 'node:buffer'
import { join } from 'node:path'
import type { Clock, TurnContextPart } from '@parley/core'
import { type Disk, machineDisk, writeWholeSync } from '@parley/keys/files'
import { parseText } from '../json/parse.ts'
import { float, isWireObject, numberOf, type WireValue } from '../json/value.ts'
import { asciiText } from '../json/write.ts'
import { linkLimits } from '../limits.ts'
import type { Peer } from '../peers/peer.ts'
import { whole } from './answer.ts'

/** Whose thread it is. */
export type ThreadOwner = Pick<Peer, 'id' | 'pubkey'>

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

  /**
   * What was said before, as the agent reads it; nothing where nothing was. Of more than a turn is told the oldest are
   * left out, which the notice says.
   */
  history(peer: ThreadOwner): readonly TurnContextPart[] {
    const turns = this.#turns(peer)
    if (turns.length === 0) return []
    let [room, from] = [linkLimits.toldText, turns.length]
    for (const [at, { user, assistant }] of [...turns.entries()].toReversed()) {
      room -= user.length + assistant.length
      if (room < 0) break
      from = at
    }
    const part = (title: string, text: string): TurnContextPart => ({ kind: 'memory', title, text })
    return [
      part('What was said before', from > 0 ? `${NOTICE} ${leftOut(from)}` : NOTICE),
      ...turns
        .slice(from)
        .flatMap(({ user, assistant }) => [part(`${peer.id} said`, user), part('You answered', assistant)]),
    ]
  }

  /** Adds a turn behind the others; the oldest go. Throws the system's error. */
  add(peer: ThreadOwner, user: string, assistant: string): void {
    const path = this.#path(peer.id)
    if (path === undefined) return
    const turn = { at: this.#clock.now() / MICROS, user: bounded(user), assistant: bounded(assistant) }
    const turns = [...this.#turns(peer), turn].slice(-linkLimits.threadTurns)
    writeWholeSync(this.#disk, path, Buffer.from(textOf(peer, turns)), { folderMode: FOLDER_MODE })
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

  #turns({ id, pubkey }: ThreadOwner): readonly Turn[] {
    const path = this.#path(id)
    if (path === undefined) return []
    try {
      const bytes = this.#disk.read(path, linkLimits.threadFileBytes)
      const thread = bytes && isUtf8(bytes) ? parseText(bytes.toString('utf8')) : undefined
      if (!isWireObject(thread)) return []
      // Another key had this id before. Other implementations name no key.
      const foreign = thread.identity !== undefined && thread.identity !== pubkey
      return foreign ? [] : turnsOf(thread.turns)
    } catch {
      // ALP-ERR-05.
      return []
    }
  }
}

function leftOut(turns: number): string {
  return `${turns} earlier ${turns === 1 ? 'turn is' : 'turns are'} left out here: together they are too long.`
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
      return [{ at: Number.isFinite(at) ? at : 0, user: user.toWellFormed(), assistant: assistant.toWellFormed() }]
    })
    .slice(-linkLimits.threadTurns)
}

/** As Python writes it with an indent of two; the key is a member of ours, which others ignore. */
function textOf({ id, pubkey }: ThreadOwner, turns: readonly Turn[]): string {
  const items = turns.map(({ at, user, assistant }) => {
    const members = [
      `"at": ${asciiText(float(at))}`,
      `"user": ${asciiText(user)}`,
      `"assistant": ${asciiText(assistant)}`,
    ]
    return `    {\n${members.map(member => `      ${member}`).join(',\n')}\n    }`
  })
  const owner = `  "sender": ${asciiText(id)},\n  "identity": ${asciiText(pubkey)},\n`
  return `{\n${owner}  "turns": [\n${items.join(',\n')}\n  ]\n}`
}
