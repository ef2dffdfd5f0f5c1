// The state of a run, read back from its trail (W-REC-14), and what recovery wants to know besides. Entries that
// contradict those before them are left out (W-REC-13).
import { ParleyError, type RunId } from '@parley/core'
import type { RunTrail } from '@parley/trail'
import { evolve } from '../../evolve.ts'
import { ObjectCheck } from '../../integrity/object-proof.ts'
import type { Proofs } from '../../integrity/proofs.ts'
import { kernelDefaults } from '../../limits.ts'
import { passOver, quarantine, violationOf } from '../../recovery/quarantine.ts'
import { Trace } from '../../recovery/trace.ts'
import { newRun, type Run } from '../../run/run.ts'
import type { Pauses } from './outage.ts'
import type { StateCache } from './state-cache.ts'

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

/** The same again, as often as the trail is away for reading; undefined where whoever waits for it was stopped. */
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
