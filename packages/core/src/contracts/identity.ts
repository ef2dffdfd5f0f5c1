// IdentityProvider: the only maker of principals. Links and tokens are resolved through it, on every surface.

import type { Principal } from './principal.ts'

/**
 * Both lookups give a principal or nothing. "Nothing" covers unknown, revoked, expired and malformed alike, so
 * that a caller cannot tell these apart. A rejected promise means that the directory itself cannot be read: the
 * caller must then refuse, never go on without an identity.
 */
export interface IdentityProvider {
  /** `fingerprint` is `SHA256:` and unpadded base64, of a key that the link has already proved to hold. */
  byFingerprint(fingerprint: string): Promise<Principal | undefined>
  /** `token` is a secret: an implementation compares in constant time and keeps it out of logs and errors. */
  byToken(token: string): Promise<Principal | undefined>
}
