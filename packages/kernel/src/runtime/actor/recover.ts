// Carries out the plan of recovery (W-REC-11), then what became due meanwhile, then the marker. A step that can never
// be written halts the run.
import type { Result, Ticks, WorkspaceId } from '@parley/core'
import type { RuntimeCommand } from '../../command.ts'
import { nextDue } from '../../due/due.ts'
import { planRecovery, type RecoveryPlan, type RecoveryStep } from '../../recovery/plan.ts'
import type { Trace } from '../../recovery/trace.ts'
import { type Run, runEnded } from '../../run/run.ts'

export interface RecoveryHost {
  submit<T>(command: RuntimeCommand): Promise<Result<T>>
  read<T>(reader: (run: Run) => T): Promise<T>
  now(): Ticks
  delayed(): void
  stopped(): boolean
}

export async function recover(host: RecoveryHost, trace: Trace): Promise<void> {
  const plan = await host.read(run => planRecovery(run, trace))
  let redelivered = 0
  for (const phase of plan.phases) redelivered += await carryOut(host, phase)
  await ringTimers(host)
  if (host.stopped() || (await host.read(runEnded))) return
  const failed = await host.read(run => plan.open.filter(id => hasFailed(run, id)).length)
  await carryOut(host, [{ type: 'completed', floor: trace.floor, counts: countsOf(plan, failed, redelivered) }])
}

function countsOf(plan: RecoveryPlan, failed: number, redelivered: number) {
  return {
    workspaces_recovered: plan.open.length - failed,
    workspaces_failed: failed + plan.lost,
    envelopes_redelivered: redelivered,
    signals_requeued: plan.signals,
    timers_reconstructed: plan.timers,
    trail_entries_examined: plan.examined,
    quarantined_entries: plan.quarantined,
  }
}

async function carryOut(host: RecoveryHost, steps: readonly RecoveryStep[]): Promise<number> {
  let delivered = 0
  let rest = steps
  while (rest.length > 0 && !host.stopped()) {
    const answers = await Promise.all(rest.map(step => host.submit<boolean>({ type: 'recover', step })))
    const again: RecoveryStep[] = []
    for (const [index, step] of rest.entries()) {
      const answer = answers[index]!
      if (answer.ok) delivered += step.type === 'envelope' && answer.value ? 1 : 0
      else if (answer.error.retryable) again.push(step)
      // What ended the run took the ground from under the steps behind it.
      else if (!(await host.read(runEnded)) && !host.stopped()) throw answer.error
    }
    if (again.length > 0) host.delayed()
    rest = again
  }
  return delivered
}

/** W-REC-20: what ran out during the outage acts now, the earliest first. */
async function ringTimers(host: RecoveryHost): Promise<void> {
  while (!host.stopped()) {
    const next = await host.read(run => (runEnded(run) ? undefined : nextDue(run, { recovering: true })))
    if (next === undefined || next > host.now()) return
    const dealt = await host.submit<boolean>({ type: 'due', recovering: true })
    if (dealt.ok && !dealt.value) return
    if (dealt.ok) continue
    if (!dealt.error.retryable) throw dealt.error
    host.delayed()
  }
}

function hasFailed(run: Run, id: WorkspaceId): boolean {
  return run.workspaces.get(id)?.status === 'failed'
}
