// Verifying an exported run without its trail (W-TRAIL-16), in one pass and with bounded memory. With keys that the
// verifier knows it proves who made the file; without any, only that nobody else changed it since.
import {
  canonicalize,
  isId,
  isTimestamp,
  ParleyError,
  type RunId,
  type Timestamp,
  type Validator,
  type WorkspaceId,
} from '@parley/core'
import { fingerprint } from '@parley/keys'
import { bridgeOf } from '../archive/manifest.ts'
import { isSealed } from '../content/cipher.ts'
import type { EntryDraft, StoredEntry, StoredObject, StoredRecord } from '../entry.ts'
import { isTerminal, type WorkspaceState } from '../events/index.ts'
import { followKeys, keyProblems, type Trust, trustOf } from '../keys/trail-key.ts'
import { trailLimits } from '../limits.ts'
import { pause } from '../log/pause.ts'
import { KIND_BLOB, KIND_HOLE, readRecord, spanRecord } from '../log/record.ts'
import { signatureValid } from '../signing.ts'
import type { RunHead } from '../store/store.ts'
import type { Finding } from '../verify/report.ts'
import { RunVerifier } from '../verify/verify.ts'
import {
  type Bridges,
  bridgesShape,
  EXPORT_FORMAT,
  type ExportContent,
  type ExportEnd,
  type ExportHeader,
  type ExportSeal,
  endShape,
  headerShape,
  PART,
  sealedHash,
  sealShape,
} from './format.ts'
import { type ByteSource, checkFirstLine, type ExportPart, readParts } from './read.ts'

/**
 * What signatures were checked against: keys that the verifier knows or that these lead to, the file's own, or none.
 */
const SIGNATURE_CHECKS = ['trusted', 'file_keys_only', 'none'] as const
type SignatureCheck = (typeof SIGNATURE_CHECKS)[number]

export interface ExportReport {
  readonly format: typeof EXPORT_FORMAT
  /** Nothing was found. Whether that proves anything about who made the file is said by `signatures`. */
  readonly sound: boolean
  readonly run: RunId
  /** As the file claims it; where the file is sound, it is so. */
  readonly head: { readonly seq: number; readonly hash: string }
  readonly entries: number
  /** Deleted after their retention; among `entries`. */
  readonly bridged: number
  /** The root is terminal. */
  readonly ended: boolean
  readonly exported_at: Timestamp
  readonly content: ExportContent
  readonly objects: number
  /** Objects that only the secret of the profile that they come from can open. */
  readonly sealed_objects: number
  readonly left_out: { readonly objects: number; readonly bytes: number }
  readonly signatures: SignatureCheck
  readonly signers: readonly SignerReport[]
  /** Who vouches for head, content and keys; null for nobody. */
  readonly sealed_by: string | null
  /** In order of `seq`; the first one is where the damage begins. */
  readonly findings: readonly Finding[]
  /** What is wrong with the file apart from its entries. */
  readonly problems: readonly string[]
}

interface SignerReport {
  readonly key: string
  readonly fingerprint: string
  readonly entries: number
  readonly trusted: boolean
}

export interface VerifyExportOptions {
  /** Public keys that the verifier knows; any one of a chain of rotations will do. */
  readonly keys?: readonly string[]
  /** Heads that are known from elsewhere; those of other runs say nothing here. */
  readonly heads?: readonly RunHead[]
  /** Gets what was read, in order, before it is known whether the file is sound. */
  readonly take?: (records: readonly StoredRecord[] | Bridges, header: ExportHeader) => Promise<void>
}

/** Entries that are verified before others get their turn. */
const AT_ONCE = 128

/** Fails with `not_an_export`, `export_version`, `export_unreadable` (bad header). All else is in the report. */
export async function verifyExport(source: ByteSource, options: VerifyExportOptions = {}): Promise<ExportReport> {
  return (await examineExport(source, options)).report
}

export async function examineExport(
  source: ByteSource,
  options: VerifyExportOptions = {},
): Promise<{ readonly report: ExportReport; readonly header: ExportHeader; readonly trust: Trust }> {
  const { header, parts, problem } = await openExport(source)
  const examination = new Examination(header, options)
  if (problem) examination.problem(`Part 1 of the file ${problem}.`)
  for await (const part of parts) await examination.part(part)
  return { report: examination.finish(), header, trust: examination.trust }
}

interface OpenedExport {
  readonly header: ExportHeader
  readonly parts: AsyncGenerator<ExportPart>
  readonly problem: string | undefined
}

/** Reads the header. Fails as `verifyExport`. */
export async function openExport(source: ByteSource): Promise<OpenedExport> {
  await checkFirstLine(source)
  const parts = readParts(source)
  const first = await parts.next()
  const header = first.done ? undefined : parsed(first.value, PART.header, headerShape)
  if (header) return { header, parts, problem: first.value?.problem }
  const message = 'The header of the file cannot be read, so nothing of it can be verified. Get it again.'
  throw new ParleyError('export_unreadable', message)
}

