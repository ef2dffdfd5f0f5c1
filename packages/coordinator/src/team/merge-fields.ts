// How finished work is merged (W-INT-06), and how its conflicts are settled (W-INT-12).
import type { Static } from '@parley/core'
import { INTEGRATION_STRATEGIES, type IntegrationStrategy } from '@parley/trail/events'
import { given } from '../given.ts'
import { choice, prompt, record, text } from './fields.ts'
import { teamDefaults } from './limits.ts'

const CONFLICT_WAYS = ['rework', 'ask'] as const

export const MergeSchema = record('Merge', 'How finished work is merged.', {
  strategy: choice(
    INTEGRATION_STRATEGIES,
    'Strategy',
    'direct: the later work replaces the earlier. layered: files that both changed are noticed. evaluated: an agent reads both and makes the result.',
    teamDefaults.merge.strategy,
  ),
  by: text('Integrator', 'The agent that makes the result. For evaluated only.'),
  prompt: prompt(
    'Merge prompt',
    'What the integrator is told beside the two versions. {intent} is replaced by the intent.',
  ),
  conflicts: choice(
    CONFLICT_WAYS,
    'Conflicts',
    'What becomes of work that cannot be merged cleanly. rework: it is done again on the present state. ask: a person decides.',
    teamDefaults.merge.conflicts,
  ),
})
type MergeFile = Static<typeof MergeSchema>

export interface Merge {
  readonly strategy: IntegrationStrategy
  /** For `evaluated`: the agent that makes the result. */
  readonly by?: string
  readonly prompt?: string
  readonly conflicts: (typeof CONFLICT_WAYS)[number]
}

/** A task overrides what the file says for all. With a strategy of its own it inherits no integrator. */
export function mergeOf(all: MergeFile | undefined, own: MergeFile | undefined): Merge {
  const { strategy = teamDefaults.merge.strategy, by, prompt } = own?.strategy !== undefined ? own : { ...all, ...own }
  const conflicts = own?.conflicts ?? all?.conflicts ?? teamDefaults.merge.conflicts
  if (strategy !== 'evaluated') return { strategy, conflicts }
  return { strategy, conflicts, ...given({ by, prompt }) }
}
