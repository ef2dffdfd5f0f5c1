// A peer as the list has it (ALP-PEER-01 to -03), and what a person may write there. Reading is lenient, as in the
// reference; what is written is checked first.
import { parsePath } from '@parley/call'
import { ok, type Result, refuse } from '@parley/core'
import { isPublicKey } from '@parley/keys'
import { parseAddress } from '../client/target.ts'
import { linkDefaults, linkLimits } from '../limits.ts'

export interface Peer {
  /** The local handle: never on the wire, never proof of anything (ALP-ID-06). */
  readonly id: string
  /** The identity string. */
  readonly pubkey: string
  readonly alias?: string
  /** `host:port`; left out for a profile of this machine. */
  readonly address?: string
  /** Methods, and operations of the call protocol, that it may call; none if the entry has no list (fail closed). */
  readonly allow: readonly string[]
  /** ALP-RATE-01. */
  readonly perMinute: number
}

/** A peer to pin. */
export type NewPeer = Omit<Peer, 'perMinute'> & Partial<Peer>

/** ALP-PEND-05: what accepting an invite allows by default. */
export const ACCEPTED_METHODS = ['link.ping', 'link.ask'] as const

const WORKGROUP = 'workgroup.'

/** ALP-PEER-03: who may call what. Workgroups test membership themselves. */
export function isAllowed(peer: Peer, method: string): boolean {
  return method.startsWith(WORKGROUP) || peer.allow.includes(method)
}

/** The entry's peer, or why there is none. Integers are bigints, as the file's reader gives them. */
export function readPeer(entry: unknown): Peer | { readonly problem: string } {
  if (!isMapping(entry)) return { problem: 'is no mapping' }
  const id = textOf(entry.id)
  const pubkey = textOf(entry.pubkey)
  if (!id) return { problem: 'has no id that is a text; quote it' }
  if (id.length > linkLimits.peerTextLength) return { problem: 'has an id that is too long' }
  if (!pubkey) return { problem: `(${id}) has no pubkey that is a text; quote it` }
  const alias = textOf(entry.alias)
  const address = textOf(entry.address)
  return {
    id,
    pubkey,
    ...(alias && { alias }),
    ...(address && { address }),
    allow: Array.isArray(entry.allow) ? entry.allow.filter(method => typeof method === 'string') : [],
    perMinute: perMinuteOf(entry.rate_limit),
  }
}

/** ALP-RATE-01: an integer above zero; anything else, a float too, is the default. */
function perMinuteOf(rateLimit: unknown): number {
  const value = isMapping(rateLimit) ? rateLimit.per_minute : undefined
  return typeof value === 'bigint' && value > 0n ? Number(value) : linkDefaults.perMinute
}

/** What its owner meant otherwise: the entry counts, but not as it says. */
export function oddityOf(entry: unknown, { id }: Peer): string | undefined {
  const limit = isMapping(entry) ? entry.rate_limit : undefined
  const unread = isMapping(limit) ? limit.per_minute : limit
  const isRead = typeof unread === 'bigint' && unread > 0n && isMapping(limit)
  if (unread !== undefined && unread !== null && !isRead)
    return `(${id}) has a rate limit that is not a whole number above zero, so ${linkDefaults.perMinute} calls a minute hold`
  if (!isPeerId(id))
    return `(${id}) has an id that no mention can name and that keeps no memory; use letters, digits, "_" and "-"`
  return undefined
}

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

/** A number counts as text, as in Python, since people forget the quotes. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The handles that mentions and threads can name (ALP-MENTION-01, ALP-ASK-08). */
const ID = /^[A-Za-z0-9_-]+$/
const METHOD = /^[a-z]+\.[a-z_]+$/
const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]+$/u

export function isPeerId(id: string): boolean {
  return id.length <= linkLimits.peerIdLength && ID.test(id)
}

/** Whether it may be written to the list; refuses with `invalid_peer`. */
export function checkPeer(peer: NewPeer): Result<unknown> {
  const { id, pubkey, alias, address, allow, perMinute } = peer
  if (!isPeerId(id))
    return invalid(
      `"${id}" cannot be a peer's id: use letters, digits, "_" and "-", at most ${linkLimits.peerIdLength}.`,
    )
  if (!isPublicKey(pubkey))
    return invalid(
      `"${pubkey}" is not a public key: it has 44 characters and ends in "="; ask the peer's owner for it.`,
    )
  if (alias !== undefined && !isLabel(alias)) return invalid(`The alias of ${id} is not one line of text.`)
  if (address !== undefined) {
    const parsed = parseAddress(address)
    if (!parsed.ok) return parsed
    if (!isLabel(address)) return invalid(`The address of ${id} is not one line of text.`)
  }
  if (perMinute !== undefined && !(Number.isSafeInteger(perMinute) && perMinute > 0))
    return invalid(`The rate limit of ${id} must be a whole number above zero.`)
  return checkMethods(allow)
}

export function checkMethods(allow: readonly string[]): Result<unknown> {
  const wrong = allow.find(
    method => !(METHOD.test(method) || isOperation(method)) || method.length > linkLimits.peerTextLength,
  )
  if (wrong !== undefined)
    return invalid(
      `"${wrong}" is neither a method nor an operation; write for example link.ping, link.ask, link.cancel or /runs/list.`,
    )
  if (allow.length > linkLimits.peerMethods)
    return invalid(`A peer can be allowed at most ${linkLimits.peerMethods} methods.`)
  return ok(allow)
}

/** What a peer may call over the call protocol stands in the same list, by its path: `/runs/list`. */
function isOperation(entry: string): boolean {
  const path = entry.startsWith('/') ? parsePath(entry) : undefined
  return path !== undefined && path.node === undefined
}

function isLabel(text: string): boolean {
  return text.length <= linkLimits.peerTextLength && PRINTABLE.test(text)
}

function invalid(message: string): Result<never> {
  return refuse('invalid_peer', message)
}
