// What the library keeps of Knowledge Blocks: bodies of `knowledge_block` and `kb.status`.
import { type AttributionLink, canonicalize as canonicalText, type KbEnvelope } from '@alx/protocol'
import { canonicalize, compile, type LibraryRecord, ParleyError, type Static, Type } from '@parley/core'

const hash = Type.String({ pattern: '^0x[0-9a-f]{64}$' })

const blockShape = Type.Object({
  kbHash: hash,
  envelope: Type.Optional(Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' })),
  /** Instead of it, the canonical text of one that would not come back from a record as it was: `keptEnvelope`. */
  text: Type.Optional(Type.String()),
  kbId: Type.Optional(Type.String()),
  attribution: Type.Array(
    Type.Object({
      parentHash: hash,
      royaltyShareBps: Type.Integer({ minimum: 0, maximum: 10_000 }),
      relationship: Type.Optional(Type.String()),
    }),
  ),
  queryFee: Type.String({ pattern: '^(0|[1-9][0-9]{0,77})$' }),
  /** Made by a run or of a team's plan here, so it may be executed. Never set by what came from outside. */
  made: Type.Optional(Type.Boolean()),
  /** Whose block it is where the record is by `system`: a run's end that a crash cut off. */
  curator: Type.Optional(Type.String()),
  /** Of an imported block: who registered it where it came from, and when. A claim of the file. */
  origin: Type.Optional(Type.Object({ curator: Type.String(), createdAt: Type.String() })),
})
export type BlockBody = Readonly<Static<typeof blockShape>>

/** `hold`: the same block was made for another user too, who may read it from now on. */
const STATUS_ACTS = ['deprecate', 'slash', 'share', 'trust', 'distrust', 'hold'] as const
export type StatusAct = (typeof STATUS_ACTS)[number]

const statusShape = Type.Object({
  kbHash: hash,
  act: Type.Unsafe<StatusAct>({ type: 'string', enum: [...STATUS_ACTS] }),
  reason: Type.Optional(Type.String()),
  /** Who holds it from now on, where the record is by `system`. */
  holder: Type.Optional(Type.String()),
})
export type StatusBody = Readonly<Static<typeof statusShape>>

const blockBody = compile(blockShape)
const statusBody = compile(statusShape)

/** Undefined for a record of another type or of a shape that this version does not know. */
export function blockBodyOf({ type, body }: LibraryRecord): BlockBody | undefined {
  return type === 'knowledge_block' && blockBody.is(body) ? body : undefined
}

export function statusBodyOf({ type, body }: LibraryRecord): StatusBody | undefined {
  return type === 'kb.status' && statusBody.is(body) ? body : undefined
}

/** Levels of nesting that a record of the library puts around a body, and some more. */
const AROUND = ['[[[[[[[[', ']]]]]]]]'] as const

/** How a record keeps an envelope: as it is, unless it is nested too deeply for the library's own canonical form. */
export function keptEnvelope(envelope: KbEnvelope): Pick<BlockBody, 'envelope' | 'text'> {
  const text = canonicalText(envelope)
  return comesBack(envelope, text) ? { envelope: { ...envelope } } : { text }
}

function comesBack(envelope: KbEnvelope, text: string): boolean {
  try {
    return canonicalize([[[[[[[[envelope]]]]]]]]) === `${AROUND[0]}${text}${AROUND[1]}`
  } catch (thrown) {
    if (thrown instanceof ParleyError) return false
    throw thrown
  }
}

/** Undefined where it lacks a member that is used here: a library can have been written by a later version. */
export function envelopeOf({ envelope, text }: BlockBody): KbEnvelope | undefined {
  try {
    const read = (envelope ?? JSON.parse(text ?? 'null')) as KbEnvelope
    const { type, domain, sources, payload } = read
    const isObject = typeof payload === 'object' && payload !== null
    return typeof type === 'string' && typeof domain === 'string' && Array.isArray(sources) && isObject
      ? read
      : undefined
  } catch {
    return undefined
  }
}

/** Whose block it is: after a crash, `system` registers what a user's run made. */
export function curatorOf({ by }: LibraryRecord, { curator }: BlockBody): string {
  return by === 'system' ? (curator ?? by) : by
}

/** Who holds a block from this record on. */
export function holderOf({ by }: LibraryRecord, { holder }: StatusBody): string {
  return by === 'system' ? (holder ?? by) : by
}

export function linksOf({ attribution }: BlockBody): readonly AttributionLink[] {
  return attribution as readonly AttributionLink[]
}

/** A time of the library in the wire's form, which counts milliseconds. */
export function isoOf({ timestamp }: Pick<LibraryRecord, 'timestamp'>): string {
  return `${timestamp.slice(0, 23)}Z`
}
