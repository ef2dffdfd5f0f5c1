// What an archive holds (W-TRAIL-29). The manifest outlives it: after deletion it bridges the gap in the chains.
import { compile, type EntryId, type ObjectId, type RunId, type Static, Type, type WorkspaceId } from '@parley/core'
import { type Files, readWhole } from '../log/files.ts'
import { Count, closed, Hash, idOf, readJson, Seq, Time } from '../shapes.ts'
import type { BridgedEntry } from '../store/store.ts'
import { archiveName, recordsFile } from './layout.ts'
import { unpackSync } from './squeeze.ts'

const listed = { seq: Seq, id: idOf<EntryId>(), timestamp: Time, hash: Hash, at: Count, length: Seq }

/** System-level entries have neither workspace nor local hash. */
const Listed = Type.Object({
  ...listed,
  workspace: Type.Union([idOf<WorkspaceId>(), Type.Null()]),
  local_hash: Type.Union([Hash, Type.Null()]),
})

const ListedObject = Type.Object({
  id: idOf<ObjectId>(),
  seq: Count,
  /** Counts the objects of the run in the order of the log. */
  ordinal: Count,
  at: Count,
  length: Seq,
  blob: Type.Union([Hash, Type.Null()]),
})

const ManifestSchema = closed({
  version: Type.Literal(2),
  /** `workspace`: what compaction took of one workspace (W-TRAIL-27); `run`: all else of a run, as logged. */
  kind: Type.Union([Type.Literal('workspace'), Type.Literal('run')]),
  tier: Type.Union([Type.Literal('warm'), Type.Literal('cold')]),
  run: idOf<RunId>(),
  workspace: Type.Union([idOf<WorkspaceId>(), Type.Null()]),
  /** The archive's number, unique in its trail; its file is `<number>.zst`. */
  archive: Seq,
  /** When it came into its tier. */
  archived_at: Time,
  /** Hash over the entries' local hashes by `seq` (W-TRAIL-27); a system-level entry counts with its global one. */
  archive_hash: Hash,
  /** Bytes of the records before compression, and the SHA-256 of the compressed file where it is known. */
  bytes: Count,
  sha256: Type.Union([Hash, Type.Null()]),
  /** Deleted after its retention. That counts once the records are gone, see `asFound`. */
  deleted: Type.Boolean(),
  /** The newest entry of the run that was known when this was written. */
  head: Type.Union([Type.Object({ seq: Count, hash: Hash }), Type.Null()]),
  /** Of a `run` archive: whatever the run has before this point is in archives, see RunPoint. */
  until: Type.Union([Type.Object({ seq: Count, objects: Count }), Type.Null()]),
  entries: Type.Array(Listed),
  objects: Type.Array(ListedObject),
})
export type Manifest = Static<typeof ManifestSchema>

/** As archives were described before runs had files: entries of one workspace in the cold tier. */
const FirstManifest = closed({
  version: Type.Literal(1),
  run: idOf<RunId>(),
  workspace: idOf<WorkspaceId>(),
  archive: Seq,
  archived_at: Time,
  archive_hash: Hash,
  bytes: Count,
  deleted: Type.Boolean(),
  entries: Type.Array(Type.Object({ ...listed, local_hash: Hash }), { minItems: 1 }),
})

const shape = compile(ManifestSchema)
const firstShape = compile(FirstManifest)

/** W-TRAIL-26: a deletion that was noted but not finished has deleted nothing, in either copy, and can be retried. */
export function asFound(manifest: Manifest, files: Files, folder: string): Manifest {
  const unfinished = manifest.deleted && files.exists(recordsFile(folder, manifest.archive))
  return unfinished ? { ...manifest, deleted: false } : manifest
}

export function parseManifest(bytes: Buffer): Manifest | undefined {
  const manifest = readJson(shape, bytes)
  const parsed = manifest ? undefined : readJson(firstShape, bytes)
  if (!parsed) return manifest
  const { workspace } = parsed
  return {
    ...parsed,
    version: 2,
    kind: 'workspace',
    tier: 'cold',
    sha256: null,
    head: null,
    until: null,
    entries: parsed.entries.map(entry => ({ ...entry, workspace })),
    objects: [],
  }
}

/** Names of the manifests of an archive in one copy of its tier; the newer form comes first. */
export function manifestNames(tier: Files, folder: string, archive: number): string[] {
  return tier
    .list(folder)
    .filter(name => archiveName(name)?.archive === archive && archiveName(name)?.manifest)
    .sort((a, b) => b.length - a.length)
}

/** The manifest of an archive as it counts in one copy of its tier, if it can be read. */
export function manifestIn(tier: Files, folder: string, archive: number): Manifest | undefined {
  const noted = notedIn(tier, folder, archive)
  return noted && asFound(noted, tier, folder)
}

/** The same as it was written: it may note a deletion that has not come to its end there. */
export function notedIn(tier: Files, folder: string, archive: number): Manifest | undefined {
  for (const name of manifestNames(tier, folder, archive)) {
    const bytes = readWhole(tier, `${folder}/${name}`)
    try {
      const manifest = bytes && parseManifest(name.endsWith('.zst') ? unpackSync(bytes) : bytes)
      if (manifest) return manifest
    } catch {
      // The next form may be whole.
    }
  }
  return undefined
}

/** An entry that was deleted, as its manifest tells of it (W-TRAIL-29). */
export function bridgeOf(
  run: RunId,
  { seq, workspace, hash, local_hash }: Pick<Manifest['entries'][number], 'seq' | 'workspace' | 'hash' | 'local_hash'>,
): BridgedEntry {
  return { kind: 'bridge', run, seq, workspace, hash, localHash: local_hash ?? undefined }
}
