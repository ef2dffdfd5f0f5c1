// Principal: who acts. Every surface (ALP, Call, WACP, Crosstalk, ALX) resolves its own notion of identity to
// this one shape before anything else happens (CALL-ACL-02).

export const principalKinds = ['user', 'agent', 'peer', 'system'] as const
export type PrincipalKind = (typeof principalKinds)[number]

/**
 * An authenticated party with what it may do. Only an IdentityProvider makes one; a principal named in a payload
 * is a claim and is never used as one. It is a snapshot: revocation is seen at the next lookup.
 */
export interface Principal {
  /** Stable and unique: a user's id, `<agent>#<slot>`, `alp:<fingerprint>` of a peer, `ct:<transport>/<actor>`. */
  readonly id: string
  readonly kind: PrincipalKind
  /** For display only; never compared. */
  readonly name?: string
  /** Compared exactly and case-sensitively; there are no wildcards. */
  readonly scopes: readonly string[]
  /** Actions allowed on resources: the key is a type or `type:id`. */
  readonly resources?: Readonly<Record<string, readonly string[]>>
}
