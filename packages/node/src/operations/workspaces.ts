// /workspaces: what the agent of a turn does with its own workspace. Which one that is comes from its token, never from
// the input.
import { CallError } from '@parley/call'
import type { AgentVerbs } from '@parley/coordinator'
import type { Principal } from '@parley/core'
import { OWNER_SCOPE } from '../identity.ts'
import { nodeDefaults } from '../limits.ts'
import type { OperationDeps } from './deps.ts'
import { WaitingMail } from './mail.ts'
import { answered, forWorkspace, mutation, Nothing, query, subscription } from './spec.ts'
import { agentVerbs } from './verbs.ts'

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
  const refuses = [
    'no_workspace',
    'permission_denied',
    'invalid_state',
    'invalid_argument',
    'trail_unavailable',
  ] as const
  const common = { access: forWorkspace, refuses }
  return {
    '/workspaces/status': query({
      ...common,
      ...agentVerbs.status,
      handle: async (_input, { identity }) => answered(await inside(identity).status()),
    }),
    '/workspaces/inbox': mutation({
      ...common,
      ...agentVerbs.inbox,
      handle: async (_input, { identity }) => ({ mail: answered(await inside(identity).inbox()) }),
    }),
    '/workspaces/checkpoint': mutation({
      ...common,
      ...agentVerbs.checkpoint,
      handle: async ({ intent }, { identity }) => answered(await inside(identity).checkpoint(intent)),
    }),
    '/workspaces/ask': mutation({
      ...common,
      ...agentVerbs.ask,
      refuses: [...refuses, 'limit_reached'],
      handle: async ({ question, wait_s = nodeDefaults.askWaitS }, { identity, signal }) => {
        const mail = answered(await inside(identity).ask(question, wait_s * 1000, signal))
        return { answered: mail.length > 0, mail }
      },
    }),
    '/workspaces/escalate': mutation({
      ...common,
      ...agentVerbs.escalate,
      refuses: [...refuses, 'limit_reached'],
      handle: async ({ reason }, { identity }) => {
        answered(await inside(identity).escalate(reason))
        return { escalated: true }
      },
    }),
    '/workspaces/block': mutation({
      ...common,
      ...agentVerbs.block,
      handle: async ({ reason }, { identity }) => {
        answered(await inside(identity).block(reason))
        return { blocked: true }
      },
    }),
    '/workspaces/spend': query({
      ...common,
      ...agentVerbs.spend,
      handle: async (_input, { identity }) => answered(await inside(identity).spend()),
    }),
    '/workspaces/verdict': mutation({
      ...common,
      ...agentVerbs.verdict,
      handle: async ({ verdict, findings = [] }, { identity }) => {
        const feedback = findings.map(each => `- ${each}`).join('\n')
        answered(await inside(identity).verdict({ verdict, feedback }))
        return { verdict }
      },
    }),
    '/workspaces/waiting': subscription({
      ...common,
      description: 'The mail that waits: at once, again whenever some comes, until the turn is over.',
      input: Nothing,
      output: WaitingMail,
      async *handle(_input, { identity, signal }) {
        for await (const mail of inside(identity).waiting(signal)) yield { mail }
      },
    }),
  }
}
