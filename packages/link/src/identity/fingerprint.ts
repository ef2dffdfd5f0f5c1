// The fingerprints of an identity, which people compare before they pin a key (ALP-ID-05); none where it names no key.
import { fingerprint, spokenFingerprint } from '@parley/keys'
import { publicKeyOf } from './identity.ts'

export function fingerprintOf(identity: string): string | undefined {
  const key = publicKeyOf(identity)
  return key && fingerprint(key)
}

export function spokenFingerprintOf(identity: string): string | undefined {
  const key = publicKeyOf(identity)
  return key && spokenFingerprint(key)
}
