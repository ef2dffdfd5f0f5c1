// What is kept of an imported run beside its records (`imports/<run>.json`): its origin, its date, and the keys that
// may have signed it. Written before any record, so that an imported run never passes for one of our own.
import { compile, type RunId, type Static, Type } from '@parley/core'
import { safeName } from '../archive/layout.ts'
import { damagedError } from '../errors.ts'
import { EXPORT_CONTENTS } from '../export/format.ts'
import { type TrailKey, TrailKeySchema, type Trust } from '../keys/trail-key.ts'
import { trailLimits } from '../limits.ts'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import { closed, Hash, idOf, readJson, Seq, Time } from '../shapes.ts'

export const IMPORTS = 'imports'

const ImportRecordSchema = closed({
  version: Type.Literal(1),
  /** `pending`: nothing of it counts, and the next opening removes it. `done`: all of it counts. */
  state: Type.Enum(['pending', 'done']),
  run: idOf<RunId>(),
  head: closed({ seq: Seq, hash: Hash }),
  content: Type.Enum([...EXPORT_CONTENTS]),
  exported_at: Time,
  imported_at: Time,
  /** The key that has sealed the file. */
  from: Type.String({ minLength: 44, maxLength: 44 }),
  /** The keys that may have signed the run; for this run, and for no other. */
  keys: Type.Array(TrailKeySchema, { maxItems: 4 * trailLimits.keys }),
})
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
      const record = readJson(shape, readWhole(files, `${IMPORTS}/${name}`))
      if (record && importFile(record.run) === `${IMPORTS}/${name}`) return record
      const file = `trail/${IMPORTS}/${name}`
      throw damagedError(`${file}, which tells of an imported run, cannot be read. Restore it from a backup.`, { file })
    })
}

/** What of a list of keys is trusted, and what is trusted without being in it. */
export function trustedKeys({ trusted }: Trust, shown: readonly TrailKey[]): TrailKey[] {
  const listed = shown.filter(({ key }) => trusted.has(key))
  const others = [...trusted].filter(key => !listed.some(each => each.key === key))
  return [...listed, ...others.map(key => ({ key, since: null, until: null }))]
}
