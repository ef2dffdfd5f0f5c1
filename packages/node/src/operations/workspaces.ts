// /workspaces: what the agent of a turn does with its own workspace. Which one that is comes from its token, never from
// the input.
import { CallError } from '@parley/call'
import type { AgentVerbs } from '@parley/coordinator'
import { type Principal, Type } from '@parley/core'
import { OWNER_SCOPE } from '../identity.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { answered, Count, forWorkspace, mutation, Nothing, query, Reason } from './spec.ts'

const StatusSchema = object({
  run: Type.String(),
  workspace: Type.String(),
  task: Type.String(),
  title: Type.String(),
  agent: Type.String(),
  state: Type.String(),
  epoch: Count,
  unread: Count,
  checkpoints: Count,
  may_change: Type.Union([Type.Array(Type.String()), Type.Literal('everything')]),
})

const MailSchema = object({
  id: Type.String(),
  from: Type.String(),
  type: Type.String(),
  priority: Type.String(),
  text: Type.String(),
})

export function workspaceService({ identities }: OperationDeps) {
  const inside = (identity: Principal | undefined): AgentVerbs => {
    const verbs = identities.verbsOf(identity)
    if (verbs) return verbs
    if (identity?.scopes.includes(OWNER_SCOPE))
      throw new CallError(
        'no_workspace',
        'This works only inside a workspace, for the agent whose turn it is: the variable PARLEY_TOKEN_FILE is not set here.',
      )
    throw new CallError(
      'permission_denied',
      'The token is not that of a turn at work. The turn it was made for is over, or was started again with another one.',
    )
  }
  const common = {
    access: forWorkspace,
    refuses: ['no_workspace', 'permission_denied', 'invalid_state', 'invalid_argument', 'trail_unavailable'],
  } as const
  return {
    '/workspaces/status': query({
      ...common,
      description: 'The own workspace: its task, its state, unread mail, what may be changed.',
      input: Nothing,
      output: StatusSchema,
      handle: async (_input, { identity }) => answered(await inside(identity).status()),
    }),
    '/workspaces/inbox': mutation({
      ...common,
      description: 'Takes the mail that has come since; each is handed out once.',
      input: Nothing,
      output: object({ mail: Type.Array(MailSchema) }),
      handle: async (_input, { identity }) => ({ mail: answered(await inside(identity).inbox()) }),
    }),
    '/workspaces/checkpoint': mutation({
      ...common,
      description: 'Keeps what the folder holds now: a turn that dies goes on from here.',
      input: object({ intent: Reason }),
      output: object({ checkpoint: Type.String(), files: Type.Array(Type.String()) }),
      handle: async ({ intent }, { identity }) => answered(await inside(identity).checkpoint(intent)),
    }),
    '/workspaces/block': mutation({
      ...common,
      description: 'Says that the turn cannot go on without an answer; it ends as blocked when its process ends.',
      input: object({ reason: Reason }),
      output: object({ blocked: Type.Boolean() }),
      handle: async ({ reason }, { identity }) => {
        answered(await inside(identity).block(reason))
        return { blocked: true }
      },
    }),
  }
}
