// What an archive holds (W-TRAIL-29). The manifest outlives the archive: once that was deleted, it bridges the hole in the chains.
import {
  compile,
  type EntryId,
  type RunId,
  type Static,
  type Timestamp,
  Type,
  type WorkspaceId,
} from '@parley/core'

const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })

export const ManifestSchema = Type.Object(
  {
    version: Type.Literal(1),
    run: Type.Unsafe<RunId>(Type.String({ minLength: 1, maxLength: 64 })),
    workspace: Type.Unsafe<WorkspaceId>(Type.String({ minLength: 1, maxLength: 64 })),
    /** The archive's number, unique in its trail; its file is `<number>.zst`. */
    archive: Type.Integer({ minimum: 1 }),
    archived_at: Type.Unsafe<Timestamp>(Type.String({ minLength: 27, maxLength: 27 })),
    /** Hash over the local hashes of the entries, in `seq` order (W-TRAIL-27). */
    archive_hash: Hash,
    /** Bytes of the records before compression. */
    bytes: Type.Integer({ minimum: 0 }),
    /** The archive was deleted after its retention; the entries are gone. */
    deleted: Type.Boolean(),
    entries: Type.Array(
      Type.Object({
        seq: Type.Integer({ minimum: 1 }),
        id: Type.Unsafe<EntryId>(Type.String({ minLength: 1, maxLength: 64 })),
        timestamp: Type.Unsafe<Timestamp>(Type.String({ minLength: 27, maxLength: 27 })),
        hash: Hash,
        local_hash: Hash,
        at: Type.Integer({ minimum: 0 }),
        length: Type.Integer({ minimum: 1 }),
      }),
      { minItems: 1 },
    ),
  },
  { additionalProperties: false },
)
export type Manifest = Static<typeof ManifestSchema>

const shape = compile(ManifestSchema)

export function parseManifest(bytes: Buffer): Manifest | undefined {
  try {
    const parsed: unknown = JSON.parse(bytes.toString('utf8'))
    return shape.is(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
