// Makes messages that no honest sender makes: any body, signed or not, for tests.
import type { LinkIdentity } from '../identity/identity.ts'
import type { WireObject, WireValue } from '../json/value.ts'
import { canonicalText, wireText } from '../json/write.ts'

export interface Forged {
  readonly from?: WireValue
  readonly to: WireValue
  readonly ts: WireValue
  readonly nonce?: WireValue
  readonly v?: WireValue
  readonly sig?: WireValue
  /** Further members of `alp`. */
  readonly more?: WireObject
  /** Members of `alp` that are left out. */
  readonly without?: readonly string[]
  readonly body?: WireObject
}

let forged = 0

/** The body of a request, signed over just what it says unless `sig` says otherwise. */
export function forge(identity: LinkIdentity, options: Forged): WireObject {
  const { body = { id: 'x', method: 'link.ping', params: {} }, without = [] } = options
  const all: WireObject = {
    v: options.v === undefined ? 1 : options.v,
    from: options.from ?? identity.id,
    to: options.to,
    ts: options.ts,
    nonce: options.nonce ?? (forged++).toString(16).padStart(32, '0'),
    ...options.more,
  }
  const alp = Object.fromEntries(Object.entries(all).filter(([name]) => !without.includes(name)))
  const unsigned = { jsonrpc: '2.0', ...body, alp }
  if (without.includes('sig')) return unsigned
  const sig = options.sig ?? identity.sign(Buffer.from(canonicalText(unsigned))).toString('base64')
  return { ...unsigned, alp: { ...alp, sig } }
}

export function forgedBytes(identity: LinkIdentity, options: Forged): Buffer {
  return Buffer.from(wireText(forge(identity, options)))
}
