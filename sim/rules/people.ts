// Users in the house run: only the ten transitions, capabilities given once and taken once.
import type { UserState } from '@parley/trail/events'
import type { RunModel } from '../model/model.ts'
import type { Invariant, Problem } from './rule.ts'

export const peopleRules: readonly Invariant[] = [
  {
    name: 'W-USER-03 A-48 only the ten transitions of users happen, and a suspension outlasts a block',
    on: {
      user_created: (run, body) => (run.users.has(body.user_id) ? `${body.user_id} is known` : undefined),
      user_suspended: (run, body) => changes(run, body.user_id, ['active', 'blocked']),
      user_resumed: (run, body) => changes(run, body.user_id, ['suspended']),
      user_blocked: (run, body) => changes(run, body.user_id, ['active', 'suspended']),
      user_unblocked: (run, body, _entry, batch) => {
        const restored = batch.entries[batch.at + 1]?.event_type === 'user_suspended'
        if (restored !== (run.users.get(body.user_id)?.suspended ?? false))
          return `the suspension of ${body.user_id} ${restored ? 'came from nowhere' : 'is forgotten'}`
        return changes(run, body.user_id, ['blocked'])
      },
      user_deactivated: (run, body) =>
        run.users.get(body.user_id)?.state === body.prior_state
          ? changes(run, body.user_id, ['active', 'suspended', 'blocked'])
          : `${body.user_id} was not ${body.prior_state}`,
      user_reactivated: (run, body) => changes(run, body.user_id, ['deactivated']),
    },
  },
  {
    name: 'W-USER-15 a capability is given to whom lacks it and taken from whom has it',
    on: {
      capability_granted: (run, body) =>
        run.users.get(body.user_id)?.capabilities.has(body.capability) === false
          ? undefined
          : `${body.user_id} ${body.capability}`,
      capability_revoked: (run, body) =>
        run.users.get(body.user_id)?.capabilities.has(body.capability)
          ? undefined
          : `${body.user_id} ${body.capability}`,
    },
  },
]

function changes(run: RunModel, id: string, from: readonly UserState[]): Problem {
  if (!run.house) return 'it is not the house'
  const state = run.users.get(id)?.state
  return state && from.includes(state) ? undefined : `${id} is ${state}`
}
