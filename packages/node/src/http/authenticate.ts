// Who calls: one list of resolvers, asked in order. A token that is unknown, malformed, expired, revoked or of a user
// who is not active gets the same answer in all of these cases.
import type { Principal } from '@parley/core'
import type { FastifyRequest } from 'fastify'
import { OWNER_SCOPE } from '../identity.ts'
import type { Resolver } from './mount.ts'
import type { Tokens } from './tokens/tokens.ts'

const BEARER = /^bearer +([\w.~+/-]+=*)$/i

export function bearerTokens(tokens: Pick<Tokens, 'principalOf'>): Resolver {
  return ({ headers: { authorization } }) => {
    if (authorization === undefined) return undefined
    // Of another scheme, or not well-formed: compared all the same, with what no token can be.
    return tokens.principalOf(BEARER.exec(authorization)?.[1] ?? '') ?? 'refused'
  }
}

export function authenticated(
  resolvers: readonly Resolver[],
  request: FastifyRequest,
): Principal | 'auth_required' | 'unauthorized' {
  for (const resolve of resolvers) {
    const found = resolve(request)
    if (found === 'refused') return 'unauthorized'
    if (found !== undefined) return found
  }
  return 'auth_required'
}

export function mayUse({ scopes }: Principal, wanted: readonly string[] | undefined): boolean {
  return wanted === undefined || scopes.includes(OWNER_SCOPE) || wanted.some(scope => scopes.includes(scope))
}
