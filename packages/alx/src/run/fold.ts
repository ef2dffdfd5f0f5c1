// A run as ALX shows it: what was stored at its start and its trail entries, folded into run events (ALX-RUN-03). The
// events so far never change when entries are added, so that live streams, later reads and a start after a crash agree.
// Steps are told in the order of the plan, whatever order the work was done in.
import type { HashFn, ProtocolError, ProtocolInfo, RunEvent } from '@alx/protocol'
import type { RunEnd, RunEntry } from '@parley/core'
import type { EventBody, EventType } from '@parley/trail/events'
import { type Approval, Approvals, iso } from './approvals.ts'
import type { SolveFacts, StoredAttempt } from './facts.ts'
import { failureOf, lateError, refusalError, stepError } from './outcome.ts'
import { RunEvents } from './run-events.ts'
import { newStep, type StepState } from './steps.ts'
import { generatedArtifact, synthesisOf } from './synthesis.ts'

export interface FoldedRun {
  readonly runId: string
  readonly facts: SolveFacts
  readonly protocol: ProtocolInfo
  readonly hash?: HashFn | undefined
}

export class RunFold {
  readonly run: FoldedRun
  /** `seq` of the newest entry. */
  cursor = 0
  /** The approval that was told last, while nobody has decided about it. */
  open: Approval | undefined
  attempt = 0
  error: ProtocolError | undefined
  result: string | null = null
  finishedAt: string | null = null
  /** Milliseconds that it has waited for people, and since when it waits now. */
  #waitedMs = 0
  #asked: string | undefined
  readonly #events: RunEvents
  readonly #approvals: Approvals
  readonly #attempts: readonly (readonly StepState[])[]
  readonly #byName: ReadonlyMap<string, StepState>
  readonly #byTask = new Map<unknown, StepState>()
  readonly #byWorkspace = new Map<unknown, StepState>()
  /** Of the attempt's steps, the first that has not been told to its end. */
  #next = 0
  #root: string | undefined
  #rootEnded: string | undefined

  constructor(
    run: FoldedRun,
    parts: { events?: RunEvents; approvals?: Approvals; steps?: readonly StepState[][] } = {},
  ) {
    this.run = run
    const { runId, facts, protocol } = run
    const origin = { runId, correlationId: facts.correlationId, sessionId: facts.session }
    this.#events = parts.events ?? new RunEvents(origin, protocol)
    this.#approvals = parts.approvals ?? new Approvals()
    let index = 0
    this.#attempts =
      parts.steps ?? facts.attempts.map(({ steps }, attempt) => steps.map(step => newStep(step, attempt, index++)))
    this.#byName = new Map(this.#attempts.flat().map(step => [step.stored.stepId, step]))
  }

  get events(): readonly RunEvent[] {
    return this.#events.list
  }

  /** Those of the attempts so far. */
  get steps(): readonly StepState[] {
    return this.#attempts.slice(0, this.attempt + 1).flat()
  }

  get over(): boolean {
    return this.finishedAt !== null
  }

  /** The candidate that is carried out. */
  get chosen(): StoredAttempt | undefined {
    return this.run.facts.attempts[this.attempt]
  }

  /** Whether there was such an approval and it waits no more. */
  hasDecided(approval: string): boolean {
    const { known, pending } = this.#approvals
    return known.has(approval) && !pending.some(({ id }) => id === approval)
  }

  apply(entry: RunEntry): void {
    if (entry.seq <= this.cursor) return
    this.cursor = entry.seq
    const fold = FOLDS[entry.type]
    if (!fold || this.over) return
    fold(this, entry)
    const at = iso(entry.timestamp)
    if (this.#asked !== undefined && this.open === undefined) {
      this.#waitedMs += Date.parse(at) - Date.parse(this.#asked)
      this.#asked = undefined
    }
    this.#tell(at)
  }

