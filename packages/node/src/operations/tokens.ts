// /tokens: with what programs reach the HTTP surface. Only the owner makes, sees and revokes them.
import { durationPattern, parseDuration, Type } from '@parley/core'
import { httpLimits } from '../http/limits.ts'
import { TOKEN_SCOPES } from '../http/scopes.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { answered, answerOf, caller, mutation, Nothing, query, TRAIL, text } from './spec.ts'

const Time = Type.String({ description: 'Timestamp, UTC' })

const TokenViewSchema = object({
  id: Type.String(),
  user: Type.String({ description: 'As whom its holder acts' }),
  name: Type.Optional(Type.String()),
  scopes: Type.Array(Type.Enum([...TOKEN_SCOPES])),
  created: Time,
  expires: Time,
  used: Type.Optional(Type.String({ description: 'Its last use, to the hour' })),
  revoked: Type.Optional(Time),
  state: Type.Enum(['active', 'expired', 'revoked', 'closed'], {
    description: 'closed: its user is suspended, blocked or deactivated',
  }),
})

const CHANGED = ['tokens_unreadable', 'profile_unusable', 'permission_denied', ...TRAIL] as const

export function tokenService({ tokens }: OperationDeps) {
  return {
    '/tokens/create': mutation({
      description:
        'Makes a token for a user. Its secret is told this once. Somebody who is not known yet becomes a user with the least rights.',
      input: object({
        user: text(httpLimits.userLength),
        scopes: Type.Optional(Type.Array(Type.Enum([...TOKEN_SCOPES]), { minItems: 1, maxItems: TOKEN_SCOPES.length })),
        expires: Type.Optional(Type.String({ pattern: durationPattern, description: 'How long it lives: 30d, 12h' })),
        name: Type.Optional(text(httpLimits.tokenName, 'What it is for')),
      }),
      output: object({ token: TokenViewSchema, secret: Type.String() }),
      refuses: ['invalid_argument', 'limit_reached', ...CHANGED],
      handle: async ({ user, scopes, expires, name }, { identity }) => {
        const lifeMs = expires === undefined ? undefined : parseDuration(expires)
        return await answerOf(tokens.create({ user, scopes, name, lifeMs }, caller(identity)))
      },
    }),
    '/tokens/list': query({
      description: 'All tokens, the newest first; those that ended a month ago are left out. Never a secret.',
      input: Nothing,
      output: object({ tokens: Type.Array(TokenViewSchema) }),
      refuses: ['tokens_unreadable'],
      handle: () => ({ tokens: answered(tokens.list()) }),
    }),
    '/tokens/revoke': mutation({
      description: 'Ends a token at once.',
      input: object({ id: text(httpLimits.tokenName) }),
      output: object({ token: TokenViewSchema }),
      refuses: ['unknown_token', 'invalid_state', ...CHANGED],
      handle: async ({ id }, { identity }) => ({ token: await answerOf(tokens.revoke(id, caller(identity))) }),
    }),
  }
}
