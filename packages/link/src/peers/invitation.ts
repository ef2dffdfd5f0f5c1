// The one line that people send each other to be pinned: a key, its address, and a name that its owner proposes. It
// goes by hand or mail, never over ALP (ALP-PEND-06), and proves nothing: the fingerprint is compared aloud.
import { ok, type Result, refuse } from '@parley/core'
import { isPublicKey } from '@parley/keys'
import { parseAddress } from '../client/target.ts'
import { publicKeyOf } from '../identity/identity.ts'
import { linkLimits } from '../limits.ts'
import { trim } from '../text.ts'
import { isPeerId } from './peer.ts'

export interface Invitation {
  readonly pubkey: string
  /** `host:port`; left out for a profile of the same machine. */
  readonly address?: string
  /** Proposed by its owner; the person who pins it chooses. */
  readonly name?: string
}

const SCHEME = 'alp://'
const FORM = /^alp:\/\/([A-Za-z0-9_-]{43})(?:@([^\s#@]+))?(?:#([^\s#]+))?$/

/** `alp://<key>@<host>:<port>#<name>`: nothing in it that a shell or a mail program would change. */
export function writeInvitation({ pubkey, address, name }: Invitation): string {
  const key = publicKeyOf(pubkey)!.toString('base64url')
  return `${SCHEME}${key}${address === undefined ? '' : `@${address}`}${name === undefined ? '' : `#${name}`}`
}

/** Refuses with `bad_invitation`. */
export function readInvitation(text: string): Result<Invitation> {
  const line = trim(text)
  const found = line.length <= linkLimits.invitationLength ? FORM.exec(line) : null
  if (!found) return bad('it must be one line that begins with alp://; copy the whole of it')
  const [, key, address, name] = found
  const bytes = Buffer.from(key!, 'base64url')
  const pubkey = bytes.toString('base64')
  // One spelling for one key: the last character of another one would be lost.
  if (bytes.toString('base64url') !== key || !isPublicKey(pubkey)) return bad('its key is damaged; copy the line again')
  if (address !== undefined && !parseAddress(address).ok) return bad(`"${address}" is no address`)
  if (name !== undefined && !isPeerId(name)) return bad(`"${name}" cannot be a peer's name`)
  return ok({ pubkey, ...(address !== undefined && { address }), ...(name !== undefined && { name }) })
}

function bad(why: string): Result<never> {
  return refuse('bad_invitation', `This is no invitation: ${why}.`)
}
