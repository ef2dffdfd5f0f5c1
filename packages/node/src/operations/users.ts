// /users: the people that this node knows.
import { operation } from '@parley/call'
import { type Coordination, UserViewSchema } from '@parley/coordinator'
import { refuse, Type } from '@parley/core'
import { CAPABILITIES } from '@parley/trail/events'
import { caller } from './caller.ts'
import { answered, closed, forOwner, Nothing, Reason, refusals, told } from './spec.ts'

export interface UserDeps {
  readonly coordinator: Coordination
}

const STATES = ['suspend', 'resume', 'block', 'unblock', 'deactivate', 'reactivate'] as const
const User = Type.String({ minLength: 1, maxLength: 256 })

export function userService({ coordinator }: UserDeps) {
  return {
    '/users/list': operation(
      {
        name: '/users/list',
        opType: 'query',
        description: 'Everybody whom this node knows, with what they may do.',
        inputSchema: Nothing,
        outputSchema: Type.Object({ users: Type.Array(UserViewSchema) }, closed),
        accessControl: forOwner,
        errorSchemas: refusals('trail_unavailable', 'trail_damaged'),
      },
      async () => ({ users: [...(await told(coordinator.users.list()))] }),
    ),
    '/users/change': operation(
      {
        name: '/users/change',
        opType: 'mutation',
        description: 'Changes the state of a user, or what they may do.',
        inputSchema: Type.Object(
          {
            user: User,
            act: Type.Enum([...STATES, 'grant', 'revoke']),
            capability: Type.Optional(Type.Enum([...CAPABILITIES])),
            reason: Type.Optional(Reason),
          },
          closed,
        ),
        outputSchema: UserViewSchema,
        accessControl: forOwner,
        errorSchemas: refusals(
          'not_found',
          'invalid_state',
          'invalid_argument',
          'permission_denied',
          'trail_unavailable',
          'trail_damaged',
        ),
      },
      async ({ user, act, capability, reason }, { identity }) => {
        const principal = caller(identity)
        const why = reason === undefined ? {} : { reason }
        if (act === 'grant' || act === 'revoke') {
          if (capability === undefined)
            return answered(refuse('invalid_argument', `Name the capability: ${CAPABILITIES.join(', ')}.`))
          answered(await told(coordinator.users.change(user, { act, capability, ...why, principal })))
        } else {
          if (capability !== undefined)
            return answered(refuse('invalid_argument', 'A capability goes with grant and revoke only.'))
          const change = { act, reason: reason ?? 'no reason given', principal }
          answered(await told(coordinator.users.change(user, change)))
        }
        const view = (await told(coordinator.users.list())).find(each => each.user === user)
        return view ?? answered(refuse('not_found', `There is no user ${user}.`))
      },
    ),
  }
}
