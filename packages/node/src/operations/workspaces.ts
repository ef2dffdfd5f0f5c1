// /workspaces: what the agent of a turn does with its own workspace. Which one that is comes from its token, never from
// the input.
import { CallError, operation } from '@parley/call'
import type { AgentVerbs } from '@parley/coordinator'
import { type Principal, Type } from '@parley/core'
import { OWNER_SCOPE, type TurnIdentities } from '../identity.ts'
import { answered, Count, closed, forWorkspace, Nothing, Reason, refusals } from './spec.ts'

export interface WorkspaceDeps {
  readonly identities: Pick<TurnIdentities, 'verbsOf'>
}

const StatusSchema = Type.Object(
  {
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
  },
  closed,
)

const MailSchema = Type.Object(
  {
    id: Type.String(),
    from: Type.String(),
    type: Type.String(),
    priority: Type.String(),
    text: Type.String(),
  },
  closed,
)

export function workspaceService({ identities }: WorkspaceDeps) {
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
    accessControl: forWorkspace,
    errorSchemas: refusals(
      'no_workspace',
      'permission_denied',
      'invalid_state',
      'invalid_argument',
      'trail_unavailable',
    ),
  } as const
  return {
    '/workspaces/status': operation(
      {
        ...common,
        name: '/workspaces/status',
        opType: 'query',
        description: 'The own workspace: its task, its state, unread mail, what may be changed.',
        inputSchema: Nothing,
        outputSchema: StatusSchema,
      },
      async (_input, { identity }) => {
        const status = answered(await inside(identity).status())
        const { may_change } = status
        return { ...status, may_change: may_change === 'everything' ? may_change : [...may_change] }
      },
    ),
    '/workspaces/inbox': operation(
      {
        ...common,
        name: '/workspaces/inbox',
        opType: 'mutation',
        description: 'Takes the mail that has come since; each is handed out once.',
        inputSchema: Nothing,
        outputSchema: Type.Object({ mail: Type.Array(MailSchema) }, closed),
      },
      async (_input, { identity }) => ({ mail: [...answered(await inside(identity).inbox())] }),
    ),
    '/workspaces/checkpoint': operation(
      {
        ...common,
        name: '/workspaces/checkpoint',
        opType: 'mutation',
        description: 'Keeps what the folder holds now: a turn that dies goes on from here.',
        inputSchema: Type.Object({ intent: Reason }, closed),
        outputSchema: Type.Object({ checkpoint: Type.String(), files: Type.Array(Type.String()) }, closed),
      },
      async ({ intent }, { identity }) => {
        const { checkpoint, files } = answered(await inside(identity).checkpoint(intent))
        return { checkpoint, files: [...files] }
      },
    ),
    '/workspaces/block': operation(
      {
        ...common,
        name: '/workspaces/block',
        opType: 'mutation',
        description: 'Says that the turn cannot go on without an answer; it ends as blocked when its process ends.',
        inputSchema: Type.Object({ reason: Reason }, closed),
        outputSchema: Type.Object({ blocked: Type.Boolean() }, closed),
      },
      async ({ reason }, { identity }) => {
        answered(await inside(identity).block(reason))
        return { blocked: true }
      },
    ),
  }
}
