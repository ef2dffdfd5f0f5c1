// The filters that `trail query` and `trail follow` share.
import type { TrailFilterInput } from '../node-api.ts'

export const FILTER_FLAGS = {
  type: { type: 'text', value: 'TYPE', many: true, summary: 'Only entries of this type; may be repeated' },
  actor: { type: 'text', value: 'NAME', summary: 'Only what this actor did' },
  workspace: { type: 'text', value: 'ID', summary: 'Only entries of this workspace' },
} as const

export interface FilterValues {
  readonly type: readonly string[]
  readonly actor: string | undefined
  readonly workspace: string | undefined
}

export function filterOf({ type, actor, workspace }: FilterValues): TrailFilterInput {
  return {
    ...(type.length > 0 && { event_type: [...type] }),
    ...(actor !== undefined && { actor }),
    ...(workspace !== undefined && { workspace }),
  }
}
