// What a token may be good for. The owner's own scope is never among them: what only the owner may do goes over the
// socket of the profile.

export const TOKEN_SCOPES = ['solve', 'read', 'kb', 'settle', 'approve', 'operations'] as const
export type TokenScope = (typeof TOKEN_SCOPES)[number]

/** `approve` is not among them: a program cannot approve its own gates unless somebody says so. */
export const DEFAULT_SCOPES: readonly TokenScope[] = ['solve', 'read', 'kb']
