// The handshake Noise_XK (ALP-NOISE-01 to -08): the initiator knows the responder's static key and shows its own
// encrypted, in the third message. In ALP prologue and payloads are empty; another protocol on the same keys has a
// prologue of its own.
import { sodium } from '@parley/keys/sodium'
import type { KeyPair } from '../identity/identity.ts'
import { CipherState, TAG_BYTES } from './cipher.ts'
import { SymmetricState } from './symmetric.ts'

const KEY_BYTES = 32
const NOTHING: Buffer = Buffer.alloc(0)

/** ALP-NOISE-04: bytes of the three messages with empty payloads. */
export const MESSAGE_BYTES = [KEY_BYTES + TAG_BYTES, KEY_BYTES + TAG_BYTES, KEY_BYTES + 2 * TAG_BYTES] as const

/** What both sides hold when it is done. */
export interface Session {
  readonly sending: CipherState
  readonly receiving: CipherState
  /** The other side's static X25519 key, which it has proved to hold. */
  readonly remoteStatic: Buffer
  /** The same on both sides, and of this handshake only. */
  readonly hash: Buffer
}

export interface HandshakeOptions {
  readonly prologue?: Buffer
  /** For tests alone: an ephemeral pair is otherwise made anew. */
  readonly ephemeral?: KeyPair
}

export function newKeyPair(): KeyPair {
  const secretKey = Buffer.alloc(sodium.crypto_scalarmult_SCALARBYTES)
  sodium.randombytes_buf(secretKey)
  return keyPairOf(secretKey)
}

export function keyPairOf(secretKey: Buffer): KeyPair {
  const publicKey = Buffer.alloc(sodium.crypto_scalarmult_BYTES)
  sodium.crypto_scalarmult_base(publicKey, secretKey)
  return { publicKey, secretKey }
}

/** ALP-NOISE-08: undefined for a degenerate key, whose shared secret would be all zero. */
function shared(secretKey: Buffer, publicKey: Buffer): Buffer | undefined {
  const secret = Buffer.alloc(sodium.crypto_scalarmult_BYTES)
  try {
    sodium.crypto_scalarmult(secret, secretKey, publicKey)
  } catch {
    return undefined
  }
  return secret
}

/** Mixes a shared secret in; false where there is none. */
function mixShared(state: SymmetricState, secretKey: Buffer, publicKey: Buffer): boolean {
  const secret = shared(secretKey, publicKey)
  if (!secret) return false
  state.mixKey(secret)
  sodium.sodium_memzero(secret)
  return true
}

function begin(responder: Buffer, prologue: Buffer = NOTHING): SymmetricState {
  const state = new SymmetricState()
  state.mixHash(prologue)
  state.mixHash(responder)
  return state
}

/**
 * The side that dials. The methods are called once each, in the order of the messages; undefined means that the
 * handshake has failed and the connection is to be closed without a byte.
 */
export class Initiator {
  readonly #static: KeyPair
  readonly #remote: Buffer
  readonly #ephemeral: KeyPair
  readonly #state: SymmetricState
  #remoteEphemeral: Buffer = NOTHING

  constructor(own: KeyPair, responder: Buffer, options: HandshakeOptions = {}) {
    this.#static = own
    this.#remote = responder
    this.#ephemeral = options.ephemeral ?? newKeyPair()
    this.#state = begin(responder, options.prologue)
  }

  /** `e, es`. */
  first(payload: Buffer = NOTHING): Buffer | undefined {
    this.#state.mixHash(this.#ephemeral.publicKey)
    if (!mixShared(this.#state, this.#ephemeral.secretKey, this.#remote)) return undefined
    return Buffer.concat([this.#ephemeral.publicKey, this.#state.encryptAndHash(payload)])
  }

  /** `e, ee`: the payload. */
  second(message: Buffer): Buffer | undefined {
    if (message.length < MESSAGE_BYTES[1]) return undefined
    this.#remoteEphemeral = Buffer.from(message.subarray(0, KEY_BYTES))
    this.#state.mixHash(this.#remoteEphemeral)
    if (!mixShared(this.#state, this.#ephemeral.secretKey, this.#remoteEphemeral)) return undefined
    return this.#state.decryptAndHash(message.subarray(KEY_BYTES))
  }

  /** `s, se`: the last message, and what comes of it. */
  third(payload: Buffer = NOTHING): { readonly message: Buffer; readonly session: Session } | undefined {
    const own = this.#state.encryptAndHash(this.#static.publicKey)
    if (!mixShared(this.#state, this.#static.secretKey, this.#remoteEphemeral)) return undefined
    const message = Buffer.concat([own, this.#state.encryptAndHash(payload)])
    sodium.sodium_memzero(this.#ephemeral.secretKey)
    const [sending, receiving] = this.#state.split()
    const session = {
      sending: new CipherState(sending),
      receiving: new CipherState(receiving),
      remoteStatic: this.#remote,
      hash: this.#state.handshakeHash,
    }
    return { message, session }
  }
}

/** The side that is dialled; as with `Initiator`, undefined is failure. */
export class Responder {
  readonly #static: KeyPair
  readonly #ephemeral: KeyPair
  readonly #state: SymmetricState
  #remoteEphemeral: Buffer = NOTHING

  constructor(own: KeyPair, options: HandshakeOptions = {}) {
    this.#static = own
    this.#ephemeral = options.ephemeral ?? newKeyPair()
    this.#state = begin(own.publicKey, options.prologue)
  }

  first(message: Buffer): Buffer | undefined {
    if (message.length < MESSAGE_BYTES[0]) return undefined
    this.#remoteEphemeral = Buffer.from(message.subarray(0, KEY_BYTES))
    this.#state.mixHash(this.#remoteEphemeral)
    if (!mixShared(this.#state, this.#static.secretKey, this.#remoteEphemeral)) return undefined
    return this.#state.decryptAndHash(message.subarray(KEY_BYTES))
  }

  second(payload: Buffer = NOTHING): Buffer | undefined {
    this.#state.mixHash(this.#ephemeral.publicKey)
    if (!mixShared(this.#state, this.#ephemeral.secretKey, this.#remoteEphemeral)) return undefined
    return Buffer.concat([this.#ephemeral.publicKey, this.#state.encryptAndHash(payload)])
  }

  third(message: Buffer): { readonly payload: Buffer; readonly session: Session } | undefined {
    if (message.length < MESSAGE_BYTES[2]) return undefined
    const end = KEY_BYTES + TAG_BYTES
    const remoteStatic = this.#state.decryptAndHash(message.subarray(0, end))
    if (!remoteStatic || !mixShared(this.#state, this.#ephemeral.secretKey, remoteStatic)) return undefined
    const payload = this.#state.decryptAndHash(message.subarray(end))
    if (!payload) return undefined
    sodium.sodium_memzero(this.#ephemeral.secretKey)
    const [receiving, sending] = this.#state.split()
    const session = {
      sending: new CipherState(sending),
      receiving: new CipherState(receiving),
      remoteStatic,
      hash: this.#state.handshakeHash,
    }
    return { payload, session }
  }
}
