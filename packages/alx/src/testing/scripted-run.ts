// A run without a coordinator, whose events come when a test says so, for streams of more than any buffer holds.
import { type Clock, formatTimestamp } from '@parley/core'
import { LiveRun } from '../run/live-run.ts'

export interface ScriptedRun {
  readonly live: LiveRun
  /** Steps that are still to be taken. */
  readonly left: number
  /** Takes the next step, and leaves out the one behind it: three events; behind the last one the run ends. */
  readonly take: () => void
}

/** `padding`: characters of the reason why every other step is left out. */
export function scriptedRun(clock: Clock, { steps: count, padding }: { steps: number; padding: number }): ScriptedRun {
  const taken = Array.from({ length: count }, (_, at) => ({ id: `s${at}`, stepId: `s${at}`, name: 'Step' }))
  const steps = taken.flatMap(each => [
    each,
    { id: `-${each.id}`, stepId: `-${each.id}`, name: 'Not', skipped: 'x'.repeat(padding) },
  ])
  const hash = `0x${'1'.repeat(64)}`
  const live = new LiveRun('U', {
    runId: 'run_1',
    protocol: { protocol_version: '1.1', capabilities: [] },
    facts: {
      session: 'ses_1',
      correlationId: 'req_1',
      intent: { verb: 'deploy', target: 'api', domain: 'engineering' },
      forced: false,
      fingerprint: '',
      selection: { minConfidence: 0, candidates: [] },
      attempts: [
        {
          artifact: {
            artifactId: hash,
            kbHash: hash,
            type: 'procedure',
            domain: 'd',
            tier: null,
            sources: [],
            origin: 'selected',
          },
          confidence: 1,
          steps,
        },
      ],
    },
  })
  let seq = 0
  let next = 0
  const apply = (type: string, body: Record<string, unknown>) => {
    const timestamp = formatTimestamp(clock.now())
    live.fold.apply({ seq: ++seq, id: `e${seq}`, timestamp, type, body } as Parameters<typeof live.fold.apply>[0])
  }
  apply('workspace_created', { parent: null, workspace_id: 'root' })
  for (const { id } of taken) apply('task_created', { task_id: id, name: id })
  const take = () => {
    const { id } = taken[next++]!
    apply('task_status_changed', { task_id: id, to_status: 'in_progress' })
    apply('task_status_changed', { task_id: id, to_status: 'integrated' })
    if (next === count) live.fold.end({ outcome: 'complete', text: 'done', usage: {} })
    live.changed()
  }
  return {
    live,
    take,
    get left() {
      return count - next
    },
  }
}
