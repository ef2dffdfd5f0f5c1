// One run at work: commands in the order of W-CONC-02, decided in groups, appended, and answered once they are durable. While a
// group is on its way to disk nothing else of this run is decided, so between groups the state is exactly what the trail says.

import type { WorkspaceId } from '@parley/core'
import {
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
import type { EventBody } from '@parley/trail/events'
import type { UserDirectory } from '../batch.ts'
import { type Command, PRECEDENCE, precedenceOf } from '../command.ts'
import { type Decision, decide } from '../decide.ts'
import { evolve } from '../evolve.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import { invalidState, refusal } from '../refusal.ts'
import { newRun, type Run, runEnded } from '../run/run.ts'
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
}

interface Queued {
  readonly command: Command
  readonly answer: (result: Result<unknown>) => void
}

interface Decided {
  readonly queued: Queued
  readonly decision: Decision
  readonly notices: readonly Notice[]
}

/** Errors of the trail's storage; everything else that an append may answer is about this one batch. */
const STORAGE = new Set(['trail_unavailable', 'trail_full', 'trail_busy', 'signing_failed'])

export class RunActor {
  readonly id: RunId
  readonly #options: ActorOptions
  readonly #courier: Courier
  #run: Run
  readonly #queues: readonly Queued[][] = Object.values(PRECEDENCE).map(() => [])
  #queued = 0
  /** Commands that wait for an integration into a target to end (W-INT-08). */
  readonly #locked = new Map<WorkspaceId, Queued[]>()
  readonly #readers: (() => void)[] = []
  readonly #listeners = new Set<(notice: Notice) => void>()
  #busy = false
  #scheduled = false
  #degraded = false
  #stopped = false

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
  }

  /** Replays a run. Nothing is written; what was on its way is carried again. */
  static async open(options: ActorOptions): Promise<RunActor> {
    return new RunActor(options, await replay(options))
  }

  /** Takes up deliveries that a crash or stop interrupted. */
  resume(): void {
    if (runEnded(this.#run)) return
    for (const workspace of this.#run.workspaces.values())
      this.#courier.lookInto(this.#run, workspace.id, this.#run.seq)
    this.#courier.lookForSignals(this.#run, this.#run.seq)
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
  async read<T>(reader: (run: Run) => T): Promise<T> {
    while (this.#busy) await new Promise<void>(resolve => this.#readers.push(resolve))
    return reader(this.#run)
  }

  subscribe(listener: (notice: Notice) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Waits for what is on its way to disk; commands that still wait are refused. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#courier.stop()
    const refused = refusal('trail_unavailable', 'The runtime is stopped.')
    for (const queue of [...this.#queues, ...this.#locked.values()])
      for (const { answer } of queue.splice(0)) answer(refused)
    this.#queued = 0
    while (this.#busy) await new Promise<void>(resolve => this.#readers.push(resolve))
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
      }
    } finally {
      this.#busy = false
      for (const wake of this.#readers.splice(0)) wake()
    }
  }

  /** Decides what waits, each command on the state that the ones before it leave behind. */
  #decideGroup(): Decided[] {
    const group: Decided[] = []
    let records = 0
    for (let queued = this.#next(); queued; queued = this.#next()) {
      const decided = this.#decide(queued)
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
    for (const object of decision.objects) evolve(run, object)
    for (const entry of decision.entries) {
      if (heard) notices.push(...noticesOf(run, entry))
      evolve(run, entry)
      const hanging = heard ? unresolvableNotice(run, entry) : undefined
      if (hanging) notices.push(hanging)
    }
    return { queued, decision, notices }
  }

  #waitForTarget(queued: Queued, target: WorkspaceId): void {
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
      await new Promise<void>(resolve => this.#options.clock.after(wait, resolve))
    }
  }

  /** Answers what became durable; returns where the first failure stands. */
  async #append(group: readonly Decided[]): Promise<{ index: number; error: ParleyError } | undefined> {
    const appends = group.map(({ decision: { entries, objects } }) =>
      entries.length + objects.length === 0 ? undefined : this.#options.trail.append({ entries, objects }),
    )
    for (const [index, append] of appends.entries()) {
      const result = append && (await append)
      if (result && !result.ok) {
        // The trail fails everything behind it as well; all answers are in before anything is tried again.
        await Promise.all(appends)
        return { index, error: result.error }
      }
      this.#committed(group[index]!)
    }
    return undefined
  }

  #committed({ queued, decision, notices }: Decided): void {
    queued.answer(decision.result)
    for (const entry of decision.entries) this.#effect(entry)
    if (decision.objects.some(object => object.kind === 'consumed') && 'caller' in queued.command)
      this.#courier.lookInto(this.#run, queued.command.caller, this.#run.seq)
    for (const notice of notices) for (const listener of this.#listeners) listener(notice)
  }

  /** What follows from an entry now that it is durable. */
  #effect(entry: EntryDraft): void {
    const run = this.#run
    switch (entry.event_type) {
      case 'envelope_created':
      case 'envelope_delivered':
      case 'envelope_undeliverable': {
        const body = entry.body as EventBody<'envelope_delivered'>
        this.#courier.look(run, body.from as WorkspaceId, body.to as WorkspaceId, run.seq)
        return
      }
      case 'signal_emitted':
      case 'signal_delivered':
        this.#courier.lookForSignals(run, run.seq)
        return
      case 'workspace_state_changed': {
        const body = entry.body as EventBody<'workspace_state_changed'>
        this.#courier.lookInto(run, body.workspace_id as WorkspaceId, run.seq)
        if (runEnded(run)) this.#end()
        return
      }
      case 'integration_completed':
      case 'integration_aborted':
        this.#unlock((entry.body as EventBody<'integration_completed'>).target as WorkspaceId)
        return
      default:
        return
    }
  }

  /** The target's lock is free: whoever waited for it is asked again, in order. */
  #unlock(target: WorkspaceId): void {
    const waiting = this.#locked.get(target)
    if (!waiting) return
    this.#locked.delete(target)
    this.#queued += waiting.length
    for (const queued of waiting) this.#queues[precedenceOf(queued.command)]!.push(queued)
  }

  #end(): void {
    this.#courier.stop()
    const refused = invalidState(`The run ${this.id} has ended.`)
    for (const waiting of this.#locked.values()) for (const { answer } of waiting) answer(refused)
    this.#locked.clear()
    this.#options.onEnd()
  }

  /** A group that could not be made durable never happened: its callers learn it, and the state is read back from the trail. */
  async #undo(rest: readonly Decided[], error: ParleyError): Promise<void> {
    const storage = STORAGE.has(error.code) || error.code === 'trail_closed'
    const held = storage && this.#degraded && !this.#stopped
    this.#degraded = storage
    const [first, ...others] = rest
    invariant(first, 'a failure concerns at least one command')
    if (held) this.#requeue(rest)
    else if (storage) for (const { queued } of rest) queued.answer(err(unavailable(error)))
    else {
      first.queued.answer(err(error))
      this.#requeue(others)
    }
    await this.#reload()
    if (held) await this.#pause()
  }

  /** Back to the front of the queue, in order. */
  #requeue(group: readonly Decided[]): void {
    for (const { queued } of group.toReversed()) {
      this.#queues[precedenceOf(queued.command)]!.unshift(queued)
      this.#queued++
    }
  }

  /** While the trail is away even for reading, the run waits. */
  async #reload(): Promise<void> {
    for (;;) {
      try {
        this.#run = await replay(this.#options)
        this.#courier.stop()
        this.resume()
        return
      } catch (cause) {
        if (this.#stopped) return
        if (cause instanceof ParleyError && !cause.retryable && cause.code !== 'trail_unavailable')
          throw cause
        await this.#pause()
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise(resolve => this.#options.clock.after(kernelDefaults.degradedRetry, resolve))
  }
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
