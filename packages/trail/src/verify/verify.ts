// Verification (W-TRAIL-16): recomputes both chains from the stored bytes, checks anchors and signatures, compares with
// the newest known heads. Each finding names the entry and the kind of damage; nothing is repaired here.
import type { EntryId, RunId, WorkspaceId } from '@parley/core'
import type { Manifest } from '../archive/manifest.ts'
import type { StoredEntry } from '../entry.ts'
import type { Violation } from '../events/names.ts'
import { trailLimits } from '../limits.ts'
import { localView, type ViewTail, viewTail, viewTimestamp } from '../log/view.ts'
import { sha256 } from '../run/chain.ts'
import { signatureValid } from '../signing.ts'
import type { LostArchive } from '../store/lost-archives.ts'
import type { BridgedEntry, RunHead, ScannedRecord, TrailStore } from '../store/store.ts'
import { DAMAGE, type DamageKind, type Finding, type VerifyOptions, type VerifyReport, violationOf } from './report.ts'

type Hash = string | null | undefined

/** How many recent hashes are remembered, to tell a fork from a displaced entry. */
const REMEMBERED = 4096

export class RunVerifier {
  readonly #run: RunId
  readonly #options: VerifyOptions
  /** Who knows what may not agree: all of it counts. */
  readonly #known: Map<number, RunHead[]>
  readonly #findings = new Map<number, Finding>()
  readonly #locals = new Map<WorkspaceId, string>()
  readonly #recent = new Map<number, string>()
  readonly #gaps = new Map<number, number>()
  /** Places of retired keys in their order; all that are not retired stand behind them. */
  readonly #places: ReadonlyMap<string, number>
  #place = 0
  #signed: boolean
  /** Entries up to here are not looked at. */
  #begin = 0
  #seq = 0
  #hash: string | null = null
  #entries = 0
  #bridged = false
  /** What the run itself says may be deleted: archives by their hash, and everything up to a `seq`. */
  readonly #compacted = new Set<string>()
  #frozen = 0

  constructor(run: RunId, options: VerifyOptions = {}) {
    this.#run = run
    this.#options = options
    this.#signed = options.signed ?? false
    this.#places = new Map([...(options.retired?.keys() ?? [])].map((key, index) => [key, index]))
    this.#known = Map.groupBy(options.knownHeads ?? [], head => head.seq)
    if (!options.behind) return
    const { seq, hash, locals } = options.behind
    this.#begin = seq
    this.#seq = seq
    this.#hash = hash
    if (hash !== null) this.#recent.set(seq, hash)
    for (const [workspace, head] of locals) this.#locals.set(workspace, head.hash)
  }

  /** A place of the store that could not be read at all. */
  unreadable(where: string): void {
    this.#report(this.#seq + 1, null, 'unreadable', `${where} cannot be read`, 'a sound commit', 'damaged bytes')
  }

  /** An archive that held this entry was removed, whether its entries are somewhere else or not. */
  lost({ seq, archive }: LostArchive): void {
    const what = `archive ${archive} is gone, which held entry ${seq}: what it held is not shown any more`
    this.#report(seq, null, 'missing', what, `archive ${archive}`, 'none')
  }

  get seq(): number {
    return this.#seq
  }

  /** Entries were deleted, and what is left says whether that was allowed. */
  get bridges(): boolean {
    return this.#bridged
  }

