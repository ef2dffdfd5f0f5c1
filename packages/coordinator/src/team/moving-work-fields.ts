// Who takes over a task whose agent cannot do it (W-MIG-04), and who judges what failed work left (W-INT-18).
import { type Static, Type } from '@parley/core'
import { closed, prompt } from './fields.ts'
import { teamLimits } from './limits.ts'

const SALVAGE_WORDS = ['never', 'ask'] as const

export const FallbackSchema = Type.Union(
  [Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: teamLimits.agents })],
  {
    title: 'Fallback',
    description:
      'The agent, or agents in order, that take over where the one before cannot work: its program is missing, it may not log in, it has no quota left, or it breaks off without a result.',
    examples: [['codex', 'gemini']],
  },
)

export const SalvageSchema = Type.Union(
  [
    Type.Enum([...SALVAGE_WORDS]),
    Type.Object(
      {
        by: Type.String({
          title: 'Judge',
          description: 'The agent that reads what was left and makes of it what can be used.',
        }),
        prompt: prompt('Salvage prompt', 'What it is told beside the work. {intent} is replaced by the intent.'),
      },
      closed,
    ),
  ],
  {
    title: 'Salvage',
    description:
      'What becomes of kept work when the task has failed for good. never: it is let go. ask: a person judges it. by: an agent does.',
    default: 'never',
  },
)

export type Salvage =
  | { readonly way: (typeof SALVAGE_WORDS)[number] }
  | { readonly way: 'agent'; readonly by: string; readonly prompt?: string }

export function fallbackOf(file: Static<typeof FallbackSchema> | undefined): readonly string[] {
  return typeof file === 'string' ? [file] : [...new Set(file ?? [])]
}

/** Undefined: the file says nothing. */
export function salvageOf(file: Static<typeof SalvageSchema> | undefined): Salvage | undefined {
  if (file === undefined) return undefined
  return typeof file === 'string' ? { way: file } : { way: 'agent', ...file }
}