  /** The last page of the watch has come. */
  end(end: RunEnd): void {
    if (this.over) return
    const { facts } = this.run
    const refusal = this.#approvals.refusal
    const at = this.#rootEnded ?? this.#events.last
    const held = refusal && refusal.step?.phase !== 'done' ? refusal : undefined
    const failed =
      facts.refusal ??
      (end.outcome === 'complete' ? this.#unfinished() : this.#isLate(end, at) ? lateError() : failureOf(end, held))
    if (failed) this.#fail(failed, held?.kind === 'expired' ? held.at : at)
    else this.#complete(facts.result ?? end.text?.toWellFormed() ?? '', at)
  }

  /**
   * The run as it is once the time of its open approval is over (ALX-SESS-03), although the trail has not said so yet.
   * Undefined while that is not the case.
   */
  expired(now: string): RunFold | undefined {
    const expiresAt = this.open?.expiresAt ?? null
    if (expiresAt === null || expiresAt > now) return undefined
    const steps = this.#attempts.map(attempt => attempt.map(step => ({ ...step })))
    const copy = new RunFold(this.run, { events: this.#events.copy(), steps })
    copy.attempt = this.attempt
    copy.#next = this.#next
    for (const id of this.#approvals.known) copy.#approvals.known.add(id)
    copy.#fail(refusalError('expired'), expiresAt)
    return copy
  }

  /** Milliseconds that it has worked until a moment. */
  workingMs(now: string): number {
    const started = this.#events.list[0]?.timestamp ?? now
    return Date.parse(this.#asked ?? now) - Date.parse(started) - this.#waitedMs
  }

  /** The server has ended it when its time was over. */
  #isLate({ error }: RunEnd, at: string): boolean {
    const { limitMs } = this.run.facts
    return error?.code === 'abandoned' && limitMs !== undefined && this.workingMs(at) >= limitMs
  }

  /** A run whose trail says that it is complete has no step that failed (ALX-SOLVE-13). */
  #unfinished(): ProtocolError | undefined {
    return this.#current.some(({ phase }) => phase === 'failed') ? stepError() : undefined
  }

  get #current(): readonly StepState[] {
    return this.#attempts[this.attempt] ?? []
  }

  // What the entries say. Called by the table below.

  begin(root: string, at: string): void {
    this.#root = root
    this.#events.started(at)
    const { refusal, attempts } = this.run.facts
    const [first] = attempts
    if (!refusal && first?.artifact.origin === 'generated')
      this.#events.emit('artifact.created', at, { artifact: first.artifact })
  }

  /** The second candidate is a delegate that plans its tasks when it begins. */
  named({ task_id, name }: EventBody<'task_created'>, at: string): void {
    const step = this.#byName.get(name)
    if (!step) return
    this.#byTask.set(task_id, step)
    if (step.attempt > this.attempt) this.#fallBack(step.attempt, at)
  }

  assigned({ task_id, workspace_id }: EventBody<'task_assigned'>): void {
    const step = this.#byTask.get(task_id)
    if (step) this.#byWorkspace.set(workspace_id, step)
  }

  moved({ task_id, to_status }: EventBody<'task_status_changed'>, at: string): void {
    const step = this.#byTask.get(task_id)
    if (!step) return
    if (to_status === 'in_progress' || (to_status === 'assigned' && step.phase === 'failed')) {
      if (step.begunAt === '') step.begunAt = at
      step.phase = 'begun'
      // It is worked on again, whatever was decided about it.
      if (this.open?.step === step && !this.#approvals.pending.includes(this.open)) this.open = undefined
    } else if (to_status === 'integrated') {
      step.phase = 'done'
      step.endedAt = at
    } else if ((to_status === 'failed' || to_status === 'cancelled') && step.phase !== 'waiting') {
      step.phase = 'failed'
      step.endedAt = at
    }
  }

  asks(entry: RunEntry): void {
    const stepOf = (task: unknown, workspace: unknown) => this.#byTask.get(task) ?? this.#byWorkspace.get(workspace)
    if (entry.type === 'gate_triggered') this.#approvals.triggered(entry, stepOf)
    else this.#approvals.asked(entry, stepOf)
  }

  answered(entry: RunEntry): void {
    this.#approvals.resolved(entry)
    this.#reopen()
  }

  changed({ workspace_id, to_state }: EventBody<'workspace_state_changed'>, at: string): void {
    if (to_state !== 'closed' && to_state !== 'failed') return
    if (workspace_id === this.#root) this.#rootEnded = at
    this.#approvals.ended(workspace_id)
    this.#reopen()
  }

  /** One whose time is over stays open until the run ends of it: readers were told that it has failed the run. */
  #reopen(): void {
    const { refusal, pending } = this.#approvals
    if (!this.open || pending.includes(this.open)) return
    if (refusal?.kind !== 'expired' || refusal.at !== this.open.expiresAt) this.open = undefined
  }

  /** Tells what has become known, up to the first step that has not ended or waits for a person. */
  #tell(at: string): void {
    while (this.open === undefined) {
      const step = this.#current[this.#next]
      if (step?.stored.skipped !== undefined) {
        this.#skip(step, step.stored.skipped, at)
        continue
      }
      if (step && step.phase !== 'waiting') this.#start(step)
      const asked = this.#approvals.pending.find(approval => this.#isDue(approval, step))
      if (asked) {
        this.#ask(asked, at)
        return
      }
      if (step?.phase !== 'done') return
      this.#finish(step, 'completed')
    }
  }

  #isDue({ step, before }: Approval, next: StepState | undefined): boolean {
    if (step === undefined || next === undefined || step.index <= next.index) return true
    // Work that was begun ahead of its turn waits for a person, and nothing else moves: the plan's order gives way.
    return !before && step.phase === 'begun' && next.phase === 'waiting'
  }

  #ask(approval: Approval, at: string): void {
    const { id, reason, expiresAt, step } = approval
    this.open = approval
    this.#asked = at
    const approvalData = { approvalId: id, reason, expiresAt }
    this.#events.emit('approval.required', at, {
      ...(step && { stepId: step.stored.stepId }),
      approval: approvalData,
    })
  }

  #start(step: StepState): void {
    if (step.told !== 'pending') return
    step.told = 'running'
    step.startedAt = this.#events.emit('step.started', step.begunAt, ofStep(step))
  }

  #finish(step: StepState, told: 'completed' | 'failed', error?: ProtocolError): void {
    this.#start(step)
    step.told = told
    step.error = error
    step.finishedAt = this.#events.emit(`step.${told}`, step.endedAt, { ...ofStep(step), ...(error && { error }) })
    this.#next++
  }

  #skip(step: StepState, reason: string, at: string): void {
    step.told = 'skipped'
    step.reason = reason
    this.#events.emit('step.skipped', at, { ...ofStep(step), reason })
    this.#next++
  }

  /** What has begun is closed; what was never reached stays pending and gets no event. */
  #close(error: ProtocolError, at: string): void {
    for (const step of this.#current.slice(this.#next)) {
      if (step.phase === 'waiting') continue
      if (step.phase === 'begun') step.endedAt = at
      this.#finish(step, step.phase === 'done' ? 'completed' : 'failed', step.phase === 'done' ? undefined : error)
    }
  }

  #fallBack(attempt: number, at: string): void {
    this.#close(stepError(), at)
    this.open = undefined
    this.attempt = attempt
    this.#next = 0
    const { artifact } = this.chosen!
    if (artifact.origin === 'generated') this.#events.emit('artifact.created', at, { artifact })
  }

  #fail(error: ProtocolError, at: string): void {
    this.open = undefined
    if (this.#events.list.length === 0) this.#events.started(at)
    this.#close(error, at)
    this.error = error
    this.finishedAt = this.#events.failed(at, error)
  }

  #complete(result: string, at: string): void {
    this.open = undefined
    for (const step of this.#current.slice(this.#next)) {
      if (step.phase === 'waiting') this.#skip(step, step.stored.skipped ?? 'The run did not need it.', at)
      else {
        if (step.phase === 'begun') step.endedAt = at
        this.#finish(step, 'completed')
      }
    }
    this.result = result
    const synthesis = this.synthesis
    if (synthesis) {
      const artifact = generatedArtifact(synthesis, this.run.hash)
      this.#events.emit('artifact.created', at, { artifact })
    }
    this.finishedAt = this.#events.completed(at)
  }

  /** What the run has made of its result; undefined while there is none, and where nobody has worked. */
  get synthesis() {
    const { facts } = this.run
    const { artifact } = this.chosen ?? {}
    if (this.result === null || facts.result !== undefined || !artifact) return undefined
    return synthesisOf(facts, artifact, this.result)
  }
}

