// The keys of one agent (zero-trust, W-SEC-13), handed over when the trail explains why (W-SEC-15) and never because
// access control let a read pass: so a hole in access control shows nothing.
import type { WorkspaceId } from '@parley/core'
import type { ContentKey, ContentScope, ReadableRun, RunModel } from '@parley/trail'
import { kernelLimits } from '../../limits.ts'

export class AgentKeys {
  readonly workspace: WorkspaceId
  readonly #trail: () => ReadableRun
  readonly #given = new Map<string, ContentKey>()

  constructor(workspace: WorkspaceId, trail: () => ReadableRun) {
    this.workspace = workspace
    this.#trail = trail
  }

  async key(scope: ContentScope): Promise<ContentKey | undefined> {
    const name = JSON.stringify(scope)
    const held = this.#given.get(name)
    if (held) return held
    const trail = this.#trail()
    if (!isExplained(await trail.model(), this.workspace, scope)) return undefined
    const key = trail.content.key(scope)
    if (!key) return undefined
    const [oldest] = this.#given.keys()
    if (this.#given.size >= kernelLimits.agentKeys && oldest !== undefined) this.#given.delete(oldest)
    this.#given.set(name, key)
    return key
  }
}

function isExplained(model: RunModel, holder: WorkspaceId, scope: ContentScope): boolean {
  // The coordinator is the run's own trust root.
  if (model.root === holder) return true
  switch (scope.of) {
    // Written while one key was for all: access control alone stands before it.
    case 'trail':
      return true
    case 'run':
      return false
    case 'private':
      return isAtOrBelow(model, scope.workspace, holder)
    case 'mail':
      return scope.from === holder || scope.to === holder
    case 'workspace':
      return (
        isAtOrBelow(model, scope.workspace, holder) ||
        (model.workspaces.get(holder)?.visible.has(scope.workspace) ?? false)
      )
  }
}

function isAtOrBelow(model: RunModel, workspace: WorkspaceId, holder: WorkspaceId): boolean {
  for (let each: WorkspaceId | null | undefined = workspace; each; each = model.workspaces.get(each)?.parent)
    if (each === holder) return true
  return false
}
