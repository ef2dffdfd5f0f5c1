// One run at work: commands in the order of W-CONC-02, decided in groups, appended, and answered once they are durable. While a
// group is on its way to disk nothing else of this run is decided, so between groups the state is exactly what the trail says.

import type { Ticks, WorkspaceId } from '@parley/core'
import {
  asParleyError,
  type Clock,
  err,
  type IdSource,
  invariant,
  ParleyError,
  type Result,
  type RunId,
  type StrictClock,
} from '@parley/core'
import type { EntryDraft, RunTrail } from '@parley/trail'
import { type EventBody, isTerminal } from '@parley/trail/events'
import type { UserDirectory } from '../batch.ts'
import { type Command, PRECEDENCE, precedenceOf } from '../command.ts'
import { type Decision, decide } from '../decide.ts'
import { dueAfter, nextDue } from '../due/due.ts'
import { evolve } from '../evolve.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import { invalidState, limitReached, refusal } from '../refusal.ts'
import { newRun, type Run, runEnded } from '../run/run.ts'
import { Alarm, earlier } from './alarm.ts'
import { Courier } from './courier.ts'
import { type Notice, noticesOf, unresolvableNotice } from './notice.ts'
import type { Transport } from './transport.ts'

export interface ActorOptions {
  readonly id: RunId
  readonly trail: RunTrail
  readonly clock: Clock
  readonly stamps: StrictClock
  readonly ids: IdSource
  readonly transport: Transport
  readonly redeliveryBase: number
  /** Waits before a commit is tried again. */
  readonly commitRetries: readonly number[]
  readonly users?: UserDirectory | undefined
  /** The run's last entry is durable. */
  readonly onEnd: () => void
  /** A subscriber threw. */
  readonly onFault: (cause: unknown) => void
}

interface Queued {
  readonly command: Command
  readonly answer: (result: Result<unknown>) => void
}

interface Decided {
  readonly queued: Queued
  readonly decision: Decision
  readonly notices: readonly Notice[]
  /** `seq` of its last entry: once it is committed, everything up to here is durable. */
  readonly last: number
  /** The earliest moment that its entries brought nearer. */
  readonly due: Ticks | undefined
}

/** Errors of the trail's storage; everything else that an append may answer is about this one batch. */
const STORAGE = new Set(['trail_unavailable', 'trail_full', 'trail_busy', 'signing_failed'])

export class RunActor {
  readonly id: RunId
  readonly #options: ActorOptions
  readonly #courier: Courier
  readonly #alarm: Alarm
  #run: Run
  readonly #queues: readonly Queued[][] = Object.values(PRECEDENCE).map(() => [])
  #queued = 0
  /** Commands that wait for an integration into a target to end (W-INT-08). */
  readonly #locked = new Map<WorkspaceId, Queued[]>()
  #lockedCommands = 0
  /** What wants to see committed state; served between two groups. */
  readonly #readers: (() => void)[] = []
  /** Ends every pause early when the actor is stopped. */
  readonly #pauses = new Set<() => void>()
  readonly #listeners = new Set<(notice: Notice) => void>()
  #busy = false
  #scheduled = false
  #degraded = false
  #stopped = false
  /** The state is not what the trail says. */
  #spoiled = false
  /** The state is what the trail says although a group waits to be tried again. */
  #readable = false