  /**
   * Whether deletions were allowed (W-TRAIL-28): an entry that stays must cover each archive. A manifest is not signed:
   * anybody could make one claim that its archive was deleted.
   */
  deletions(manifests: readonly Manifest[]): void {
    const deleted = manifests.filter(manifest => manifest.deleted)
    const runGone = deleted.some(({ kind }) => kind === 'run')
    for (const { kind, archive, archive_hash, entries } of deleted) {
      const [first, last] = [entries[0]?.seq ?? 0, entries.at(-1)?.seq ?? 0]
      const covered = kind === 'run' ? this.#frozen >= last : this.#compacted.has(archive_hash) || runGone
      if (covered || first <= this.#begin) continue
      const what = `entries of archive ${archive} were deleted, and no entry that stays says that they might be`
      this.#report(first, null, 'missing', what, archive_hash, 'none')
    }
  }

  /** Takes a record of a scan; an object proves nothing. */
  take(record: ScannedRecord): void {
    if (record.kind === 'entry') this.entry(record)
    else if (record.kind === 'bridge') this.bridge(record)
    else if (record.kind === 'damage') this.unreadable(record.where)
  }

  bridge(entry: BridgedEntry): void {
    if (entry.seq <= this.#begin) return
    this.#bridged = true
    this.#entries++
    this.#placed(entry.seq, entry.hash)
    if (entry.workspace !== null && entry.localHash) this.#locals.set(entry.workspace, entry.localHash)
  }

  entry(stored: StoredEntry): void {
    if (stored.seq <= this.#begin) return
    this.#entries++
    const tail = viewTail(stored.view)
    const computed = sha256(stored.view)
    if (stored.seq === this.#begin + 1 && stored.signature !== undefined) this.#signed = true
    const sound =
      this.#checkOrder(stored, tail) && this.#checkHashes(stored, tail, computed) && this.#checkSignature(stored)
    const known = this.#known.get(stored.seq)?.find(({ hash }) => hash !== stored.hash)
    if (sound && known) {
      this.#bad(stored, 'rolled_back', 'is not the one that was acknowledged at this place', known.hash, stored.hash)
    }
    if (sound) this.#noteCover(stored.view)
    if (stored.seq > this.#seq || this.#seq === 0) this.#placed(stored.seq, stored.hash)
    if (tail?.workspace != null && tail.localHash) this.#locals.set(tail.workspace, tail.localHash)
  }

  get finding(): Finding | undefined {
    return this.#findings.values().next().value
  }

  finish(): VerifyReport {
    const newest = [...this.#known.values()]
      .flat()
      .reduce<RunHead | undefined>((a, b) => (a && a.seq > b.seq ? a : b), undefined)
    if (newest && newest.seq > this.#seq) {
      const message = `the log ends at ${this.#seq}, but ${newest.seq} was acknowledged`
      this.#report(this.#seq + 1, null, 'truncated', message, newest.hash, this.#hash ?? 'none')
    }
    const findings = [...this.#findings.values()].sort((a, b) => a.seq - b.seq)
    return {
      run: this.#run,
      entries: this.#entries,
      head: this.#hash === null ? undefined : { run: this.#run, seq: this.#seq, hash: this.#hash },
      findings,
      violations: findings.map(violationOf),
    }
  }

  #noteCover(view: string): void {
    if (view.includes('"event_type":"trail_compacted"')) this.#compacted.add(bodyOf(view).archive_hash as string)
    if (view.includes('"event_type":"trail_snapshot_created"'))
      this.#frozen = Math.max(this.#frozen, Number(bodyOf(view).up_to))
  }

  #placed(seq: number, hash: string): void {
    this.#seq = seq
    this.#hash = hash
    this.#recent.set(seq, hash)
    this.#recent.delete(seq - REMEMBERED)
  }

  /** Step 3: position and link. */
  #checkOrder(stored: StoredEntry, tail: ViewTail | undefined): boolean {
    const prev = tail?.prevHash ?? null
    const { seq } = stored
    if (seq === this.#seq + 1) {
      if (prev === this.#hash) return true
      const what = `does not follow entry ${this.#seq}: one of the two was put there later`
      return this.#bad(stored, 'spliced', what, this.#hash, prev)
    }
    if (seq > this.#seq) {
      const gap = seq === this.#seq + 2 ? `entry ${seq - 1} is` : `entries ${this.#seq + 1} to ${seq - 1} are`
      this.#gaps.set(this.#seq + 1, seq)
      return this.#bad(stored, 'missing', `follows a gap: ${gap} missing`, this.#hash, prev)
    }
    const displaced = this.#gaps.get(seq)
    if (displaced !== undefined) {
      // Not missing after all: it stands further back.
      this.#findings.delete(displaced)
      return this.#bad(stored, 'reordered', `stands behind entry ${this.#seq}`, this.#recent.get(seq - 1), prev)
    }
    const before = seq === 1 ? null : this.#recent.get(seq - 1)
    if (prev === before && this.#recent.get(seq) !== stored.hash) {
      return this.#bad(stored, 'forked', 'is a second entry at this place', this.#recent.get(seq), stored.hash)
    }
    return this.#bad(stored, 'reordered', `stands again behind entry ${this.#seq}`, this.#hash, prev)
  }

  /** Steps 2 and 4: the entry's own hash, and the anchor of its local view. */
  #checkHashes(stored: StoredEntry, tail: ViewTail | undefined, computed: string): boolean {
    if (computed !== stored.hash || tail === undefined) {
      return this.#bad(stored, 'edited', 'does not match its hash', stored.hash, computed)
    }
    if (tail.workspace === null) return true
    const local = sha256(localView(tail, this.#locals.get(tail.workspace) ?? null))
    if (local === tail.localHash) return true
    const what = `does not match the local trail of ${tail.workspace}`
    return this.#bad(stored, 'edited', what, tail.localHash ?? 'none', local)
  }

  /** Step 5. */
  #checkSignature(stored: StoredEntry): boolean {
    if (stored.signature === undefined || stored.signer === undefined) {
      return this.#signed
        ? this.#bad(stored, 'signature', 'is not signed, though its run is', 'a signature', 'none', 'proof_missing')
        : true
    }
    if (this.#options.skipSignatures) return true
    const { trusted } = this.#options
    if (trusted && !trusted.has(stored.signer)) {
      const what = 'is signed with a key that is not known'
      return this.#bad(stored, 'signature', what, [...trusted].join(' '), stored.signer)
    }
    const vouched = stored.seq < (this.#options.signaturesFrom ?? 0)
    if (!vouched && !signatureValid(stored.signer, stored.hash, stored.signature)) {
      return this.#bad(stored, 'signature', 'has a signature that does not fit', stored.signer, stored.signature)
    }
    return this.#checkKey(stored, stored.signer)
  }

  /** A key that was replaced signs nothing any more: neither later than its end, nor behind an entry of a later key. */
  #checkKey(stored: StoredEntry, signer: string): boolean {
    const until = this.#options.retired?.get(signer)
    const timestamp = viewTimestamp(stored.view)
    if (until !== undefined && timestamp > until) {
      const what = 'is signed with a key that had been replaced before'
      return this.#bad(stored, 'signature', what, until, timestamp)
    }
    const place = this.#places.get(signer) ?? this.#places.size
    if (place < this.#place) {
      const what = 'is signed with a former key, though an entry before it has a later one'
      return this.#bad(stored, 'signature', what, 'a later key', signer)
    }
    this.#place = place
    return true
  }

  #bad(
    stored: StoredEntry,
    damage: DamageKind,
    what: string,
    expected: Hash,
    actual: Hash,
    violation?: Violation,
  ): false {
    this.#report(stored.seq, idOf(stored.view), damage, what, expected, actual, violation)
    return false
  }

  #report(
    seq: number,
    entry: EntryId | null,
    damage: DamageKind,
    what: string,
    expected: Hash,
    actual: Hash,
    violation: Violation = DAMAGE[damage],
  ): void {
    if (this.#findings.has(seq) || this.#findings.size >= trailLimits.findings) return
    const message = entry === null ? `${this.#run}: ${what}` : `${this.#run}: entry ${seq} (${entry}) ${what}`
    const shown = { expected: expected ?? 'null', actual: actual ?? 'null' }
    this.#findings.set(seq, { seq, entry, damage, violation, message, ...shown })
  }
}

function idOf(view: string): EntryId | null {
  try {
    return (JSON.parse(view) as { id: EntryId }).id
  } catch {
    return null
  }
}

function bodyOf(view: string): Readonly<Record<string, unknown>> {
  return (JSON.parse(view) as { readonly body: Readonly<Record<string, unknown>> }).body
}

/**
 * Judges the deletions of a run once all of it was read. What covers a deletion was durable before it, perhaps not when
 * the reading came there: the end is read again. Deletions in an imported run were judged when it came; for a copy of
 * the cold tier, what covers them may still be in the log.
 */
export async function judgeDeletions(store: TrailStore, run: RunId, verifier: RunVerifier): Promise<void> {
  if (!verifier.bridges || store.readOnly || store.imports.has(run)) return
  const manifests = await store.tiers.manifests(run)
  const { seq: last } = verifier
  for await (const records of store.scan(run, last)) {
    for (const record of records) if (record.kind === 'entry' && record.seq > last) verifier.entry(record)
  }
  verifier.deletions(manifests)
}