function parsed<T>({ kind, content }: ExportPart, wanted: number, shape: Validator<T>): T | undefined {
  if (kind !== wanted || content === undefined) return undefined
  try {
    const text = content.toString('utf8')
    const value: unknown = JSON.parse(text)
    return shape.is(value) && canonicalize(value) === text ? value : undefined
  } catch {
    return undefined
  }
}

class Examination {
  readonly trust: Trust
  readonly #header: ExportHeader
  readonly #options: VerifyExportOptions
  readonly #verifier: RunVerifier
  readonly #problems: string[] = []
  readonly #signers = new Map<string, number>()
  #end: ExportEnd | undefined
  #seal: ExportSeal | undefined
  #seq = 0
  #hash = ''
  readonly #found = { entries: 0, bridged: 0, objects: 0, bytes: 0 }
  #sealed = 0
  #root: WorkspaceId | undefined
  #ended = false

  constructor(header: ExportHeader, options: VerifyExportOptions) {
    const { keys } = options
    this.#header = header
    this.#options = options
    this.trust = keys ? followKeys(keys, header.keys) : trustOf(header.keys)
    this.#verifier = new RunVerifier(header.run, {
      ...this.trust,
      ...(keys && { signed: true }),
      knownHeads: [
        ...(options.heads ?? []).filter(({ run }) => run === header.run),
        { run: header.run, ...header.head },
      ],
    })
    for (const problem of keyProblems(header.keys)) this.problem(problem)
  }

  problem(text: string): void {
    if (this.#problems.length < trailLimits.exportProblems) this.#problems.push(text)
  }

  async part(part: ExportPart): Promise<void> {
    const { number, problem } = part
    if (this.#seal) this.problem(`Part ${number} of the file stands behind its seal.`)
    if (problem) this.problem(`Part ${number} of the file ${problem}.`)
    if (problem && part.content === undefined) this.#verifier.unreadable(`part ${number} of the file`)
    if (part.content === undefined) return
    if (this.#end && part.kind !== PART.seal) return this.problem(`Part ${number} of the file stands behind its end.`)
    switch (part.kind) {
      case PART.records:
        return this.#records(part.content, number)
      case PART.bridges:
        return this.#bridges(parsed(part, PART.bridges, bridgesShape), number)
      case PART.end:
        this.#end = parsed(part, PART.end, endShape)
        if (!this.#end) this.problem(`The end of the file, part ${number}, cannot be read.`)
        return
      case PART.seal:
        return this.#checkSeal(part)
      default:
        return this.problem(`Part ${number} of the file has no place there.`)
    }
  }

  async #records(content: Buffer, number: number): Promise<void> {
    const { run } = this.#header
    let taken: StoredRecord[] = []
    for (let at = 0; at < content.length; ) {
      const span = spanRecord(content, at, content.length)
      if (!span || span.kind === KIND_HOLE || span.kind === KIND_BLOB) {
        this.problem(`Part ${number} of the file holds something that is no record, behind entry ${this.#seq}.`)
        break
      }
      const record = readRecord(content, span)
      at = span.end
      if (record.run !== run) {
        this.problem(`Part ${number} of the file holds a record of another run, behind entry ${this.#seq}.`)
        continue
      }
      if (record.kind === 'entry') this.#entry(record)
      else this.#object(record)
      taken.push(record)
      if (taken.length < AT_ONCE) continue
      await this.#hand(taken)
      taken = []
      await pause()
    }
    await this.#hand(taken)
  }

  async #hand(records: readonly StoredRecord[] | Bridges): Promise<void> {
    if (records.length > 0) await this.#options.take?.(records, this.#header)
  }

  #entry(stored: StoredEntry): void {
    this.#verifier.entry(stored)
    this.#found.entries++
    this.#seq = stored.seq
    this.#hash = stored.hash
    if (stored.signer !== undefined) this.#signers.set(stored.signer, (this.#signers.get(stored.signer) ?? 0) + 1)
    const draft = draftOf(stored.view)
    if (!draft) this.problem(`Entry ${stored.seq} is no entry of a trail.`)
    else this.#follow(draft)
  }

  #follow(draft: EntryDraft): void {
    this.#root ??= draft.workspace ?? undefined
    // Taken of runs that have ended, and what stays where retention has deleted the end (W-TRAIL-28, -30).
    if (draft.event_type === 'trail_snapshot_created') this.#ended = true
    if (draft.event_type !== 'workspace_state_changed' || draft.workspace !== this.#root) return
    const { to_state } = draft.body as { to_state?: WorkspaceState }
    if (to_state !== undefined && isTerminal(to_state)) this.#ended = true
  }

  #object(stored: StoredObject): void {
    this.#found.objects++
    this.#found.bytes += Buffer.byteLength(stored.data)
    if (isSealed(stored.data)) this.#sealed++
    if (this.#header.content === 'none')
      this.problem(`The object ${stored.id} is in a file that says it has no content.`)
    if (stored.seq !== this.#seq + 1) this.problem(`The object ${stored.id} does not stand where it was written.`)
    if (!isId(stored.id) || !isId(stored.objectKind)) this.problem(`An object before entry ${stored.seq} has no id.`)
  }

  async #bridges(bridges: Bridges | undefined, number: number): Promise<void> {
    if (!bridges) return this.problem(`Part ${number} of the file, which bridges deleted entries, cannot be read.`)
    const { run } = this.#header
    for (const entry of bridges.map(each => bridgeOf(run, each))) {
      if (entry.seq !== this.#seq + 1)
        this.problem(`Part ${number} of the file bridges entry ${entry.seq} at the wrong place.`)
      this.#verifier.bridge(entry)
      this.#root ??= entry.workspace ?? undefined
      this.#seq = entry.seq
      this.#hash = entry.hash
      this.#found.entries++
      this.#found.bridged++
    }
    await this.#hand(bridges)
  }

  #checkSeal(part: ExportPart): void {
    const seal = part.raw ? parsed(part, PART.seal, sealShape) : undefined
    if (!seal) {
      this.problem('The seal of the file cannot be read.')
      return
    }
    this.#seal = seal
    const { digest, signer, signature } = seal
    if (digest !== part.before) this.problem('The file is not the one that was sealed: its digest does not match.')
    if (signer === null || signature === null) {
      if (this.#options.keys) this.problem('The file is not sealed: nobody vouches for its head and its content.')
      return
    }
    if (!signatureValid(signer, sealedHash(digest), signature))
      this.problem('The seal of the file has a signature that does not fit.')
    const until = this.trust.retired.get(signer)
    if (!this.trust.trusted.has(signer))
      this.problem(`The file is sealed with a key that is not known: ${signer} (${fingerprint(signer)}).`)
    else if (until !== undefined && this.#header.exported_at > until)
      this.problem(`The file is sealed with a key that had been replaced before, ${fingerprint(signer)}.`)
  }

  finish(): ExportReport {
    const { run, head, content, exported_at } = this.#header
    this.#checkEnd()
    const { findings } = this.#verifier.finish()
    const signed = this.#signers.size > 0 || this.#seal?.signer != null
    return {
      format: EXPORT_FORMAT,
      sound: findings.length === 0 && this.#problems.length === 0,
      run,
      head: { seq: head.seq, hash: head.hash },
      entries: this.#found.entries,
      bridged: this.#found.bridged,
      ended: this.#ended,
      exported_at,
      content,
      objects: this.#found.objects,
      sealed_objects: this.#sealed,
      left_out: this.#end?.left_out ?? { objects: 0, bytes: 0 },
      signatures: this.#options.keys ? 'trusted' : signed ? 'file_keys_only' : 'none',
      signers: [...this.#signers].map(([key, entries]) => ({
        key,
        fingerprint: fingerprint(key),
        entries,
        trusted: this.#options.keys !== undefined && this.trust.trusted.has(key),
      })),
      sealed_by: this.#seal?.signer ?? null,
      findings,
      problems: this.#problems,
    }
  }

  #checkEnd(): void {
    const { head } = this.#header
    if (!this.#seal || !this.#end) this.problem('The file ends too early: it has no seal.')
    if (this.#seq === head.seq && this.#hash !== head.hash)
      this.problem(`The file ends with another entry ${head.seq} than its header says.`)
    if (this.#seq > head.seq) this.problem(`The file holds entries behind its head, ${head.seq}.`)
    const told = this.#end
    if (!told) return
    for (const [what, count] of Object.entries(this.#found)) {
      const said = told[what as 'entries' | 'bridged' | 'objects' | 'bytes']
      if (said !== count) this.problem(`The file says that it holds ${said} ${what}, but there are ${count}.`)
    }
  }
}

/** The fields that an import relies on. */
function draftOf(view: string): EntryDraft | undefined {
  try {
    const draft = JSON.parse(view) as Partial<EntryDraft> | null
    const sound =
      isId(draft?.id) &&
      isTimestamp(draft?.timestamp) &&
      (draft?.workspace === null || isId(draft?.workspace)) &&
      typeof draft?.actor === 'string' &&
      typeof draft.event_type === 'string' &&
      typeof draft.body === 'object'
    return sound ? (draft as EntryDraft) : undefined
  } catch {
    return undefined
  }
}
