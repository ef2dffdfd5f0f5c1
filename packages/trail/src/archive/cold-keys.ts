// The public keys that have signed, beside the cold tier and in its replica (`keys.json`), so that anyone who knows one
// of them can verify either. A copy may come from anywhere: only keys that a known key leads to are believed.
import { compile, type RunId, Type } from '@parley/core'
import { KeyRing } from '../keys/key-ring.ts'
import { followKeys, keyProblems, type TrailKey, TrailKeySchema, type Trust } from '../keys/trail-key.ts'
import { trailLimits } from '../limits.ts'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import { COLD, COLD_KEYS, madeFolder, runFolders, safeName } from './layout.ts'
import type { Replica } from './replica.ts'
import { signersIn } from './whole.ts'

const shape = compile(
  Type.Object({
    version: Type.Literal(1),
    keys: Type.Array(TrailKeySchema, { maxItems: 2 * trailLimits.keys }),
  }),
)

/** Brings both copies up to date, the replica first; returns how many files were written. */
export async function keepKeys(files: Files, replica: Replica | undefined): Promise<number> {
  const content = keysToKeep(files)
  if (!content) return 0
  const there = await replica?.use(target => written(target, COLD_KEYS, content))
  return (there ?? 0) + (await written(files, `${COLD}/${COLD_KEYS}`, content))
}

/** What the file is to say; undefined as long as there is nothing in the cold tier, or nobody signs. */
export function keysToKeep(files: Files): Buffer | undefined {
  if (runFolders(files, COLD).length === 0) return undefined
  const own = ownKeys(files)
  if (own.length === 0) return undefined
  // A profile whose cold tier came from a replica has a list of its own that knows less.
  const before = (keysIn(files, `${COLD}/${COLD_KEYS}`) ?? []).filter(({ key }) => !own.some(each => each.key === key))
  const keys = [...before, ...own].slice(-2 * trailLimits.keys)
  return Buffer.from(`${JSON.stringify({ version: 1, keys }, null, 2)}\n`)
}

function ownKeys(files: Files): readonly TrailKey[] {
  try {
    return new KeyRing(files).keys
  } catch {
    // Opening the trail to sign reports it.
    return []
  }
}

async function written(files: Files, path: string, content: Buffer): Promise<number> {
  if (readWhole(files, path)?.equals(content)) return 0
  await madeFolder(files, path.slice(0, Math.max(0, path.lastIndexOf('/'))))
  await writeWhole(files, path, content)
  return 1
}

/** Undefined where it is not there or cannot be read. */
function keysIn(files: Files, path: string): readonly TrailKey[] | undefined {
  try {
    const parsed: unknown = JSON.parse(readWhole(files, path)?.toString('utf8') ?? '')
    return shape.is(parsed) ? parsed.keys : undefined
  } catch {
    return undefined
  }
}

/** Who may have signed a run in a copy of the cold tier, for somebody who knows some keys. */
export function coldTrust(cold: Files, known: Iterable<string>): (run: RunId) => Trust {
  const given = [...known]
  const own = followKeys(given, keysIn(cold, COLD_KEYS) ?? [])
  return run => {
    const foreign = signersIn(cold, safeName(run))
    return foreign ? followKeys(given, foreign) : own
  }
}

export function coldKeyProblems(cold: Files): string[] {
  const own = cold.exists(COLD_KEYS) ? keysIn(cold, COLD_KEYS) : []
  const problems = own ? keyProblems(own) : [`The list of keys, ${COLD_KEYS}, cannot be read.`]
  const foreign = runFolders(cold, '').flatMap(folder => signersIn(cold, folder) ?? [])
  return [...new Set([...problems, ...keyProblems(foreign)])].slice(0, trailLimits.exportProblems)
}
