// The protocol's version, its capabilities, and how two sides agree (ALX-ENV-02, -05, -06).
import { type Result, refuse } from './errors.ts'
import { received } from './schema/shape.ts'
import { protocolOffer } from './wire/envelope.ts'

/** The only value of `protocol.protocol_version` that this version sends (ALX-VER-06). */
export const ALX_PROTOCOL_VERSION = '1.1'

/** Names that a server of this version advertises. A name that is not here is skipped, wherever it comes from. */
export const CAPABILITIES = [
  'solve',
  'sessions',
  'timeline',
  'runs',
  'kb',
  'settlement',
  'feedback',
  'idempotency',
  'signed-requests',
] as const
export type Capability = (typeof CAPABILITIES)[number]

const offerShape = received(protocolOffer)

/**
 * Whether a request may go on. `protocol` is the member of the body, `header` the value of x-alx-protocol-version,
 * which counts only where the body has no such member. Any minor of the own major will do, and capabilities are never
 * a reason to refuse.
 */
export function negotiate(protocol: unknown, header?: string): Result<undefined> {
  const offer = protocol === undefined && header !== undefined ? { protocol_version: header } : protocol
  if (offer === undefined) return { ok: true, value: undefined }
  const parsed = offerShape.parse(offer)
  if (!parsed.ok) {
    const details = (parsed.error.details ?? []).map(({ path, issue }) => ({
      path: path === '$' ? 'protocol' : `protocol.${path}`,
      issue,
    }))
    return refuse('INVALID_REQUEST', 'protocol is not a version with capabilities', { details })
  }
  const theirs = parsed.value.protocol_version
  if (majorOf(theirs) === majorOf(ALX_PROTOCOL_VERSION)) return { ok: true, value: undefined }
  return refuse(
    'UNSUPPORTED_PROTOCOL_VERSION',
    `protocol version ${theirs} was asked for; this is ${ALX_PROTOCOL_VERSION}`,
    {
      suggestion: `Use a client for protocol version ${majorOf(ALX_PROTOCOL_VERSION)}.x.`,
    },
  )
}

function majorOf(version: string): number {
  return Number(version.split('.')[0])
}
