// One run at work: commands in the order of W-CONC-02, decided in groups, appended, and answered once they are durable.
// While a group is on its way to disk nothing else of this run is decided, so between groups the state is exactly what
// the trail says.
import {
  asParleyError,
  err,
  formatTimestamp,
  invariant,
  ParleyError,
  type Result,
  type RunId,
  type WorkspaceId,
} from '@parley/core'
import { firstMarked } from '../../budget/enforce.ts'
import type { Command } from '../../command.ts'
import { type Decision, decide } from '../../decide.ts'
import { nextDue } from '../../due/due.ts'
import { evolve } from '../../evolve.ts'
import { kernelDefaults, kernelLimits } from '../../limits.ts'
import type { Trace } from '../../recovery/trace.ts'
import { invalidState, refusal } from '../../refusal.ts'
import { type Run, runEnded } from '../../run/run.ts'
import { agentOf } from '../../workspace/workspace.ts'
import { Listeners, type Notice, noticesOf } from '../notice.ts'
import { type ActorOptions, contextAt } from '../runtime-options.ts'
import { Alarm } from './alarm.ts'
import { commit, type Decided, fold, isStorageError, unavailable } from './commit.ts'
import { Courier } from './courier.ts'
import { endsRun, follow } from './effects.ts'
import { MissingEvidence } from './evidence.ts'
import { Outage, Pauses } from './outage.ts'
import { type AnsweredEach, CommandQueue, type Queued, queuedEach, Readers } from './queue.ts'
import { type Replayed, readBack, recover, replay } from './recover.ts'

export class RunActor {
  readonly id: RunId
  readonly #options: ActorOptions
  readonly #courier: Courier
  readonly #alarm: Alarm
  #run: Run
  readonly #queue: CommandQueue
  readonly #evidence: MissingEvidence
  #trace: Trace | undefined
  readonly #outage: Outage
  readonly #readers = new Readers()
  readonly #pauses: Pauses
  readonly #listeners: Listeners
  #working: Promise<void> | undefined
  #scheduled = false
  #stopped = false
  #failed = false
  /** The state is not what the trail says. */
  #spoiled = false

