// The mark that all of a run is in the cold tier (`run.json` in its folder), with the head up to which it is: whoever opens a copy of the tier
// alone knows from it which runs are there, and where they must end.
import { compile, type RunId, Type } from '@parley/core'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import type { RunHead } from '../store/store.ts'
import { COLD, safeName, WHOLE } from './layout.ts'
import type { Replica } from './replica.ts'

const shape = compile(
  Type.Object({
    version: Type.Literal(1),
    run: Type.String(),
    seq: Type.Integer({ minimum: 1 }),
    hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  }),
)

export async function markWhole(files: Files, replica: Replica | undefined, head: RunHead): Promise<void> {
  const { run, seq, hash } = head
  const known = wholeUpTo(files, run)
  if (known?.seq === seq && known.hash === hash) return
  const content = Buffer.from(`${JSON.stringify({ version: 1, run, seq, hash })}\n`)
  await replica?.put(`${safeName(run)}/${WHOLE}`, content)
  await writeWhole(files, `${COLD}/${safeName(run)}/${WHOLE}`, content)
}

export function wholeUpTo(files: Files, run: RunId): RunHead | undefined {
  const bytes = readWhole(files, `${COLD}/${safeName(run)}/${WHOLE}`)
  try {
    const parsed: unknown = bytes && JSON.parse(bytes.toString('utf8'))
    return shape.is(parsed) ? { run, seq: parsed.seq, hash: parsed.hash } : undefined
  } catch {
    return undefined
  }
}
