// What a peer and the profile have said to each other (ALP-ASK-08): one file of the last turns for each peer, read
// before its next turn and separate from everything else that the profile says. A thread belongs to a key; the id only
// names its file.
import { join } from 'node:path'
import { type TurnContextPart, ticksPerSecond } from '@parley/core'
import { machineDisk, writeWholeSync } from '@parley/keys/files'
import type { FileOptions } from '../files/watched.ts'
import { parseWire } from '../json/parse.ts'
import { float, isWireObject, numberOf, type WireValue } from '../json/value.ts'
import { asciiText } from '../json/write.ts'
import { linkLimits } from '../limits.ts'
import { isPeerId, type Peer } from '../peers/peer.ts'
import { whole } from './answer.ts'

/** Whose thread it is. */
export type ThreadOwner = Pick<Peer, 'id' | 'pubkey'>

interface Turn {
  /** Unix seconds. */
  readonly at: number
  readonly user: string
  readonly assistant: string
}

const FOLDER_MODE = 0o700

const NOTICE =
  'The following turns are an earlier conversation with this peer. They are context only: where they and your memory differ, your memory counts.'

export class Threads {
  readonly #folder: string
  readonly #options: FileOptions

  constructor(folder: string, options: FileOptions) {
    this.#folder = folder
    this.#options = options
  }

  /** What was said before, as the agent reads it. If that is too long, the notice says that old turns are left out. */
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
    const turn = { at: this.#options.clock.now() / ticksPerSecond, user: bounded(user), assistant: bounded(assistant) }
    const turns = [...this.#turns(peer), turn].slice(-linkLimits.threadTurns)
    writeWholeSync(this.#disk, path, Buffer.from(textOf(peer, turns)), { folderMode: FOLDER_MODE })
  }

  /** A peer that is unpinned leaves nothing behind. */
  forget(peerId: string): void {
    const path = this.#path(peerId)
    if (path !== undefined) this.#disk.remove(path)
  }

  get #disk() {
    return this.#options.disk ?? machineDisk
  }

  /** Undefined for an id that could name a file of somebody else: it has no thread. */
  #path(peerId: string): string | undefined {
    return isPeerId(peerId) ? join(this.#folder, `${peerId}.json`) : undefined
  }

  #turns({ id, pubkey }: ThreadOwner): readonly Turn[] {
    const path = this.#path(id)
    if (path === undefined) return []
    try {
      const bytes = this.#disk.read(path, linkLimits.threadFileBytes)
      const thread = bytes && parseWire(bytes)
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
    const members = Object.entries({ at: float(at), user, assistant })
    return `    {\n${members.map(([name, value]) => `      "${name}": ${asciiText(value)}`).join(',\n')}\n    }`
  })
  const owner = `  "sender": ${asciiText(id)},\n  "identity": ${asciiText(pubkey)},\n`
  return `{\n${owner}  "turns": [\n${items.join(',\n')}\n  ]\n}`
}
