// The public names of @parley/keys that need no libsodium; that has an entry of its own (sodium.ts).
export { fingerprint, spokenFingerprint } from './fingerprint.ts'
export {
  newPrivatePem,
  publicKeyObject,
  publicKeyOfPem,
  publicPem,
  rawPublicKey,
  seedOfPem,
} from './pem.ts'
export { fromBase64, isPublicKey, PUBLIC_KEY_BYTES, SIGNATURE_BYTES } from './public-key.ts'
