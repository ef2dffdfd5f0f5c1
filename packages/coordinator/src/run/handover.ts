// Replaces the agent of a workspace (W-MIG-05), on request of a person or of a turn whose agent cannot work. The old
// agent's turn ends before the new one is bound, so that two never work at once.
import { err, ok, type Result, type WorkspaceId } from '@parley/core'
import type { ProjectedWorkspace } from '../projection/projected.ts'
import type { RunAtWork } from './run-parts.ts'

export class Handovers {
  readonly #host: RunAtWork
  /** Asked for by turns that ended. Lost with the node: then the turn is taken again, with the same outcome. */
  readonly #wanted = new Map<WorkspaceId, { readonly to: string; readonly reason: string }>()

  constructor(host: RunAtWork) {
    this.#host = host
  }

  want(workspace: WorkspaceId, to: string, reason: string): void {
    this.#wanted.set(workspace, { to, reason })
    this.#host.poke()
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
