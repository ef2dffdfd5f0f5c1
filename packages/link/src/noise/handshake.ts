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

/** What both sides hold in the end. */
export interface Session {
  readonly sending: CipherState
  readonly receiving: CipherState
  /** The other side's static X25519 key, which it has proved to hold. */
  readonly remoteStatic: Buffer
  /** The same on both sides, and of this handshake only. */
  readonly hash: Buffer
}

export interface HandshakeOptions {
  readonly prologue?: Buffer | undefined
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

/**
 * What both sides do. Their methods are called once each, in the order of the messages; undefined means that the
 * handshake has failed and the connection is to be closed without a byte.
 */
abstract class Handshake {
  protected readonly own: KeyPair
  protected readonly state = new SymmetricState()
  protected readonly ephemeral: KeyPair
  protected remoteEphemeral: Buffer = NOTHING

  constructor(own: KeyPair, responder: Buffer, { prologue = NOTHING, ephemeral = newKeyPair() }: HandshakeOptions) {
    this.own = own
    this.ephemeral = ephemeral
    this.state.mixHash(prologue)
    this.state.mixHash(responder)
  }

  /** Mixes a shared secret in. ALP-NOISE-08: false for a degenerate key, whose secret would be all zero. */
  protected mix({ secretKey }: KeyPair, publicKey: Buffer): boolean {
    const secret = Buffer.alloc(sodium.crypto_scalarmult_BYTES)
    try {
      sodium.crypto_scalarmult(secret, secretKey, publicKey)
    } catch {
      return false
    }
    this.state.mixKey(secret)
    sodium.sodium_memzero(secret)
    return true
  }

  /** A message of `e` and a secret shared with this key of the other side. */
  protected sent(remote: Buffer, payload: Buffer): Buffer | undefined {
    this.state.mixHash(this.ephemeral.publicKey)
    if (!this.mix(this.ephemeral, remote)) return undefined
    return Buffer.concat([this.ephemeral.publicKey, this.state.encryptAndHash(payload)])
  }

  /** The payload of such a message, whose secret is shared with this pair of ours. */
  protected received(message: Buffer, pair: KeyPair): Buffer | undefined {
    if (message.length < KEY_BYTES + TAG_BYTES) return undefined
    this.remoteEphemeral = Buffer.from(message.subarray(0, KEY_BYTES))
    this.state.mixHash(this.remoteEphemeral)
    if (!this.mix(pair, this.remoteEphemeral)) return undefined
    return this.state.decryptAndHash(message.subarray(KEY_BYTES))
  }

  protected session(remoteStatic: Buffer, dialled: boolean): Session {
    sodium.sodium_memzero(this.ephemeral.secretKey)
    const [outward, inward] = this.state.split()
    const [sending, receiving] = dialled ? [inward, outward] : [outward, inward]
    const hash = this.state.handshakeHash
    return { sending: new CipherState(sending), receiving: new CipherState(receiving), remoteStatic, hash }
  }
}

/** The side that dials. */
export class Initiator extends Handshake {
  readonly #remote: Buffer

  constructor(own: KeyPair, responder: Buffer, options: HandshakeOptions = {}) {
    super(own, responder, options)
    this.#remote = responder
  }

  /** `e, es`. */
  first(payload: Buffer = NOTHING): Buffer | undefined {
    return this.sent(this.#remote, payload)
  }

  /** `e, ee`: the payload. */
  second(message: Buffer): Buffer | undefined {
    return this.received(message, this.ephemeral)
  }

  /** `s, se`. */
  third(payload: Buffer = NOTHING): { readonly message: Buffer; readonly session: Session } | undefined {
    const own = this.state.encryptAndHash(this.own.publicKey)
    if (!this.mix(this.own, this.remoteEphemeral)) return undefined
    const message = Buffer.concat([own, this.state.encryptAndHash(payload)])
    return { message, session: this.session(this.#remote, false) }
  }
}

/** The side that is dialled. */
export class Responder extends Handshake {
  constructor(own: KeyPair, options: HandshakeOptions = {}) {
    super(own, own.publicKey, options)
  }

  first(message: Buffer): Buffer | undefined {
    return this.received(message, this.own)
  }

  second(payload: Buffer = NOTHING): Buffer | undefined {
    return this.sent(this.remoteEphemeral, payload)
  }

  third(message: Buffer): { readonly payload: Buffer; readonly session: Session } | undefined {
    if (message.length < MESSAGE_BYTES[2]) return undefined
    const end = KEY_BYTES + TAG_BYTES
    const remoteStatic = this.state.decryptAndHash(message.subarray(0, end))
    if (!remoteStatic || !this.mix(this.ephemeral, remoteStatic)) return undefined
    const payload = this.state.decryptAndHash(message.subarray(end))
    return payload && { payload, session: this.session(remoteStatic, true) }
  }
}
