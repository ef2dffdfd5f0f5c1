// Principal: who acts. Every surface (ALP, Call, WACP, Crosstalk, ALX) resolves its own notion of identity to
// this one shape before anything else happens (CALL-ACL-02), through an IdentityProvider, the only maker of principals.

/** An authenticated party: a snapshot, in which revocation shows at the next lookup. A payload can only claim one. */
export interface Principal {
  /** Stable and unique: a user's id, `<agent>#<slot>`, `alp:<fingerprint>` of a peer, `ct:<transport>/<actor>`. */
  readonly id: string
  readonly kind: 'user' | 'agent' | 'peer' | 'system'
  /** For display only; never compared. */
  readonly name?: string
  /** Compared exactly and case-sensitively; there are no wildcards. */
  readonly scopes: readonly string[]
  /** Actions allowed on resources: the key is a type or `type:id`. */
  readonly resources?: Readonly<Record<string, readonly string[]>>
}

/**
 * A lookup gives a principal or nothing, which covers unknown, revoked, expired and malformed alike, so that a caller
 * cannot tell these apart. It rejects if the directory cannot be read: the caller must then refuse.
 */
export interface IdentityProvider {
  /** `fingerprint` is `SHA256:` and unpadded base64, of a key that the link has already proved to hold. */
  byFingerprint(fingerprint: string): Promise<Principal | undefined>
  /** `token` is a secret: an implementation compares in constant time and keeps it out of logs and errors. */
  byToken(token: string): Promise<Principal | undefined>
}