function ofStep({ stored, index }: StepState) {
  return { stepId: stored.stepId, index }
}

type Fold = (fold: RunFold, entry: RunEntry) => void

/** The trail has checked it against its type. */
function body<T extends EventType>({ body }: RunEntry): EventBody<T> {
  return body as EventBody<T>
}

/** Everything else in the trail is nobody's step. */
const FOLDS: Readonly<Record<string, Fold>> = {
  workspace_created(fold, entry) {
    const { parent, workspace_id } = body<'workspace_created'>(entry)
    if (parent === null) fold.begin(workspace_id, iso(entry.timestamp))
  },
  task_created: (fold, entry) => fold.named(body<'task_created'>(entry), iso(entry.timestamp)),
  task_assigned: (fold, entry) => fold.assigned(body<'task_assigned'>(entry)),
  task_status_changed: (fold, entry) => fold.moved(body<'task_status_changed'>(entry), iso(entry.timestamp)),
  workspace_state_changed: (fold, entry) => fold.changed(body<'workspace_state_changed'>(entry), iso(entry.timestamp)),
  gate_triggered: (fold, entry) => fold.asks(entry),
  escalation_received: (fold, entry) => fold.asks(entry),
  gate_resolved: (fold, entry) => fold.answered(entry),
  gate_timeout: (fold, entry) => fold.answered(entry),
  escalation_resolved: (fold, entry) => fold.answered(entry),
  escalation_timeout: (fold, entry) => fold.answered(entry),
}
