// /users: the people that this node knows.
import { UserViewSchema } from '@parley/coordinator'
import { refuse, Type } from '@parley/core'
import { CAPABILITIES } from '@parley/trail/events'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { answered, answerOf, CHANGE, caller, mutation, Nothing, query, Reason, TRAIL, text, told } from './spec.ts'

const STATES = ['suspend', 'resume', 'block', 'unblock', 'deactivate', 'reactivate'] as const
const User = text(256)

export function userService({ coordinator }: OperationDeps) {
  return {
    '/users/list': query({
      description: 'Everybody whom this node knows, with what they may do.',
      input: Nothing,
      output: object({ users: Type.Array(UserViewSchema) }),
      refuses: TRAIL,
      handle: async () => ({ users: await told(coordinator.users.list()) }),
    }),
    '/users/change': mutation({
      description: 'Changes the state of a user, or what they may do.',
      input: object({
        user: User,
        act: Type.Enum([...STATES, 'grant', 'revoke']),
        capability: Type.Optional(Type.Enum([...CAPABILITIES])),
        reason: Type.Optional(Reason),
      }),
      output: UserViewSchema,
      refuses: ['not_found', ...CHANGE],
      handle: async ({ user, act, capability, reason }, { identity }) => {
        const principal = caller(identity)
        if (act === 'grant' || act === 'revoke') {
          if (capability === undefined)
            return answered(refuse('invalid_argument', `Name the capability: ${CAPABILITIES.join(', ')}.`))
          await answerOf(coordinator.users.change(user, { act, capability, reason, principal }))
        } else {
          if (capability !== undefined)
            return answered(refuse('invalid_argument', 'A capability goes with grant and revoke only.'))
          const change = { act, reason: reason ?? 'no reason given', principal }
          await answerOf(coordinator.users.change(user, change))
        }
        const view = (await told(coordinator.users.list())).find(each => each.user === user)
        return view ?? answered(refuse('not_found', `There is no user ${user}.`))
      },
    }),
  }
}
