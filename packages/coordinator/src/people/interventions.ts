// What people do to work in progress: write to agents, pause it, end it. The kernel's user handle checks and records
// every act; what the coordinator must know becomes mail.
import { ok, type Result, type RunId, refuse, type WorkspaceId } from '@parley/core'
import type { RunHandle } from '@parley/kernel'
import { isTerminal } from '@parley/trail/events'
import { isOfTrail } from '../machine/machine.ts'
import type { ProjectedWorkspace } from '../projection/projected.ts'
import { abandonRun } from '../run/abandon.ts'
import { Acts, type By, workspaceAt } from './acts.ts'

interface Injection {
  /** A task of the plan or a workspace; the coordinator without it. */
  readonly to?: string | undefined
  readonly text: string
  /** A registered envelope type; `feedback` for agents, `directive` for the coordinator. */
  readonly type?: string | undefined
  readonly priority?: 'normal' | 'urgent' | 'blocking' | undefined
}

/** One task's work; without a task, all work of the run. */
type OfTask = { readonly task?: string | undefined }

/** Refusals have the kernel's codes: `permission_denied`, `invalid_state`, `invalid_argument`, `not_found`. */
export class Interventions extends Acts {
  async inject(
    run: RunId,
    { principal, to, text, type, priority }: Injection & By,
  ): Promise<Result<{ readonly envelope: string }>> {
    if (text.trim() === '') return refuse('invalid_argument', 'A message needs a text.')
    const driver = this.driving(run)
    if (!driver.ok) return driver
    const target = to === undefined ? this.rootOf(run, driver.value) : workspaceAt(driver.value, to)
    if (!target.ok) return target
    const refused = await this.unwritable(run)
    if (refused) return refused
    const sent = await this.host.runtime.user(principal.id).inject(run, {
      to: target.value.id,
      type: type ?? (to === undefined ? 'directive' : 'feedback'),
      payload: { format: 'text', content: text },
      ...(priority && { priority }),
    })
    await driver.value.poke()
    return sent.ok ? ok({ envelope: sent.value.envelope }) : sent
  }

  /** Mail for paused work is held. */
  async suspend(run: RunId, { principal, reason, task }: By & OfTask & { readonly reason: string }) {
    const user = this.host.runtime.user(principal.id)
    return this.#eachAtWork(run, task, ['active', 'blocked'], 'at work', each => user.suspend(run, each.id, reason))
  }

  async resume(run: RunId, { principal, task }: By & OfTask): Promise<Result<void>> {
    const user = this.host.runtime.user(principal.id)
    return this.#eachAtWork(run, task, ['suspended'], 'suspended', each => user.resume(run, each.id))
  }

  /** Ends the work on one task, or the whole run. `grace`: milliseconds in which agents may finish (W-TERM-01). */
  async abort(
    run: RunId,
    { grace, ...by }: By & OfTask & { readonly reason: string; readonly grace?: number | undefined },
  ): Promise<Result<void>> {
    const refused = await this.unwritable(run)
    if (refused) return refused
    if (grace !== undefined) return this.#finish(run, { ...by, grace })
    const { principal, reason, task } = by
    return task === undefined ? this.#abortRun(run, { principal, reason }) : this.#abortTask(run, { ...by, task })
  }

