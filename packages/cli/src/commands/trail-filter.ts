// The filters that `trail query` and `trail follow` share.
import { ENTRY_TYPES } from '../entry-types.ts'
import { Failure } from '../failure.ts'
import type { TrailFilterInput } from '../node-api.ts'

export const FILTER_FLAGS = {
  type: {
    type: 'text',
    value: 'TYPE',
    many: true,
    offers: ENTRY_TYPES,
    summary: 'Only entries of this type; may be repeated',
  },
  actor: { type: 'text', value: 'NAME', summary: 'Only what this actor did' },
  workspace: { type: 'text', value: 'ID', summary: 'Only entries of this workspace' },
} as const

export interface FilterValues {
  readonly type: readonly string[]
  readonly actor: string | undefined
  readonly workspace: string | undefined
}

/** Whether there is such a type is for the node to say: it knows what the run has. */
export function filterOf({ type, actor, workspace }: FilterValues): TrailFilterInput {
  const several = type.find(each => each.includes(','))
  if (several !== undefined)
    throw new Failure('usage', `--type takes one type, not '${several}'.`, {
      next: `Repeat it: ${several
        .split(',')
        .map(each => `--type ${each.trim()}`)
        .join(' ')}`,
    })
  return {
    ...(type.length > 0 && { event_type: [...type] }),
    ...(actor !== undefined && { actor }),
    ...(workspace !== undefined && { workspace }),
  }
}