  private constructor(options: ActorOptions, run: Run) {
    this.id = options.id
    this.#options = options
    this.#run = run
    this.#courier = new Courier({
      clock: options.clock,
      transport: options.transport,
      base: options.redeliveryBase,
      submit: command => this.submit(command),
    })
    this.#alarm = new Alarm({
      clock: options.clock,
      next: () => this.read(nextDue),
      ring: () => this.submit({ type: 'due' }),
    })
  }

  /** Replays a run. Nothing is written; what was on its way is carried again. */
  static async open(options: ActorOptions): Promise<RunActor> {
    return new RunActor(options, await replay(options))
  }

  /** Takes up deliveries that a crash or stop interrupted. */
  resume(): void {
    if (this.#stopped || runEnded(this.#run)) return
    for (const workspace of this.#run.workspaces.values())
      this.#courier.lookInto(this.#run, workspace.id, this.#run.seq)
    this.#courier.lookForSignals(this.#run, this.#run.seq)
    this.#alarm.set(nextDue(this.#run))
  }

  get ended(): boolean {
    return runEnded(this.#run)
  }

  /** Answers when what the command comes to is durable. */
  submit<T>(command: Command): Promise<Result<T>> {
    if (this.#stopped) return Promise.resolve(refusal('trail_unavailable', 'The runtime is stopped.'))
    if (this.#queued >= kernelLimits.queuedCommands)
      return Promise.resolve(
        err(new ParleyError('trail_degraded', 'Too many commands wait for this run.', { retryable: true })),
      )
    return new Promise(resolve => {
      this.#queued++
      this.#queues[precedenceOf(command)]!.push({
        command,
        answer: resolve as (result: Result<unknown>) => void,
      })
      this.#schedule()
    })
  }

  /** Reads committed state. */
  read<T>(reader: (run: Run) => T): Promise<T> {
    if (!this.#busy || this.#readable) return Promise.resolve(reader(this.#run))
    return new Promise((resolve, reject) => {
      this.#readers.push(() => {
        try {
          resolve(reader(this.#run))
        } catch (cause) {
          reject(cause)
        }
      })
    })
  }

  subscribe(listener: (notice: Notice) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Waits for what is on its way to disk; commands that still wait are refused. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#halt()
    this.#refuseWaiting(refusal('trail_unavailable', 'The runtime is stopped.'))
    for (const wake of this.#pauses) wake()
    await this.read(() => undefined)
  }

  /** Nothing happens by itself any more. */
  #halt(): void {
    this.#courier.stop()
    this.#alarm.stop()
  }

  #refuseWaiting(refused: Result<never>): void {
    for (const queue of [...this.#queues, ...this.#locked.values()])
      for (const { answer } of queue.splice(0)) answer(refused)
    this.#locked.clear()
    this.#queued = 0
    this.#lockedCommands = 0
  }

  /** One microtask later, so that what is submitted together is ordered and committed together. */
  #schedule(): void {
    if (this.#busy || this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      if (!this.#busy) void this.#work()
    })
  }

  async #work(): Promise<void> {
    this.#busy = true
    try {
      while (this.#queued > 0) {
        const group = this.#decideGroup()
        if (group.length > 0) await this.#commit(group)
        if (this.#spoiled) await this.#reload()
        this.#serveReaders()
      }
    } catch (cause) {
      // What cannot be read back halts this run, and no other.
      this.#stopped = true
      this.#halt()
      this.#refuseWaiting(err(asParleyError(cause)))
    } finally {
      this.#busy = false
      this.#serveReaders()
    }
  }

  #serveReaders(): void {
    for (const read of this.#readers.splice(0)) read()
  }

  /** Decides what waits, each command on the state that the ones before it leave behind. */
  #decideGroup(): Decided[] {
    const group: Decided[] = []
    let records = 0
    for (let queued = this.#next(); queued; queued = this.#next()) {
      const decided = this.#tryToDecide(queued)
      if (this.#spoiled) break
      if (decided) {
        group.push(decided)
        records += decided.decision.entries.length + decided.decision.objects.length
      }
      if (group.length >= kernelLimits.groupCommands || records >= kernelLimits.groupRecords) break
    }
    return group
  }

  #next(): Queued | undefined {
    for (const queue of this.#queues) {
      const queued = queue.shift()
      if (!queued) continue
      this.#queued--
      return queued
    }
    return undefined
  }

  /** A defect answers the command that met it; the state, which it may have changed in part, is read back from the trail. */
  #tryToDecide(queued: Queued): Decided | undefined {
    try {
      return this.#decide(queued)
    } catch (cause) {
      this.#spoiled = true
      queued.answer(err(asParleyError(cause)))
      return undefined
    }
  }

  #decide(queued: Queued): Decided | undefined {
    const { stamps, ids, users, transport } = this.#options
    const run = this.#run
    const now = stamps.next()
    const decision = decide(run, queued.command, {
      now,
      ids,
      ...(users && { users }),
      carriesSignals: transport.signals ?? false,
    })
    if (!decision.result.ok && decision.result.error.code === 'target_locked') {
      this.#waitForTarget(queued, decision.result.error.details.target as WorkspaceId)
      return undefined
    }
    if (decision.entries.length > 0) stamps.anchor((now + decision.entries.length - 1) as typeof now)
    const notices: Notice[] = []
    const heard = this.#listeners.size > 0
    let due: Ticks | undefined
    for (const object of decision.objects) evolve(run, object)
    for (const entry of decision.entries) {
      if (heard) notices.push(...noticesOf(run, entry))
      evolve(run, entry)
      due = earlier(due, dueAfter(run, entry))
      if (endsIntegration(entry)) this.#unlock(entry.body.target as WorkspaceId)
      const hanging = heard ? unresolvableNotice(run, entry) : undefined
      if (hanging) notices.push(hanging)
    }
    return { queued, decision, notices, last: run.seq, due }
  }

  #waitForTarget(queued: Queued, target: WorkspaceId): void {
    if (this.#lockedCommands >= kernelLimits.queuedCommands) {
      queued.answer(limitReached('commands that wait for an integration', kernelLimits.queuedCommands))
      return
    }
    this.#lockedCommands++
    const waiting = this.#locked.get(target)
    if (waiting) waiting.push(queued)
    else this.#locked.set(target, [queued])
  }

  /** Appends a group and answers it. What cannot be made durable is undone by replay. */
  async #commit(group: readonly Decided[]): Promise<void> {
    let rest = group
    const waits = [...this.#options.commitRetries]
    for (;;) {
      const failed = await this.#append(rest)
      if (!failed) {
        this.#degraded = false
        return
      }
      rest = rest.slice(failed.index)
      const wait = STORAGE.has(failed.error.code) && !this.#stopped ? waits.shift() : undefined
      if (wait === undefined) return this.#undo(rest, failed.error)
      await this.#pause(wait)
    }
  }

  /** Answers what became durable; returns where the first failure stands. */
  async #append(group: readonly Decided[]): Promise<{ index: number; error: ParleyError } | undefined> {
    const appends = this.#options.trail.appendEach(
      group.filter(({ decision }) => isWritten(decision)).map(({ decision }) => decision),
    )
    let appended = 0
    for (const [index, decided] of group.entries()) {
      const result = isWritten(decided.decision) ? await appends[appended++] : undefined
      if (result && !result.ok) {
        // The trail takes nothing that stands behind it; all answers are in before anything is tried again.
        await Promise.all(appends)
        return { index, error: result.error }
      }
      this.#committed(decided)
    }
    return undefined
  }

  #committed({ queued, decision, notices, last, due }: Decided): void {
    queued.answer(decision.result)
    this.#alarm.set(due)
    for (const entry of decision.entries) this.#effect(entry, last)
    if ('caller' in queued.command && queued.command.type === 'consume')
      this.#courier.lookInto(this.#run, queued.command.caller, last)
    for (const notice of notices) this.#tell(notice)
  }

  /** What a subscriber does wrong is its own affair: the run goes on. */
  #tell(notice: Notice): void {
    for (const listener of this.#listeners) {
      try {
        listener(notice)
      } catch (cause) {
        this.#options.onFault(cause)
      }
    }
  }

  /** What follows from an entry now that it is durable. */
  #effect(entry: EntryDraft, durable: number): void {
    const run = this.#run
    switch (entry.event_type) {
      case 'envelope_created':
      case 'envelope_delivered':
      case 'envelope_undeliverable': {
        const body = entry.body as EventBody<'envelope_delivered'>
        this.#courier.look(run, body.from as WorkspaceId, body.to as WorkspaceId, durable)
        return
      }
      case 'signal_emitted':
      case 'signal_delivered':
        this.#courier.lookForSignals(run, durable)
        return
      case 'workspace_state_changed': {
        const body = entry.body as EventBody<'workspace_state_changed'>
        this.#courier.lookInto(run, body.workspace_id as WorkspaceId, durable)
        this.#courier.lookForSignals(run, durable)
        if (isTerminal(body.to_state) && body.workspace_id === run.root?.id) this.#end()
        return
      }
      default:
        return
    }
  }

  /** The target's lock is free: whoever waited for it is asked again, in order and before what was asked later (W-INT-08). */
  #unlock(target: WorkspaceId): void {
    const waiting = this.#locked.get(target)
    if (!waiting) return
    this.#locked.delete(target)
    this.#lockedCommands -= waiting.length
    this.#requeue(waiting)
  }

  #end(): void {
    this.#halt()
    this.#refuseWaiting(invalidState(`The run ${this.id} has ended.`))
    this.#options.onEnd()
  }

  /** A group that could not be made durable never happened: its callers learn it, and the state is read back from the trail. */
  async #undo(rest: readonly Decided[], error: ParleyError): Promise<void> {
    const storage = STORAGE.has(error.code) || error.code === 'trail_closed'
    const held = storage && this.#degraded && !this.#stopped
    this.#degraded = storage
    const [first, ...others] = rest
    invariant(first, 'a failure concerns at least one command')
    // The integration that somebody waits for may be among what never happened.
    for (const target of [...this.#locked.keys()]) this.#unlock(target)
    if (held) this.#requeue(rest.map(({ queued }) => queued))
    else if (storage) for (const { queued } of rest) queued.answer(err(unavailable(error)))
    else {
      first.queued.answer(err(error))
      this.#requeue(others.map(({ queued }) => queued))
    }
    await this.#reload()
    if (!held) return
    // Reads stay available while nothing can be written (W-REC-08).
    this.#readable = true
    this.#serveReaders()
    await this.#pause(kernelDefaults.degradedRetry)
    this.#readable = false
  }

  /** Back to the front of the queue, in order. */
  #requeue(group: readonly Queued[]): void {
    for (const queued of group.toReversed()) {
      this.#queues[precedenceOf(queued.command)]!.unshift(queued)
      this.#queued++
    }
  }

  /** While the trail is away even for reading, the run waits. */
  async #reload(): Promise<void> {
    for (;;) {
      try {
        this.#run = await replay(this.#options)
        this.#spoiled = false
        this.resume()
        return
      } catch (cause) {
        if (this.#stopped) return
        if (cause instanceof ParleyError && !cause.retryable && cause.code !== 'trail_unavailable')
          throw cause
        await this.#pause(kernelDefaults.degradedRetry)
      }
    }
  }

  /** Waits on the injected clock, or until the actor is stopped. */
  #pause(milliseconds: number): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    return new Promise(resolve => {
      const wake = () => {
        cancel()
        this.#pauses.delete(wake)
        resolve()
      }
      const cancel = this.#options.clock.after(milliseconds, wake)
      this.#pauses.add(wake)
    })
  }
}

function isWritten({ entries, objects }: Decision): boolean {
  return entries.length + objects.length > 0
}

function endsIntegration(
  entry: EntryDraft,
): entry is EntryDraft & { readonly body: EventBody<'integration_completed' | 'integration_aborted'> } {
  return entry.event_type === 'integration_completed' || entry.event_type === 'integration_aborted'
}

async function replay({ id, trail }: ActorOptions): Promise<Run> {
  const run = newRun(id)
  for await (const record of trail.replay()) evolve(run, record)
  return run
}

function unavailable(cause: ParleyError): ParleyError {
  return new ParleyError('trail_unavailable', `Nothing was done: ${cause.message}`, {
    retryable: true,
    cause,
  })
}