  #abortTask(run: RunId, { principal, reason, task }: By & { readonly reason: string; readonly task: string }) {
    const user = this.host.runtime.user(principal.id)
    const states = ['idle', 'active', 'blocked', 'suspended', 'integrating', 'conflicted']
    return this.#eachAtWork(run, task, states, 'at work', async each => {
      // The act itself carries no reason: the coordinator is told it, first, since the run may end with the act.
      const told = await this.tell(principal, run, { parley: 'abort', task, reason })
      if (!told.ok && isOfTrail(told.error.code)) return told
      // Whoever may not is refused, on record, by the act.
      if (!this.denied(principal, each, ['abort_own', 'abort_any'])) await this.#endTurns(run, reason, each.id)
      return user.abort(run, each.id)
    })
  }

  async #abortRun(run: RunId, { principal, reason }: By & { readonly reason: string }): Promise<Result<void>> {
    const { log } = this.host
    const handle = await this.#open(run)
    if (!handle.ok) return handle
    const told = await this.tell(principal, run, { parley: 'abort', reason })
    // Without the right to say so, or a trail to record it, nothing is ended; a root that takes no mail does not
    // matter.
    if (!told.ok && (told.error.code === 'permission_denied' || isOfTrail(told.error.code))) return told
    log('info', `${principal.id} ends ${run}: ${reason}`, { run })
    await this.#endTurns(run, reason)
    return handle.value.stop()
  }

  async #endTurns(run: RunId, reason: string, of?: WorkspaceId): Promise<void> {
    await this.host.drivers.get(run)?.endTurns(`Somebody ended it: ${reason}`, of)
  }

  async #finish(
    run: RunId,
    { principal, reason, task, grace }: By & OfTask & { readonly reason: string; readonly grace: number },
  ): Promise<Result<void>> {
    const driver = this.driving(run)
    if (!driver.ok) return driver
    const meant = task === undefined ? this.rootOf(run, driver.value) : workspaceAt(driver.value, task)
    if (!meant.ok) return meant
    const work = meant.value
    const refused =
      (task === undefined ? undefined : unfitToFinish(work, task)) ??
      this.denied(principal, work, ['abort_own', 'abort_any'])
    if (refused) return refused
    const name = task === undefined ? {} : { task: work.facts!.task }
    const told = await this.tell(principal, run, { parley: 'abort', reason, grace, ...name })
    if (!told.ok) return told
    // For the whole run the driver does it, again after a restart.
    const asked = task === undefined ? ok(undefined) : await driver.value.coordinator.terminate(work.id, grace, reason)
    await driver.value.poke()
    return asked.ok ? ok(undefined) : asked
  }

  /** Ends a run that nobody waits for any more: in the name of the coordinator, since no person does it. */
  async abandon(id: RunId, reason: string): Promise<Result<void>> {
    const run = await this.#open(id)
    if (!run.ok) return run
    this.host.log('info', `ends ${id}: ${reason}`, { run: id })
    return abandonRun(run.value, reason)
  }

  async #open(id: RunId): Promise<Result<RunHandle>> {
    const { runtime } = this.host
    const run = await runtime.open(id)
    return !run.ok || runtime.active.includes(id) ? run : refuse('invalid_state', `The run ${id} is over already.`)
  }

  async #eachAtWork(
    run: RunId,
    task: string | undefined,
    states: readonly string[],
    word: string,
    act: (workspace: ProjectedWorkspace) => Promise<Result<void>>,
  ): Promise<Result<void>> {
    const driver = this.driving(run)
    if (!driver.ok) return driver
    const { projection } = driver.value
    const meant = task === undefined ? undefined : workspaceAt(driver.value, task)
    if (meant && !meant.ok) return meant
    const all = meant ? [meant.value] : [...projection.workspaces.values()].filter(each => each !== projection.root)
    const fitting = all.filter(({ state }) => states.includes(state) && !isTerminal(state))
    if (fitting.length === 0)
      return refuse('invalid_state', task === undefined ? `Nothing of ${run} is ${word}.` : `${task} is not ${word}.`)
    const refused = await this.unwritable(run)
    if (refused) return refused
    for (const each of fitting) {
      const done = await act(each)
      // Others of the run may have moved on meanwhile; of one that was named it is the answer.
      if (!done.ok && (task !== undefined || done.error.code !== 'invalid_state')) return done
    }
    await driver.value.poke()
    return ok(undefined)
  }
}

/** What the kernel would refuse is refused before it is on record. */
function unfitToFinish({ facts, state, termination }: ProjectedWorkspace, task: string) {
  if (facts?.kind === 'team')
    return refuse('invalid_argument', `${task} is done by a team: name one of its parts, or end it without grace.`)
  if (state !== 'active' && state !== 'blocked')
    return refuse('invalid_state', `${task} is ${state}: only work that goes on or waits can be asked to finish.`)
  return termination && refuse('invalid_state', `${task} was asked to finish already.`)
}
