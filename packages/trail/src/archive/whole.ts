// The mark that all of a run is in the cold tier (`run.json`), with its head: where the run must end in a copy.
import { compile, type RunId, type Static, Type } from '@parley/core'
import { type TrailKey, TrailKeySchema } from '../keys/trail-key.ts'
import { trailLimits } from '../limits.ts'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import { Hash, readJson, Seq } from '../shapes.ts'
import type { RunHead } from '../store/store.ts'
import { COLD, safeName, WHOLE } from './layout.ts'
import type { Replica } from './replica.ts'

const MarkSchema = Type.Object({
  version: Type.Literal(1),
  run: Type.String(),
  seq: Seq,
  hash: Hash,
  /** Of an imported run: the keys that may have signed it, which are not those of this trail. */
  keys: Type.Optional(Type.Array(TrailKeySchema, { maxItems: 4 * trailLimits.keys })),
})
const shape = compile(MarkSchema)

export async function markWhole(
  files: Files,
  replica: Replica | undefined,
  { run, seq, hash }: RunHead,
  keys: readonly TrailKey[] | undefined,
): Promise<void> {
  const path = `${safeName(run)}/${WHOLE}`
  const content = Buffer.from(`${JSON.stringify({ version: 1, run, seq, hash, keys })}\n`)
  if (readWhole(files, `${COLD}/${path}`)?.equals(content)) return
  await replica?.put(path, content)
  await writeWhole(files, `${COLD}/${path}`, content)
}

export function wholeUpTo(files: Files, run: RunId): RunHead | undefined {
  const mark = markIn(files, `${COLD}/${safeName(run)}`)
  return mark && { run, seq: mark.seq, hash: mark.hash }
}

/** The keys that a copy of the cold tier names for an imported run, by its folder; undefined for a run of its own. */
export function signersIn(cold: Files, folder: string): readonly TrailKey[] | undefined {
  return markIn(cold, folder)?.keys
}

function markIn(files: Files, folder: string): Static<typeof MarkSchema> | undefined {
  return readJson(shape, readWhole(files, `${folder}/${WHOLE}`))
}
