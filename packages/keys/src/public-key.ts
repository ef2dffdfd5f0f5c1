// A public key in its one form: base64 of the 32 raw bytes of an Ed25519 key, as ALP names an identity (ALP-ID-04).
export const SEED_BYTES = 32
export const PUBLIC_KEY_BYTES = 32
export const SIGNATURE_BYTES = 64

/** Whether a text is a public key in its only valid spelling. */
export function isPublicKey(text: string): boolean {
  return fromBase64(text, PUBLIC_KEY_BYTES) !== undefined
}

/** ALP-ENV-10: strict, so that bytes have one spelling. */
export function fromBase64(text: string, length: number): Buffer | undefined {
  // Checked before decoding: a hostile text can be long.
  if (text.length !== 4 * Math.ceil(length / 3)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === length && bytes.toString('base64') === text ? bytes : undefined
}
