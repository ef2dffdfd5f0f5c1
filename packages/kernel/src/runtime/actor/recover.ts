// Carries out the plan of recovery (W-REC-11), then what became due meanwhile, then the marker. A step that can never
// be written halts the run.
import { ParleyError, type Result, type RunId, type Ticks } from '@parley/core'
import type { RunTrail } from '@parley/trail'
import type { RuntimeCommand } from '../../command.ts'
import { nextDue } from '../../due/due.ts'
import { evolve } from '../../evolve.ts'
import { ObjectCheck } from '../../integrity/object-proof.ts'
import type { Proofs } from '../../integrity/proofs.ts'
import { kernelDefaults } from '../../limits.ts'
import { planRecovery, type RecoveryPlan, type RecoveryStep } from '../../recovery/plan.ts'
import { passOver, quarantine, violationOf } from '../../recovery/quarantine.ts'
import { Trace } from '../../recovery/trace.ts'
import { newRun, type Run, runEnded } from '../../run/run.ts'
import type { Pauses } from './outage.ts'
import type { StateCache } from './state-cache.ts'

interface RecoveryHost {
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
  const failed = await host.read(run => plan.open.filter(id => run.workspaces.get(id)?.status === 'failed').length)
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

export interface Replayed {
  readonly run: Run
  readonly trace: Trace
}

interface ReplaySource {
  readonly id: RunId
  readonly trail: RunTrail
  readonly states?: StateCache | undefined
  /** Whether anchors and signatures count too: of a run that goes on (W-REC-12). */
  readonly proven?: boolean
  readonly proofs?: Proofs | undefined
}

/** W-REC-12 steps 1 and 2. A kept state is of a recovered run with atomic batches: nothing in it is half applied. */
export async function replay({ id, trail, states, proven, proofs }: ReplaySource): Promise<Replayed> {
  const kept = await states?.load()
  const sound = proven ? 'proven' : true
  const run = kept?.run ?? newRun(id)
  const check = new ObjectCheck(run, proofs)
  const trace = kept ? Trace.behind(kept.trail.chain) : new Trace()
  for await (const record of trail.replay({ behind: kept?.trail, sound, lost: true, forged: 'shown' })) {
    if (!('event_type' in record)) {
      if (record.lost !== undefined) passOver(run, record)
      else {
        check.object(record)
        evolve(run, record)
      }
      continue
    }
    trace.see(record)
    const violation = violationOf(run, record, trace)
    if (violation) {
      run.seq++
      quarantine(run, record, violation)
      continue
    }
    trace.note(run, record)
    check.entry(record)
    evolve(run, record)
  }
  check.end()
  return { run, trace }
}

export async function readBack(
  source: ReplaySource,
  pauses: Pauses,
  stopped: () => boolean,
): Promise<Replayed | undefined> {
  for (;;) {
    try {
      return await replay(source)
    } catch (cause) {
      if (stopped()) return undefined
      if (cause instanceof ParleyError && !cause.retryable && cause.code !== 'trail_unavailable') throw cause
      await pauses.wait(kernelDefaults.degradedRetry)
    }
  }
}
