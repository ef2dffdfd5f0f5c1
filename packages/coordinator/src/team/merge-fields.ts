// How finished work is merged (W-INT-06), and what becomes of work that conflicts with what was merged before
// (W-INT-12).
import { type Static, Type } from '@parley/core'
import { INTEGRATION_STRATEGIES, type IntegrationStrategy } from '@parley/trail/events'
import { teamDefaults, teamLimits } from './limits.ts'

export const CONFLICT_WAYS = ['rework', 'ask'] as const

export const MergeSchema = Type.Object(
  {
    strategy: Type.Optional(
      Type.Enum([...INTEGRATION_STRATEGIES], {
        title: 'Strategy',
        description:
          'direct: the later work replaces the earlier. layered: files that both changed are noticed. evaluated: an agent reads both and makes the result.',
        default: teamDefaults.merge.strategy,
      }),
    ),
    by: Type.Optional(
      Type.String({
        title: 'Integrator',
        description: 'The agent that makes the result. For evaluated only.',
      }),
    ),
    prompt: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: teamLimits.promptLength,
        title: 'Merge prompt',
        description: 'What the integrator is told beside the two versions. {intent} is replaced by the intent.',
      }),
    ),
    conflicts: Type.Optional(
      Type.Enum([...CONFLICT_WAYS], {
        title: 'Conflicts',
        description:
          'What becomes of work that cannot be merged cleanly. rework: it is done again on the present state. ask: a person decides.',
        default: teamDefaults.merge.conflicts,
      }),
    ),
  },
  { additionalProperties: false, title: 'Merge', description: 'How finished work is merged.' },
)
export type MergeFile = Static<typeof MergeSchema>

export interface Merge {
  readonly strategy: IntegrationStrategy
  /** For `evaluated`: the agent that makes the result. */
  readonly by?: string
  readonly prompt?: string
  readonly conflicts: (typeof CONFLICT_WAYS)[number]
}

/**
 * What a task says goes before what the file says for all. A strategy of its own does not inherit the integrator of
 * another.
 */
export function mergeOf(all: MergeFile | undefined, own: MergeFile | undefined): Merge {
  const { strategy = teamDefaults.merge.strategy, by, prompt } = own?.strategy !== undefined ? own : { ...all, ...own }
  const conflicts = own?.conflicts ?? all?.conflicts ?? teamDefaults.merge.conflicts
  if (strategy !== 'evaluated') return { strategy, conflicts }
  return { strategy, conflicts, ...(by !== undefined && { by }), ...(prompt !== undefined && { prompt }) }
}
