// A run as one file, `parley-run/1`: what is on record of it, in the bytes that were hashed and signed, so that anybody
// can verify it with nothing but a public key. Read and written a part at a time.
//
//   "parley-run/1\n" · parts: header · records and bridges in the order of the log · end · seal
//   part: u8 kind · u8 coding (0 as it is, 1 zstd) · u16 0 · u32 length · u32 length as stored ·
//         32 bytes SHA-256 of the content · content
//
// `records` holds entries and objects in the form of the log (log/record.ts), objects always whole. `bridges` stand for
// entries that were deleted after their retention. The seal is a signature over the SHA-256 of every byte before it:
// entries are signed one by one, but objects, the head and the list of keys have nothing else to hold them.
import { hash } from 'node:crypto'
import { compile, type EntryId, type RunId, type Static, Type, type WorkspaceId } from '@parley/core'
import { TrailKeySchema } from '../keys/trail-key.ts'
import { trailLimits } from '../limits.ts'
import { Count, closed, Hash, PublicKey, Seq, Signature, Time } from '../shapes.ts'

export const EXPORT_NAME = 'parley-run'
const EXPORT_VERSION = 1
export const EXPORT_FORMAT = `${EXPORT_NAME}/${EXPORT_VERSION}`
export const FIRST_LINE = Buffer.from(`${EXPORT_FORMAT}\n`)

export const PART_HEADER = 44
export const PART = { header: 1, records: 2, bridges: 3, end: 4, seal: 5 } as const
export type PartKind = (typeof PART)[keyof typeof PART]

/** `stored`: as the trail keeps it, sealed where it seals; `opened`: as it was handed in; `none`: left out. */
export const EXPORT_CONTENTS = ['stored', 'opened', 'none'] as const
export type ExportContent = (typeof EXPORT_CONTENTS)[number]

const Id = Type.String({ minLength: 1, maxLength: 64, pattern: '^[\\x21-\\x7e]+$' })

const ExportHeaderSchema = closed({
  format: Type.Literal(EXPORT_FORMAT),
  run: Type.Unsafe<RunId>(Id),
  /** Up to where: the newest entry when the export began. */
  head: closed({ seq: Seq, hash: Hash }),
  content: Type.Enum([...EXPORT_CONTENTS]),
  exported_at: Time,
  /** Every key that may have signed, with how each came after the one before it. */
  keys: Type.Array(TrailKeySchema, { maxItems: 2 * trailLimits.keys }),
})
export type ExportHeader = Static<typeof ExportHeaderSchema>

const BridgesSchema = Type.Array(
  closed({
    seq: Seq,
    id: Type.Unsafe<EntryId>(Id),
    timestamp: Time,
    workspace: Type.Union([Type.Unsafe<WorkspaceId>(Id), Type.Null()]),
    hash: Hash,
    local_hash: Type.Union([Hash, Type.Null()]),
  }),
  { minItems: 1 },
)
export type Bridges = Static<typeof BridgesSchema>

const ExportEndSchema = closed({
  entries: Count,
  /** Entries that were deleted after their retention; they are among `entries`. */
  bridged: Count,
  objects: Count,
  bytes: Count,
  left_out: closed({ objects: Count, bytes: Count }),
})
export type ExportEnd = Static<typeof ExportEndSchema>

const ExportSealSchema = closed({
  digest: Hash,
  signer: Type.Union([PublicKey, Type.Null()]),
  signature: Type.Union([Signature, Type.Null()]),
})
export type ExportSeal = Static<typeof ExportSealSchema>

export const headerShape = compile(ExportHeaderSchema)
export const bridgesShape = compile(BridgesSchema)
export const endShape = compile(ExportEndSchema)
export const sealShape = compile(ExportSealSchema)

/** What the seal signs, apart from anything else that the same key signs. */
export function sealedHash(digest: string): string {
  return hash('sha256', `parley-run-seal/1\n${digest}`, 'hex')
}

export interface PartFrame {
  readonly kind: number
  readonly compressed: boolean
  readonly length: number
  readonly stored: number
  readonly digest: string
}

export function writePartHeader(frame: PartFrame): Buffer {
  const header = Buffer.alloc(PART_HEADER)
  header[0] = frame.kind
  header[1] = frame.compressed ? 1 : 0
  header.writeUInt32LE(frame.length, 4)
  header.writeUInt32LE(frame.stored, 8)
  header.write(frame.digest, 12, 'hex')
  return header
}

/** Undefined for bytes that are no header of a part, or of one above the limits. */
export function readPartHeader(source: Buffer): PartFrame | undefined {
  if (source.length < PART_HEADER) return undefined
  const [kind, coding] = [source[0]!, source[1]!]
  const [length, stored] = [source.readUInt32LE(4), source.readUInt32LE(8)]
  if (kind < PART.header || kind > PART.seal || coding > 1 || source.readUInt16LE(2) !== 0) return undefined
  if (length > trailLimits.exportPartBytes || stored > trailLimits.exportPartBytes) return undefined
  if (coding === 0 && length !== stored) return undefined
  return { kind, compressed: coding === 1, length, stored, digest: source.toString('hex', 12, PART_HEADER) }
}
