// Strangers that knocked (ALP-PEND): `alp/pending_peers.yaml`, for people to look at. Knocks are gathered in memory and
// written now and then, so that a flood of strangers costs a write every few seconds and no more.
import { type CancelTimer, ticksPerSecond } from '@parley/core'
import { isPublicKey } from '@parley/keys'
import { type Disk, machineDisk, writeWholeSync } from '@parley/keys/files'
import type { FileOptions } from '../files/watched.ts'
import { pythonFloat } from '../json/write.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { isMapping } from './peer.ts'
import { readEntries } from './peers-yaml.ts'

export interface PendingPeer {
  readonly pubkey: string
  /** Unix seconds. */
  readonly firstSeen: number
  readonly lastSeen: number
  /** `host:port` that it came from over TCP; its port is the caller's own and seldom one to call. */
  readonly address?: string
}

const MODE = 0o600

export class PendingPeers {
  readonly #path: string
  readonly #options: FileOptions
  readonly #disk: Disk
  /** Knocks that are not in the file yet, by key. */
  #knocks = new Map<string, PendingPeer>()
  #cancel: CancelTimer | undefined

  constructor(path: string, options: FileOptions) {
    this.#path = path
    this.#options = options
    this.#disk = options.disk ?? machineDisk
  }

  /** ALP-PEND-01: remembers the sender of a verified message. */
  knock(pubkey: string, address: string | undefined): void {
    // Another spelling of a key could never be pinned (ALP-ID-04).
    if (!isPublicKey(pubkey)) return
    const lastSeen = this.#options.clock.now() / ticksPerSecond
    const before = this.#knocks.get(pubkey)
    const known = before?.address ?? address
    // Behind the others: the order is that of the last knock.
    this.#knocks.delete(pubkey)
    this.#knocks.set(pubkey, {
      pubkey,
      firstSeen: before?.firstSeen ?? lastSeen,
      lastSeen,
      ...(known !== undefined && { address: known }),
    })
    if (this.#knocks.size > linkLimits.pending) this.#knocks.delete(this.#knocks.keys().next().value!)
    if (!this.#cancel) this.#due()
  }

  /** ALP-PEND-05: deletes the entry; nothing keeps the sender from knocking again. False if there was none. */
  discard(pubkey: string): boolean {
    const all = this.list()
    const left = all.filter(peer => peer.pubkey !== pubkey)
    if (left.length === all.length) return false
    this.#write(left)
    return true
  }

  /** Writes what is not written yet. A failure goes to the log; the next write tries again. */
  #flush(): void {
    if (this.#knocks.size === 0) return
    try {
      this.#write(this.list())
    } catch (cause) {
      this.#options.failed?.(`${this.#path} cannot be written`, cause)
    }
  }

  close(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#flush()
  }

  #due(): void {
    this.#cancel = undefined
    if (this.#knocks.size === 0) return
    this.#flush()
    this.#cancel = this.#options.clock.after(linkDefaults.pendingWriteMs, () => this.#due(), { background: true })
  }

  /**
   * What the file says and what is not written yet, newest first. The file is read every time: a person, or another
   * program, may have taken entries out of it.
   */
  list(): readonly PendingPeer[] {
    // Oldest first; a stranger that knocked again comes behind the others.
    const stored = this.#stored().toReversed()
    const peers = new Map(stored.map(peer => [peer.pubkey, peer]))
    for (const knock of this.#knocks.values()) {
      const before = peers.get(knock.pubkey)
      const address = before?.address ?? knock.address
      peers.delete(knock.pubkey)
      // ALP-PEND-03: a repeat refreshes `last_seen`, and fills in an address that was not known.
      peers.set(knock.pubkey, { ...knock, ...before, lastSeen: knock.lastSeen, ...(address && { address }) })
    }
    // ALP-PEND-03: the newest, newest first.
    const newest = [...peers.values()].reverse().sort((a, b) => b.lastSeen - a.lastSeen)
    return newest.slice(0, linkLimits.pending)
  }

  #stored(): PendingPeer[] {
    try {
      const bytes = this.#disk.read(this.#path, linkLimits.pendingFileBytes)
      return (bytes ? (readEntries(bytes) ?? []) : []).flatMap(entry => pendingOf(entry) ?? [])
    } catch {
      // ALP-PEND-04.
      return []
    }
  }

  #write(peers: readonly PendingPeer[]): void {
    writeWholeSync(this.#disk, this.#path, Buffer.from(textOf(peers)), { mode: MODE })
    this.#knocks = new Map()
  }
}

const ADDRESS = /^[!-~]{1,256}$/

function pendingOf(entry: unknown): PendingPeer | undefined {
  if (!isMapping(entry) || typeof entry.pubkey !== 'string' || !isPublicKey(entry.pubkey)) return undefined
  const { pubkey, address } = entry
  const lastSeen = secondsOf(entry.last_seen) ?? 0
  const known = typeof address === 'string' && ADDRESS.test(address) ? { address } : {}
  return { pubkey, firstSeen: secondsOf(entry.first_seen) ?? lastSeen, lastSeen, ...known }
}

function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === 'bigint' ? Number(value) : value
  return typeof seconds === 'number' && Number.isFinite(seconds) ? seconds : undefined
}

/** ALP-PEND-02. Texts are quoted as JSON, which YAML reads too. */
function textOf(peers: readonly PendingPeer[]): string {
  if (peers.length === 0) return '[]\n'
  return peers
    .map(({ pubkey, firstSeen, lastSeen, address }) => {
      const times = `  first_seen: ${pythonFloat(firstSeen)}\n  last_seen: ${pythonFloat(lastSeen)}\n`
      const where = address === undefined ? 'null' : JSON.stringify(address)
      return `- pubkey: ${JSON.stringify(pubkey)}\n${times}  address: ${where}\n`
    })
    .join('')
}
