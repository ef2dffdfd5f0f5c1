// What waits for a person in a run (ALX-SOLVE-14): gates of the highway and questions of agents, from the trail.
import type { RunEntry } from '@parley/core'
import { deadline, formatTimestamp, parseTimestamp } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import type { Refusal } from './outcome.ts'
import type { StepState } from './steps.ts'

export interface Approval {
  /** The id of the gate or of the question. */
  readonly id: string
  readonly kind: 'gate' | 'question'
  readonly step: StepState | undefined
  /** It stands before its step: it is nobody's business until the steps before that have ended. */
  readonly before: boolean
  readonly workspace: string | null
  readonly reason: string
  /** When its silence counts as a no; `null` where it does not. */
  readonly expiresAt: string | null
}

const QUESTION_LENGTH = 2000

export class Approvals {
  readonly pending: Approval[]
  /** Every one that there was. */
  readonly known: Set<string>
  /** The newest no, and what it was about. */
  refusal: (Refusal & { readonly step: StepState | undefined }) | undefined

  constructor(pending: readonly Approval[] = [], known: Iterable<string> = []) {
    this.pending = [...pending]
    this.known = new Set(known)
  }

  triggered({ body, timestamp }: RunEntry, stepOf: (task: unknown, workspace: unknown) => StepState | undefined): void {
    const gate = body as EventBody<'gate_triggered'>
    const step = stepOf(gate.task_ref, gate.workspace)
    const before = gate.gate_type === 'task_approval'
    // The plan as a whole is approved with the request, task by task; only one that says so is asked about.
    if (before && !step?.stored.approve) return
    const what = step ? `the step '${step.stored.name}'` : 'the run'
    const rejects = gate.timeout !== null && gate.fallback === 'reject'
    this.#add({
      id: gate.gate_id,
      kind: 'gate',
      step,
      before,
      workspace: gate.workspace,
      reason: before
        ? `A person decides whether ${what} begins.`
        : `${GATES[gate.gate_type]} of ${what} needs approval.`,
      expiresAt: rejects ? iso(formatTimestamp(deadline(parseTimestamp(timestamp)!, gate.timeout!))) : null,
    })
  }

  asked({ body }: RunEntry, stepOf: (task: unknown, workspace: unknown) => StepState | undefined): void {
    const { signal_id: id, workspace, reason } = body as EventBody<'escalation_received'>
    const step = stepOf(undefined, workspace)
    const text = reason.slice(0, QUESTION_LENGTH).toWellFormed()
    this.#add({ id, kind: 'question', step, before: false, workspace, reason: text, expiresAt: null })
  }

  #add(approval: Approval): void {
    if (this.known.has(approval.id)) return
    this.known.add(approval.id)
    this.pending.push(approval)
  }

  resolved({ type, body, timestamp }: RunEntry): void {
    const { gate_id, signal_id, action, actor, response_type, fallback_action } = body as Partial<
      Record<'gate_id' | 'signal_id' | 'action' | 'actor' | 'response_type' | 'fallback_action', string>
    >
    const found = this.pending.find(({ id }) => id === (gate_id ?? signal_id))
    if (!found) return
    const late = type.endsWith('_timeout') || actor === 'fallback'
    // A gate whose time is over may first fall to the coordinator.
    if (type === 'gate_timeout' && fallback_action === 'escalate_to_coordinator') return
    if (action === 'reject' || response_type === 'abort' || (late && fallback_action === 'reject')) {
      const at = late ? (found.expiresAt ?? iso(timestamp)) : iso(timestamp)
      this.refusal = { kind: late ? 'expired' : 'rejected', at, step: found.step }
    }
    this.#drop(found)
  }

  /** What was asked in a workspace waits for nobody once that has ended. */
  ended(workspace: string): void {
    for (const approval of [...this.pending]) {
      if (approval.kind === 'question' && approval.workspace === workspace) this.#drop(approval)
    }
  }

  #drop(approval: Approval): void {
    this.pending.splice(this.pending.indexOf(approval), 1)
  }
}

const GATES: Readonly<Record<EventBody<'gate_triggered'>['gate_type'], string>> = {
  task_approval: 'The start',
  workspace_create: 'Beginning the work',
  envelope_delivery: 'A message',
  integration: 'Taking over the result',
  conflict_resolution: 'The resolution of a conflict',
  workspace_abort: 'Ending the work',
}

/** A moment of the trail as ALX writes it: in milliseconds, rounded down. */
export function iso(timestamp: string): string {
  return `${timestamp.slice(0, 23)}Z`
}