  private constructor(options: ActorOptions, { run, trace }: Replayed) {
    this.id = options.id
    this.#options = options
    this.#run = run
    this.#trace = run.root && !runEnded(run) ? trace : undefined
    this.#queue = new CommandQueue(options.stamps, this.#trace !== undefined)
    this.#courier = new Courier({
      clock: options.clock,
      transport: options.transport,
      base: options.redeliveryBase,
      submit: command => this.submit(command),
    })
    this.#alarm = new Alarm({
      clock: options.clock,
      next: () => {
        // Who rings while a commit is on its way is not in the queue yet when the next command is taken.
        if (this.#working && !this.#outage.since) this.#queue.lookForDue()
        return this.read(nextDue)
      },
      ring: () => this.submit({ type: 'due' }),
    })
    this.#outage = new Outage(options.clock, () => this.#schedule())
    this.#pauses = new Pauses(options.clock)
    this.#listeners = new Listeners(options.onFault)
    this.#evidence = new MissingEvidence({
      trail: options.trail,
      proofs: options.proofs,
      wait: milliseconds => this.#pauses.wait(milliseconds),
      stopped: () => this.#stopped,
      maker: checkpoint => this.#run.checkpoints.get(checkpoint)?.workspace,
    })
  }

  static async open(options: ActorOptions): Promise<RunActor> {
    return new RunActor(options, await replay(options))
  }

  get ended(): boolean {
    return runEnded(this.#run)
  }

  /** Whether nothing of it can be written for now: what is asked of it waits (W-REC-08). */
  get degraded(): boolean {
    return this.#outage.since !== undefined
  }

  get recovering(): boolean {
    return this.#queue.recovering
  }

  /** `delayed` is called while the trail cannot be written. Rejects where the run cannot be recovered. */
  async recover(delayed: () => void): Promise<void> {
    if (!this.#trace) return
    const host = {
      submit: <T>(command: Command) => this.#submit<T>(command, true),
      read: <T>(reader: (run: Run) => T) => this.read(reader),
      now: () => this.#options.stamps.next(),
      delayed,
      stopped: () => this.#stopped,
    }
    try {
      await recover(host, this.#trace)
    } catch (cause) {
      this.#fail(cause)
      throw cause
    }
    this.#trace = undefined
    this.#queue.recovered()
    this.resume()
    this.#schedule()
  }

  resume(): void {
    if (this.#stopped || this.recovering || runEnded(this.#run)) return
    for (const workspace of this.#run.workspaces.values())
      this.#courier.lookInto(this.#run, workspace.id, this.#run.seq)
    this.#courier.lookForSignals(this.#run, this.#run.seq)
    this.#alarm.set(nextDue(this.#run))
  }

  submit<T>(command: Command): Promise<Result<T>> {
    const limit = this.#outage.since ? this.#options.heldCommands : kernelLimits.queuedCommands
    if (!this.#stopped && this.#queue.size >= limit)
      return Promise.resolve(
        err(new ParleyError('trail_degraded', 'Too many commands wait for this run.', { retryable: true })),
      )
    return this.#submit(command, false)
  }

  /** Commands that follow from the value of the first one: all of them become durable in one commit, in order. */
  async submitEach<T>(first: Command, follow: (value: T) => readonly Command[]): Promise<AnsweredEach<T>> {
    if (this.#stopped) return { first: refusal('trail_unavailable', 'The runtime is stopped.'), rest: [] }
    const { queued, answered } = queuedEach(first, follow)
    this.#queue.push(queued)
    this.#schedule()
    return answered
  }

  #submit<T>(command: Command, forRecovery: boolean): Promise<Result<T>> {
    if (this.#stopped) return Promise.resolve(refusal('trail_unavailable', 'The runtime is stopped.'))
    return new Promise(resolve => {
      const queued = { command, answer: resolve as (result: Result<unknown>) => void }
      if (forRecovery) this.#queue.pushForRecovery(queued)
      else this.#queue.push(queued)
      this.#schedule()
    })
  }

  /** Reads committed state: at once between two groups, and while nothing can be written (W-REC-08). */
  read<T>(reader: (run: Run) => T): Promise<T> {
    if (!this.#working || this.#outage.readable) return Promise.resolve(reader(this.#run))
    return this.#readers.wait(reader)
  }

  agentOf(workspace: WorkspaceId): string | undefined {
    const state = this.#run.workspaces.get(workspace)
    return state && agentOf(state)
  }

  subscribe(listener: (notice: Notice) => void): () => void {
    return this.#listeners.add(listener)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#halt()
    this.#refuse(refusal('trail_unavailable', 'The runtime is stopped.'))
    this.#pauses.end()
    await this.#working
    if (this.#isTrue) await this.#options.states?.stop(this.#run)
  }

  get #isTrue(): boolean {
    return !this.#failed && !this.#spoiled && !this.recovering
  }

  #halt(): void {
    this.#courier.stop()
    this.#alarm.stop()
    this.#outage.end()
    this.#options.states?.halt()
  }

  #fail(cause: unknown): void {
    this.#failed = true
    this.#stopped = true
    this.#halt()
    this.#refuse(err(asParleyError(cause)))
  }

  #refuse(refused: Result<never>): void {
    this.#queue.refuse(refused)
    this.#evidence.refuse(refused)
  }

  /** One microtask later, so that what is submitted together is ordered and committed together. */
  #schedule(): void {
    if (this.#working || this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      // Work that has nothing to wait for, as where all commands wait for a lock, must not end before it is known to
      // have begun.
      if (this.#waiting || this.#outage.since) this.#working ??= Promise.resolve().then(() => this.#work())
    })
  }

  get #waiting(): boolean {
    return !this.#stopped && (this.#evidence.ready || this.#queue.waiting)
  }

  async #work(): Promise<void> {
    const { states } = this.#options
    states?.changing()
    try {
      do {
        if (this.#outage.since && !(await this.#leaveOutage(this.#outage.since))) {
          if (this.#waiting) await this.#pauses.wait(kernelDefaults.degradedRetry)
          continue
        }
        const group = this.#decideGroup()
        if (group.length > 0) await this.#commit(group)
        if (this.#spoiled) await this.#reload()
        if (this.#evidence.lacking) await this.#evidence.bring()
        this.#readers.serve(this.#run)
        if (states?.isOverdue(this.#run) && this.#isTrue) await states.keep(this.#run)
      } while (this.#waiting)
    } catch (cause) {
      this.#fail(cause)
    } finally {
      this.#working = undefined
      this.#readers.serve(this.#run)
      if (!this.#stopped) this.#outage.tryLater()
      if (!this.#stopped && this.#isTrue) states?.rest(() => this.#run)
    }
  }

  /** W-REC-09: writes the end of the outage before anything is decided; false while the trail is away. */
  async #leaveOutage({ from, reason }: NonNullable<Outage['since']>): Promise<boolean> {
    this.#readers.serve(this.#run)
    const decision = this.#consider({ type: 'degraded_over', from, reason })
    const appended = await this.#options.trail.append(decision)
    if (!appended.ok && (isStorageError(appended.error) || appended.error.code === 'trail_closed')) {
      if (isStorageError(appended.error)) this.#options.onUnwritable?.(appended.error)
      return false
    }
    this.#outage.end()
    if (!appended.ok) return true
    const notices = decision.entries.flatMap(entry => noticesOf(this.#run, entry))
    for (const entry of decision.entries) evolve(this.#run, entry)
    this.#queue.lookForDue()
    for (const notice of notices) this.tell(notice)
    return true
  }

  #decideGroup(): Decided[] {
    const group: Decided[] = []
    let records = 0
    for (let queued = this.#next(); queued; queued = this.#next()) {
      const decided = this.#tryToDecide(queued)
      if (this.#spoiled || this.#evidence.lacking) break
      if (decided) {
        group.push(decided)
        records += decided.decision.entries.length + decided.decision.objects.length
      }
      if (group.length >= kernelLimits.groupCommands || records >= kernelLimits.groupRecords) break
    }
    return group
  }

  #next(): Queued | undefined {
    if (this.#stopped) return undefined
    return this.#evidence.next() ?? this.#queue.next(this.#run)
  }

  /** A defect answers the command that met it; the state is read back from the trail. */
  #tryToDecide(queued: Queued): Decided | undefined {
    try {
      return this.#decide(queued)
    } catch (cause) {
      this.#spoiled = true
      queued.answer(err(asParleyError(cause)))
      return undefined
    }
  }

  #consider(command: Command): Decision {
    const { stamps } = this.#options
    const now = stamps.next()
    const decision = decide(this.#run, command, contextAt(this.#options, now, this.#evidence.take()))
    if (decision.entries.length > 0) stamps.anchor((now + decision.entries.length - 1) as typeof now)
    return decision
  }

  #decide(queued: Queued): Decided | undefined {
    const run = this.#run
    const decision = this.#consider(queued.command)
    if (decision.lacks !== undefined) {
      this.#evidence.lack(queued, decision.lacks)
      return undefined
    }
    if (!decision.result.ok && decision.result.error.code === 'target_locked') {
      this.#queue.lock(queued, decision.result.error.details.target as WorkspaceId)
      return undefined
    }
    this.#queue.pushNext((decision.result.ok && queued.follow?.(decision.result.value)) || [])
    const heard = this.#listeners.size > 0 || this.recovering
    const { notices, due } = fold(run, decision, heard, target => this.#queue.unlock(target))
    // W-BUDGET-05: what crossed a mark is dealt with next, before everything of a lower class that waits.
    if (firstMarked(run)) this.#queue.pushOnce({ type: 'due' })
    return { queued, decision, notices, last: run.seq, due }
  }

  async #commit(group: readonly Decided[]): Promise<void> {
    const failed = await commit(group, {
      trail: this.#options.trail,
      waits: this.#options.commitRetries,
      pause: milliseconds => this.#pauses.wait(milliseconds),
      stopped: () => this.#stopped,
      onUnwritable: this.#options.onUnwritable,
      committed: decided => this.#committed(decided),
    })
    if (failed) await this.#undo(failed.rest, failed.error)
  }

  #committed({ queued, decision, notices, last, due }: Decided): void {
    queued.answer(decision.result)
    if (decision.entries.some(entry => endsRun(this.#run, entry))) this.#end()
    // W-REC-22: until the marker nothing is carried and no time runs.
    else if (!this.recovering) {
      this.#alarm.set(due)
      follow(this.#courier, this.#run, queued.command, decision, last, this.#options)
    }
    for (const notice of notices) this.tell(notice)
  }

  tell(notice: Notice): void {
    this.#listeners.tell(notice)
  }

  #end(): void {
    this.#halt()
    this.#refuse(invalidState(`The run ${this.id} has ended.`))
    void this.#options.states?.remove()
    this.#options.onEnd()
  }

  /** A group that is not durable never happened: its callers learn it, and the state is read back. */
  async #undo(rest: readonly Decided[], error: ParleyError): Promise<void> {
    const [first, ...others] = rest
    invariant(first, 'a failure concerns at least one command')
    // The integration that somebody waits for may be among what never happened.
    this.#queue.unlockAll()
    const storage = isStorageError(error) || error.code === 'trail_closed'
    if (storage) {
      if (!this.#stopped) this.#outage.begin(formatTimestamp(this.#options.stamps.next()), error.message)
      for (const { queued } of rest) queued.answer(err(unavailable(error)))
    } else {
      first.queued.answer(err(error))
      this.#queue.putBack(others.map(({ queued }) => queued))
    }
    await this.#reload()
    this.#outage.undone()
  }

  async #reload(): Promise<void> {
    const read = await readBack(this.#options, this.#pauses, () => this.#stopped)
    if (!read) return
    this.#run = read.run
    this.#spoiled = false
    this.resume()
  }
}
