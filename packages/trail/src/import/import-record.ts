// What is kept of an imported run beside its records (`imports/<run>.json`): from whom it is, since when, and which
// keys may have signed it. It is there before any record is, so that a run from elsewhere is never taken for one of our
// own.
import { compile, type RunId, type Static, type Timestamp, Type } from '@parley/core'
import { safeName } from '../archive/layout.ts'
import { damagedError } from '../errors.ts'
import { EXPORT_CONTENTS } from '../export/format.ts'
import { type TrailKey, TrailKeySchema, type Trust } from '../keys/trail-key.ts'
import { trailLimits } from '../limits.ts'
import { type Files, readWhole, writeWhole } from '../log/files.ts'

export const IMPORTS = 'imports'

const closed = { additionalProperties: false } as const
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Time = Type.Unsafe<Timestamp>(Type.String({ minLength: 27, maxLength: 27 }))

const ImportRecordSchema = Type.Object(
  {
    version: Type.Literal(1),
    /** `pending`: nothing of it counts, and the next opening removes it. `done`: all of it counts. */
    state: Type.Enum(['pending', 'done']),
    run: Type.Unsafe<RunId>(Type.String({ minLength: 1, maxLength: 64 })),
    head: Type.Object({ seq: Type.Integer({ minimum: 1 }), hash: Hash }, closed),
    content: Type.Enum([...EXPORT_CONTENTS]),
    exported_at: Time,
    imported_at: Time,
    /** The key that has sealed the file. */
    from: Type.String({ minLength: 44, maxLength: 44 }),
    /** The keys that may have signed the run; for this run, and for no other. */
    keys: Type.Array(TrailKeySchema, { maxItems: 4 * trailLimits.keys }),
  },
  closed,
)
export type ImportRecord = Static<typeof ImportRecordSchema>

const shape = compile(ImportRecordSchema)

function importFile(run: RunId): string {
  return `${IMPORTS}/${safeName(run)}.json`
}

export async function writeImport(files: Files, record: ImportRecord): Promise<void> {
  files.makeFolder(IMPORTS)
  await files.syncFolder('')
  await writeWhole(files, importFile(record.run), Buffer.from(`${JSON.stringify(record)}\n`))
}

export async function removeImport(files: Files, run: RunId): Promise<void> {
  if (!files.exists(importFile(run))) return
  files.remove(importFile(run))
  await files.syncFolder(IMPORTS)
}

/** Fails with `trail_damaged`: without its record an imported run would pass for one of our own. */
export function readImports(files: Files): ImportRecord[] {
  return files
    .list(IMPORTS)
    .filter(name => name.endsWith('.json'))
    .map(name => {
      const record = parsed(readWhole(files, `${IMPORTS}/${name}`))
      if (record && importFile(record.run) === `${IMPORTS}/${name}`) return record
      const file = `trail/${IMPORTS}/${name}`
      throw damagedError(`${file}, which tells of an imported run, cannot be read. Restore it from a backup.`, { file })
    })
}

function parsed(bytes: Buffer | undefined): ImportRecord | undefined {
  try {
    const value: unknown = JSON.parse(bytes?.toString('utf8') ?? '')
    return shape.is(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What of a list of keys is trusted, and what is trusted without being in it. */
export function trustedKeys({ trusted }: Trust, shown: readonly TrailKey[]): TrailKey[] {
  const listed = shown.filter(({ key }) => trusted.has(key))
  const others = [...trusted].filter(key => !listed.some(each => each.key === key))
  return [...listed, ...others.map(key => ({ key, since: null, until: null }))]
}
