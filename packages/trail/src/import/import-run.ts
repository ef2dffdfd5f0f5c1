// Importing an exported run: verified while it is read, staged, and made to count at once when all of it was sound. Its
// bytes stay unchanged, so its signatures stay valid; nothing is ever appended to it here.
import { err, ok, ParleyError, type Result, type RunId, type Timestamp } from '@parley/core'
import { fingerprint } from '@parley/keys'
import { type ContentCipher, isSealed, unwrapProven } from '../content/cipher.ts'
import type { StoredRecord } from '../entry.ts'
import { commitError } from '../errors.ts'
import type { Bridges } from '../export/format.ts'
import type { ByteSource } from '../export/read.ts'
import { type ExportReport, examineExport, openExport, verifyExport } from '../export/verify-export.ts'
import type { RunHead, TrailStore } from '../store/store.ts'
import { type ImportRecord, trustedKeys } from './import-record.ts'

export interface TrailImports {
  readonly imports: ReadonlyMap<RunId, ImportRecord>
  /** One at a time for each run: `import_running`. The store has no entry of the run. */
  beginImport(record: ImportRecord): Promise<RunImport>
}

/** Records of one run on their way into a store: invisible before `commit`, all visible after it. */
export interface RunImport {
  add(records: readonly StoredRecord[]): Promise<void>
  bridge(bridges: Bridges): Promise<void>
  /** Durable, and seen by every query asked from then on. */
  commit(record: ImportRecord): Promise<void>
  /** Nothing is left, except blobs that nobody refers to. */
  discard(): Promise<void>
}

export interface ImportOptions {
  readonly keys: readonly string[]
  readonly at: Timestamp
}

export interface Imported {
  readonly report: ExportReport
  /** It was here before, just so. */
  readonly already: boolean
}

/**
 * Refuses with `export_damaged` (details: the first problem), `export_untrusted` (undamaged, but by nobody whose key is
 * trusted; details: `sealed_by`, its fingerprint), `run_exists` (another run of
 * this name, or this one up to another head), and the codes of `verifyExport`.
 */
export async function importRun(
  store: TrailImports & Pick<TrailStore, 'head'>,
  source: ByteSource,
  { keys, at, cipher }: ImportOptions & { readonly cipher?: ContentCipher | undefined },
): Promise<Result<Imported>> {
  if (keys.length === 0) return err(untrusted())
  const { header } = await openExport(source)
  const { run, head, content, exported_at } = header
  const there = await store.head(run)
  if (there) return onTop(there, { run, ...head }, source, keys)
  const record: ImportRecord = {
    version: 1,
    state: 'pending',
    run,
    head,
    content,
    exported_at,
    imported_at: at,
    from: keys[0]!,
    keys: [],
  }
  const running = await store.beginImport(record)
  let done: ImportRecord | undefined
  try {
    const take = (records: readonly StoredRecord[] | Bridges): Promise<void> =>
      isBridges(records) ? running.bridge(records) : running.add(sealedHere(records, cipher))
    const { report, trust } = await examineExport(source, { keys, take })
    const refused = await refusalOf(report, source)
    if (refused) return err(refused)
    done = { ...record, state: 'done', from: report.sealed_by!, keys: trustedKeys(trust, header.keys) }
    await running.commit(done)
    return ok({ report, already: false })
  } catch (cause) {
    done = undefined
    throw cause instanceof ParleyError ? cause : commitError(cause)
  } finally {
    if (!done) await running.discard()
  }
}

/** The same run up to the same entry is here already: that is what was asked for. */
async function onTop(
  there: RunHead,
  { run, seq, hash }: RunHead,
  source: ByteSource,
  keys: readonly string[],
): Promise<Result<Imported>> {
  const { report } = await examineExport(source, { keys })
  const refused = await refusalOf(report, source)
  if (refused) return err(refused)
  if (there.seq === seq && there.hash === hash) return ok({ report, already: true })
  const message = `${run} is here already, up to entry ${there.seq}; the file goes up to entry ${seq}. An import never changes a run that is there.`
  return err(new ParleyError('run_exists', message, { details: { run, here: there.seq, file: seq } }))
}

/** Opened content is stored as our own content is; sealed content needs the secret that sealed it. */
function sealedHere(records: readonly StoredRecord[], cipher: ContentCipher | undefined): readonly StoredRecord[] {
  if (!cipher) return records
  return records.map(each =>
    each.kind === 'object' && !isSealed(each.data) ? cipher.sealObject(unwrapProven(each)) : each,
  )
}

function isBridges(records: readonly StoredRecord[] | Bridges): records is Bridges {
  const [first] = records
  return first !== undefined && !('kind' in first)
}

async function refusalOf(report: ExportReport, source: ByteSource): Promise<ParleyError | undefined> {
  const { sound, findings, problems, signatures, run } = report
  if (sound && signatures === 'trusted') return undefined
  // Signatures of strangers look like damage to whoever trusts other keys: held against its own keys, the file tells.
  const alone = await verifyExport(source)
  if (alone.sound) return untrusted(alone)
  const what = findings[0]?.message ?? problems[0] ?? 'it is not sound'
  return new ParleyError('export_damaged', `The file is damaged, so nothing of ${run} was imported: ${what}`, {
    details: { run, findings: findings.slice(0, 10), problems: problems.slice(0, 10) },
  })
}

function untrusted(report?: Pick<ExportReport, 'run' | 'sealed_by'>): ParleyError {
  const message =
    "An import needs the public key of the file's maker, received from them over a channel that you trust."
  if (!report) return new ParleyError('export_untrusted', message)
  const { run, sealed_by } = report
  const maker =
    sealed_by === null ? 'nobody has sealed it' : `its maker's key, ${fingerprint(sealed_by)}, is not trusted here`
  return new ParleyError(
    'export_untrusted',
    `The file is undamaged, but ${maker}, so nothing of ${run} was imported. ${message}`,
    { details: { run, ...(sealed_by !== null && { sealed_by: fingerprint(sealed_by) }) } },
  )
}
