// Scopes of content: which key seals an object where keys are separate (W-SEC-13). A sealed object carries its scope.
import { assertNever, type WorkspaceId } from '@parley/core'

export type ContentScope =
  /** One key for the whole trail. */
  | { readonly of: 'trail' }
  /** What belongs to a run and to no workspace of it: task texts, gates, settings. The runtime alone opens it. */
  | { readonly of: 'run' }
  /** What every reader of a workspace may read: its working memory, checkpoints, results. */
  | { readonly of: 'workspace'; readonly workspace: WorkspaceId }
  /** What a workspace was given to know: its context and directive. Seeing the workspace is not enough (W-WS-02). */
  | { readonly of: 'private'; readonly workspace: WorkspaceId }
  /** Mail of one channel: for its sender, its receiver and the coordinator (W-SEC-14). */
  | { readonly of: 'mail'; readonly from: WorkspaceId; readonly to: WorkspaceId }

/** Ids may hold any visible ASCII character; what separates is escaped in them. */
export function scopeText(scope: ContentScope): string {
  switch (scope.of) {
    case 'trail':
    case 'run':
      return scope.of
    case 'workspace':
    case 'private':
      return `${scope.of}/${encodeURIComponent(scope.workspace)}`
    case 'mail':
      return `mail/${encodeURIComponent(scope.from)}/${encodeURIComponent(scope.to)}`
    default:
      return assertNever(scope)
  }
}

/** Undefined for what `scopeText` does not make. */
export function parseScope(text: string): ContentScope | undefined {
  const scope = readScope(text.split('/'))
  return scope && scopeText(scope) === text ? scope : undefined
}

function readScope([of, ...parts]: readonly string[]): ContentScope | undefined {
  const ids: WorkspaceId[] = []
  try {
    for (const part of parts) ids.push(decodeURIComponent(part) as WorkspaceId)
  } catch {
    return undefined
  }
  const [first, second] = ids
  if (of === 'trail' || of === 'run') return { of }
  if ((of === 'workspace' || of === 'private') && first !== undefined) return { of, workspace: first }
  if (of === 'mail' && first !== undefined && second !== undefined) return { of, from: first, to: second }
  return undefined
}
