// Entries of a run as a trail would have them, for folds.
import type { RunEntry } from '@parley/core'
import type { StoredStep } from '../run/facts.ts'
import { RunFold } from '../run/fold.ts'
import { candidate, INTENT } from './fixture.ts'

/** A millisecond for each entry. */
export class Entries {
  readonly all: RunEntry[] = []

  add(type: string, body: Readonly<Record<string, unknown>>, at = this.all.length): this {
    const seq = this.all.length + 1
    const timestamp = `2026-01-01T00:00:${String(Math.floor(at / 1000)).padStart(2, '0')}.${String(at % 1000).padStart(3, '0')}000Z`
    this.all.push({ seq, id: `e${seq}`, timestamp, type, body } as unknown as RunEntry)
    return this
  }

  root(): this {
    return this.add('workspace_created', { parent: null, workspace_id: 'root' })
  }

  tasks(...names: readonly string[]): this {
    for (const name of names) {
      this.add('task_created', { task_id: `t-${name}`, name })
      this.add('task_assigned', { task_id: `t-${name}`, workspace_id: `w-${name}` })
    }
    return this
  }

  /** Tasks go through these states, one after the other. */
  move(...moves: readonly (readonly [name: string, to: string])[]): this {
    for (const [name, to_status] of moves) this.add('task_status_changed', { task_id: `t-${name}`, to_status })
    return this
  }

  over(): this {
    return this.add('workspace_state_changed', { workspace_id: 'root', to_state: 'closed' })
  }
}

export const stored = (id: string, more: Partial<StoredStep> = {}): StoredStep => ({
  id,
  stepId: id,
  name: id,
  ...more,
})

export function foldOf(...attempts: readonly (readonly StoredStep[])[]): RunFold {
  return new RunFold({
    runId: 'run_1',
    protocol: { protocol_version: '1.1', capabilities: [] },
    facts: {
      session: 'ses_1',
      correlationId: 'req_1',
      intent: INTENT,
      forced: false,
      fingerprint: '',
      selection: { minConfidence: 0.35, candidates: [] },
      attempts: attempts.map((steps, at) => ({ ...candidate(0.9 - at / 10, `candidate ${at}`), steps })),
    },
  })
}

export function folded(fold: RunFold, { all }: Entries): RunFold {
  for (const entry of all) fold.apply(entry)
  return fold
}

/** `step.started one`. */
export function told({ events }: Pick<RunFold, 'events'>): readonly string[] {
  return events.map(event => ('stepId' in event && event.stepId ? `${event.type} ${event.stepId}` : event.type))
}
