// The worked vectors of the requirement sheet, for tests: facts that others computed (fixtures/alp.json), and a
// published vector of Noise (fixtures/noise_xk.json).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { identityFromSeed, type LinkIdentity } from '../identity/identity.ts'
import { parseText } from '../json/parse.ts'
import type { WireValue } from '../json/value.ts'
import { wireText } from '../json/write.ts'

const FOLDER = join(import.meta.dirname, '..', '..', 'fixtures')

function read<T>(file: string): T {
  return JSON.parse(text(file)) as T
}

function text(file: string): string {
  return readFileSync(join(FOLDER, file), 'utf8')
}

export interface IdentityVector {
  readonly name: string
  readonly ed25519_seed_hex: string
  readonly ed25519_pub_hex: string
  readonly pubkey_b64: string
  readonly private_pem: string
  readonly public_pem: string
  readonly x25519_priv_hex: string
  readonly x25519_pub_hex: string
}

interface Vectors {
  readonly identity: readonly IdentityVector[]
  readonly identity_reject: readonly {
    readonly case: string
    readonly ed25519_pub_hex: string
    readonly expect_x25519_pub_hex?: string
  }[]
  readonly canonical_numbers: readonly {
    readonly lexeme: string
    readonly kind: 'int' | 'float'
    readonly canonical: string
  }[]
  readonly canonical_json: readonly {
    readonly input: string
    readonly canonical: string
    readonly canonical_hex: string
  }[]
  readonly envelopes: readonly {
    readonly name: string
    readonly wire: string
    readonly canonical: string
    readonly canonical_sha256: string
    readonly sig_b64: string
  }[]
  readonly verify: readonly {
    readonly name: string
    readonly now: string
    readonly receiver: string
    readonly line: string
    readonly verdict: 'accept' | 'drop'
    readonly reason: string
  }[]
  readonly replay: readonly {
    readonly from: string
    readonly nonce: string
    readonly t_s: number
    readonly admitted: boolean
  }[]
  readonly noise_xk: NoiseVector
  readonly whitespace_set: readonly string[]
  readonly mention_parse: readonly {
    readonly text: string
    readonly known_peers: readonly string[]
    readonly expect: { readonly peer_id: string; readonly prompt: string } | null
  }[]
  readonly files: { readonly replay_journal_line: string }
  readonly rate_limit: readonly {
    readonly cap: number
    readonly times_s: readonly number[]
    readonly admitted: readonly boolean[]
  }[]
  readonly server_checks: readonly {
    readonly method: string | null
    readonly allow: readonly string[]
    readonly over_rate: boolean
    readonly profile_budget_spent: boolean
    readonly expect: 'handler' | { readonly code: number; readonly message: string; readonly data: unknown }
  }[]
  readonly yaml_as_the_reference_writes_it: { readonly peers: string; readonly pending: string }
}

export interface NoiseVector {
  readonly protocol: string
  readonly initiator_static_priv_hex: string
  readonly responder_static_priv_hex: string
  readonly responder_static_pub_hex: string
  readonly initiator_ephemeral_priv_hex: string
  readonly responder_ephemeral_priv_hex: string
  readonly h_after_premessage_hex: string
  readonly frame1_hex: string
  readonly frame2_hex: string
  readonly frame3_hex: string
  readonly handshake_hash_hex: string
  readonly key_initiator_to_responder_hex: string
  readonly key_responder_to_initiator_hex: string
  readonly transport: readonly {
    readonly direction: 'initiator to responder' | 'responder to initiator'
    readonly counter: number
    readonly nonce_hex: string
    readonly plaintext: string
    readonly frame_hex: string
  }[]
}

interface PublishedNoise {
  readonly init_prologue: string
  readonly init_static: string
  readonly init_ephemeral: string
  readonly init_remote_static: string
  readonly resp_static: string
  readonly resp_ephemeral: string
  readonly messages: readonly { readonly payload: string; readonly ciphertext: string }[]
}

export const vectors = read<Vectors>('alp.json')
export const publishedNoise = read<PublishedNoise>('noise_xk.json')

/** `rate_limit_cap_values` with its numbers as they stand there: 10 and 10.0 are not the same. */
export function rateLimitCaps(): { readonly rateLimit: string; readonly cap: number }[] {
  const file = parseText(text('alp.json')) as {
    rate_limit_cap_values: { rate_limit: WireValue; cap: number }[]
  }
  return file.rate_limit_cap_values.map(({ rate_limit, cap }) => ({ rateLimit: wireText(rate_limit), cap }))
}

export function identityVector(name: string): IdentityVector {
  return vectors.identity.find(identity => identity.name === name)!
}

/** The identity of a vector: alice, bob, hub, carol. */
export function identityOf(name: string): LinkIdentity {
  return identityFromSeed(hex(identityVector(name).ed25519_seed_hex))
}

export function hex(text: string): Buffer {
  return Buffer.from(text, 'hex')
}
