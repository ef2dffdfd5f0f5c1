// A node proves that it holds the key of its profile before a client sends it anything: the client brings a nonce, the
// node signs it together with the socket that it listens at, and the client checks that against the public keys in the
// profile's own folder.
import { randomBytes, verify } from 'node:crypto'
import type { Link } from '@parley/call'
import { ParleyError } from '@parley/core'
import { publicKeyObject } from '@parley/keys'
import { knownKeys } from '@parley/trail/known-keys'

/**
 * The signature stands for nothing else: neither an entry of the trail, which signs 32 bytes, nor a message of ALP,
 * which signs JSON.
 */
const DOMAIN = 'parley-node-proof/1'
const NONCE_BYTES = 32
/** 32 bytes in base64url. */
export const NONCE_PATTERN = '^[A-Za-z0-9_-]{43}$'

export interface Proof {
  /** The public key, base64. */
  readonly key: string
  /** Base64. */
  readonly signature: string
}

export interface ProofRequest {
  /** The folder of the profile. */
  readonly folder: string
  /** Where the node listens, and what tells that socket from every other one (`ownSocket`). */
  readonly path: string
  readonly socket: string
  readonly timeout: number
}

/** `unproven`: the profile's keys cannot be read from here, so that nothing can be checked. */
export type Proven = 'proven' | 'unproven' | 'former'

export function proofMessage(nonce: string, socket: string): Buffer {
  return Buffer.from(`${DOMAIN}\n${nonce}\n${socket}`)
}

/**
 * Asks once. `former`: the answer was signed by a key that has just been replaced; ask again. Throws `node_unproven`,
 * and whatever the call is refused with.
 */
export async function askForProof(link: Pick<Link, 'call'>, request: ProofRequest): Promise<Proven> {
  const { folder, socket, timeout } = request
  if (!knownKeys(folder)) return 'unproven'
  const nonce = randomBytes(NONCE_BYTES).toString('base64url')
  const answer = await link.call<unknown>('/node/prove', { nonce }, { timeout })
  // After the answer: a rotation may have come in between.
  const keys = knownKeys(folder)
  if (!isProof(answer) || !signed(answer, proofMessage(nonce, socket))) throw unproven(request, 'a valid signature')
  if (keys?.current.has(answer.key)) return 'proven'
  if (keys?.former.has(answer.key)) return 'former'
  throw unproven(request, "the profile's key")
}

function isProof(value: unknown): value is Proof {
  const { key, signature } = (value ?? {}) as Partial<Record<keyof Proof, unknown>>
  return typeof key === 'string' && typeof signature === 'string' && key.length === 44 && signature.length === 88
}

function signed({ key, signature }: Proof, message: Buffer): boolean {
  try {
    return verify(null, message, publicKeyObject(Buffer.from(key, 'base64')), Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

export function unproven({ folder, path }: Pick<ProofRequest, 'folder' | 'path'>, lacks: string): ParleyError {
  const message = `Whoever listens at ${path} did not show ${lacks}: it is not the node of the profile ${folder}. Nothing but a random number was sent. Find out which process it is (on Linux: ss -xlp) and end it; then the next command starts a node.`
  return new ParleyError('node_unproven', message, { details: { folder, socket: path } })
}
