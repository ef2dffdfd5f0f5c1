// The filters that `trail query` and `trail follow` share.
import type { FlagValues } from '../../command.ts'
import { Failure } from '../../failure.ts'
import type { Input } from '../../node/client.ts'

export const FILTER_FLAGS = {
  type: {
    value: 'TYPE',
    many: true,
    // The registry loads the whole node.
    offers: async () => (await import('@parley/node')).EVENT_TYPES,
    summary: 'Only entries of this type; may be repeated',
  },
  actor: { value: 'NAME', summary: 'Only what this actor did' },
  workspace: { value: 'ID', summary: 'Only entries of this workspace' },
} as const

/** The node refuses unknown types: it knows the vocabulary of the run. */
export function filterOf({
  type,
  actor,
  workspace,
}: FlagValues<typeof FILTER_FLAGS>): Pick<Input<'/trail/query'>, 'event_type' | 'actor' | 'workspace'> {
  const several = type.find(each => each.includes(','))
  if (several !== undefined)
    throw new Failure('usage', `--type takes one type, not '${several}'.`, {
      next: `Repeat it: ${several
        .split(',')
        .map(each => `--type ${each.trim()}`)
        .join(' ')}`,
    })
  return { event_type: type.length > 0 ? type : undefined, actor, workspace }
}
