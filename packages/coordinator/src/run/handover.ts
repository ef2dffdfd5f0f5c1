// Another agent in the place of one that is at work (W-MIG-05): asked for by a person, or by a turn whose agent cannot
// work. The kernel freezes the workspace; the old agent's turn is ended before the new one is bound, so that never two
// of them are at work.
import { err, ok, type Result, type WorkspaceId } from '@parley/core'
import type { RunHandle } from '@parley/kernel'
import type { ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'

export interface HandoverHost {
  readonly run: RunHandle
  readonly projection: RunProjection
  /** `<agent>#<slot>`, with a slot that no live workspace has. */
  readonly identity: (agent: string) => string
  readonly release: (identity: string) => void
  readonly log: (level: 'info' | 'warn', message: string, facts?: object) => void
}

export class Handovers {
  readonly #host: HandoverHost
  /**
   * Wanted by turns that have ended for that. Lost with the node: the turn is then taken again, and comes to the same.
   */
  readonly #wanted = new Map<WorkspaceId, { readonly to: string; readonly reason: string }>()

  constructor(host: HandoverHost) {
    this.#host = host
  }

  want(workspace: WorkspaceId, to: string, reason: string): void {
    this.#wanted.set(workspace, { to, reason })
  }

  /** Whatever is wanted and can be done now; work that is suspended is handed over when it goes on. */
  async step(): Promise<void> {
    const { projection, run, log } = this.#host
    for (const [id, { to, reason }] of this.#wanted) {
      const workspace = projection.workspaces.get(id)
      if (workspace?.state === 'suspended' || workspace?.state === 'migrating') continue
      this.#wanted.delete(id)
      if (!workspace || workspace.ended !== undefined) continue
      const moved = await this.migrate(workspace, to, reason)
      if (moved.ok) continue
      log('warn', `${to} cannot take over ${id}: ${moved.error.message}`)
      // Nobody works there any more. What has failed or moved on meanwhile takes no notice of it.
      const worker = await run.worker(id)
      if (worker.ok) await worker.value.failed(reason)
    }
  }

  /** Answers when the new agent is bound, or why it never will be. */
  async migrate({ id, facts }: ProjectedWorkspace, to: string, reason: string): Promise<Result<{ to: string }>> {
    const { run, identity, release, log } = this.#host
    const next = identity(to)
    const moved = await run.coordinator.migrate(id, next, reason)
    if (!moved.ok) {
      release(next)
      return err(moved.error)
    }
    if (facts) release(facts.agent)
    log('info', `${next} takes over ${id} from ${facts?.agent}: ${reason}`, { run: run.id })
    return ok({ to: next })
  }
}
