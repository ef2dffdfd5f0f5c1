// Runs the turns of one workspace until it is done, has failed, or the node stops. A turn that died with the node is
// run again from the last checkpoint, with the same mail.
import {
  asParleyError,
  type EnvelopeId,
  invariant,
  isDiskFault,
  type MachineCode,
  ParleyError,
  pause,
  type Timestamp,
  type TurnResult,
  type Usage,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import type { Worker, WorkspaceView } from '@parley/kernel'
import { isTerminal } from '@parley/trail/events'
import type { AgentVerbs } from '../contract.ts'
import { given } from '../given.ts'
import { coordinatorDefaults, coordinatorLimits } from '../limits.ts'
import { machineLimits, unexplainedRetries } from '../machine/limits.ts'
import { isOfFolders, isOfTrail } from '../machine/machine.ts'
import { nextFallback } from '../plan/task-agent.ts'
import type { TurnRecord } from '../projection/projected.ts'
import type { WorkspaceFacts } from '../run/facts.ts'
import type { RunAtWork } from '../run/run-parts.ts'
import type { PlannedTask } from '../team/team.ts'
import { agentVerbs } from './agent-verbs.ts'
import { outageOf } from './outage.ts'
import { type Place, placesOf, type Ready, readyFolder } from './ready-folder.ts'
import { toldRecord } from './told.ts'
import { Turn } from './turn.ts'
import { briefOf } from './turn-brief.ts'
import { keepExceeded, keepFailure, settleTurn } from './turn-end.ts'
import { TURN_MEMORY, type TurnMemory } from './turn-memory.ts'
import { reasonOf } from './turn-text.ts'
import { WorkspaceRecord } from './workspace-record.ts'

const { stepRetries } = coordinatorDefaults

export interface TurnDriverHost extends RunAtWork {
  /** Waits until a turn of this agent may start; undefined if the signal fires first. */
  readonly slot: (facts: WorkspaceFacts, signal: AbortSignal) => Promise<(() => void) | undefined>
  /** The agent cannot work: another one is to have its place. This driver takes no further turn. */
  readonly handOver: (workspace: WorkspaceId, to: string, reason: string) => void
  /** A turn was ended from outside: nothing on record says what it used. */
  readonly cutOff: (usage: Usage) => void
}

interface Taken {
  readonly folder: Place
  readonly handled: readonly EnvelopeId[]
  readonly mail: readonly EnvelopeId[]
  readonly idle: number
}

export class TurnDriver {
  readonly workspace: WorkspaceId
  readonly facts: WorkspaceFacts
  readonly #task: PlannedTask
  readonly #host: TurnDriverHost
  readonly #stop = new AbortController()
  #turn: Turn | undefined
  #record: WorkspaceRecord | undefined
  #folder: string | undefined
  #memory: TurnMemory | undefined
  /** Faults of the machine in a row, without a turn in between that came to something. */
  #faults = 0
  #leaving = false
  /** What a suspended turn has used: recorded when its workspace takes records again. */
  #paused: TurnRecord | undefined
  /** Whether this driver has asked what its agent wants to know. */
  #asked = false
  #done: Promise<void> = Promise.resolve()

  constructor(host: TurnDriverHost, workspace: WorkspaceId, facts: WorkspaceFacts, task: PlannedTask) {
    this.#host = host
    this.workspace = workspace
    this.facts = facts
    this.#task = task
  }

  get activity(): string | undefined {
    return this.#turn?.activity
  }

  /** Until when the agent of its turn waits for the answer to this question. */
  asksUntil(question: string): Timestamp | undefined {
    return this.#turn?.asksUntil(question)
  }

  get turn(): TurnRecord | undefined {
    return this.#turn?.record() ?? this.#paused
  }

  start(): void {
    this.#done = this.#keepOn()
  }

  /** What a turn needs may be away for a while. Otherwise the workspace must not hang. */
  async #keepOn(): Promise<void> {
    for (let troubles = 0; ; troubles++) {
      try {
        return await this.#work()
      } catch (cause) {
        const error = asParleyError(cause)
        this.#turn = undefined
        if (this.#stop.signal.aborted) return
        if (await this.#waitsForMachine(error)) {
          troubles = -1
          continue
        }
        // The node stops while the machine stands in the way: the next one takes the turn, and nothing has failed.
        if (this.#stop.signal.aborted) return
        this.#host.log('error', `the turns of ${this.workspace} stopped: ${error.message}`, { error, troubles })
        const waits = error.retryable ? stepRetries : isOfFolders(error.code) ? unexplainedRetries : []
        const wait = waits[troubles]
        if (wait === undefined && (await this.#record?.worker.failed(reasonOf(error)))?.ok) return
        await pause(this.#host.clock, wait ?? stepRetries.at(-1)!, this.#stop.signal)
      }
    }
  }

  /** Whether the machine stood in the way; when it is sound again, what was to be done is tried again. */
  async #waitsForMachine(error: ParleyError): Promise<boolean> {
    const { machine, folders } = this.#host
    if (this.#faults >= machineLimits.faultsInARow && !isOfTrail(error.code)) return false
    if (!(await machine.blame(error, folders.disks))) return false
    this.#faults++
    return machine.sound(this.#stop.signal)
  }

  /** Ends the turn at work, if there is one, and takes no other. The workspace stays as it is. */
  async stop(): Promise<void> {
    this.#end(new ParleyError('aborted', 'The node is stopping.'))
    await this.#done
  }

  /** Its workspace is to be ended: ends the turn at work, so that its record is there before, and takes no other. */
  async leave(why: ParleyError): Promise<void> {
    if (!this.#turn) return
    this.#leaving = true
    this.#turn.end(why)
    await this.#done
  }

  #end(why: ParleyError): void {
    this.#stop.abort(why)
    this.#turn?.end(why)
  }

  /** What a token of this epoch opens; undefined if no such turn runs. */
  verbs(epoch: number): AgentVerbs | undefined {
    const turn = this.#turn
    // Whoever keeps them cannot use them after the turn.
    if (!turn || turn.over.aborted || epoch !== turn.epoch) return undefined
    return agentVerbs({ record: this.#record!, turn, clock: this.#host.clock })
  }

  async #work(): Promise<void> {
    const { run, folders, machine } = this.#host
    const worker = unwrap(await run.worker(this.workspace))
    const { signal } = this.#stop
    this.#record = new WorkspaceRecord(run, worker, this.facts, this.#task, folders, async work => {
      const done = await machine.through(work, folders.disks, signal)
      // The node stops while the machine does not let it: the next one does it, and nothing of it has failed.
      if (!done.ok && signal.aborted && machine.held) throw signal.reason
      return done
    })
    // Whoever ends the workspace ends its turn.
    const off = worker.subscribe(notice => {
      if (notice.kind !== 'state' || notice.workspace !== this.workspace) return
      // Whoever suspends it pauses its turn, which is taken again from the last checkpoint.
      if (notice.state === 'suspended') this.#turn?.suspend()
      if (!isTerminal(notice.state)) return
      this.#end(new ParleyError('aborted', `The workspace was ended: ${notice.trigger}.`))
    })
    try {
      while (await this.#next(this.#record));
    } finally {
      off()
    }
  }

  /** One turn; false when there will be no other. */
  async #next(record: WorkspaceRecord): Promise<boolean> {
    const { worker } = record
    const view = await this.#awake(worker)
    if (!view) return false
    // The checkpoint was made, and the node died before the agent's `complete`.
    if (view.deliverable !== null) {
      await record.complete()
      return false
    }
    const memory = this.#memory ?? (await this.#remember(worker))
    if (view.status === 'blocked') await this.#askAgain(record, view, memory)
    const mail = await record.inbox.unhandled(memory.handled, this.#stop.signal)
    if (!mail) return false
    // Suspended or ended while it waited: the next look says which.
    if (mail === 'paused') return true
    // It may have been paused while it waited.
    const now = unwrap(await worker.look())
    if (now.status !== 'active' && now.status !== 'blocked') return !isTerminal(now.status)
    const release = await this.#host.slot(this.facts, this.#stop.signal)
    if (!release) return false
    try {
      return await this.#take(record, view, memory, mail)
    } finally {
      release()
    }
  }

  /** Waits until the directive is there; undefined if the workspace is past working. */
  async #awake(worker: Worker): Promise<WorkspaceView | undefined> {
    const { signal } = this.#stop
    for (;;) {
      const told = Promise.withResolvers<void>()
      const off = worker.subscribe(() => told.resolve())
      const stop = () => told.resolve()
      signal.addEventListener('abort', stop)
      try {
        const view = unwrap(await worker.look())
        if (signal.aborted) return undefined
        if (view.status === 'active' || view.status === 'blocked') return view
        if (isTerminal(view.status) || view.status === 'integrating') return undefined
        await told.promise
      } finally {
        off()
        signal.removeEventListener('abort', stop)
      }
    }
  }

  async #remember(worker: Worker): Promise<TurnMemory> {
    const stored = await worker.readMemory(TURN_MEMORY)
    return stored.ok ? (stored.value as TurnMemory) : { epoch: 0, handled: [] }
  }

  async #writeMemory(record: WorkspaceRecord, memory: TurnMemory): Promise<void> {
    await record.remember(TURN_MEMORY, memory)
    this.#memory = memory
  }

  /** The node may have died between `blocked` and the question itself. */
  async #askAgain({ worker }: WorkspaceRecord, { inbox }: WorkspaceView, { question }: TurnMemory): Promise<void> {
    const { highway } = this.#host.projection
    const asked = highway.asks(this.workspace) || highway.delegated(this.workspace).open
    if (asked || question === undefined || this.#asked || inbox.length > 0) return
    this.#asked = true
    unwrap(await worker.escalate(question))
  }

  async #take(
    record: WorkspaceRecord,
    view: WorkspaceView,
    { epoch: before, handled, question, session, idle = 0 }: TurnMemory,
    mail: readonly EnvelopeId[],
  ): Promise<boolean> {
    const epoch = before + 1
    if (this.#paused) await keepFailure(record, new ParleyError('suspended', 'The work was suspended.'), this.#paused)
    this.#paused = undefined
    const brief = await briefOf(this.#host, record, { directive: view.directive, mail, question })
    const resumes = session?.agent === this.facts.agent ? session.id : undefined
    // Without the session: a turn that dies is taken again in a folder of which the agent would remember too much.
    await this.#writeMemory(record, {
      epoch,
      handled,
      idle,
      ...given({ question, told: toldRecord(this.#host, record, brief, resumes) }),
    })
    if (view.status === 'blocked' || before === 0) await record.started()
    if (this.#stop.signal.aborted) return false
    invariant(!this.#turn, 'a workspace takes one turn at a time')
    const turn = new Turn(this.#host, record, epoch)
    const begin = () => {
      this.#turn = turn
      this.#host.changed()
    }
    const { folder, failed }: Ready = this.#folder
      ? { folder: this.#folder }
      : await readyFolder(this.#host, record, { turn, begin, signal: this.#stop.signal })
    if (!this.#turn && this.#stop.signal.aborted) return false
    if (!this.#turn) begin()
    const result: TurnResult = failed
      ? { outcome: 'failed', error: failed, usage: {} }
      : await turn.take(brief, folder, resumes)
    this.#turn = undefined
    try {
      if (result.outcome !== 'failed') turn.met = await this.#diskFault(turn)
      return await this.#settle(record, turn, result, { folder, handled, mail, idle })
    } finally {
      // Its workspace may have ended before that could be recorded.
      if (record.settled !== epoch) this.#host.cutOff(result.usage)
    }
  }

  async #settle(
    record: WorkspaceRecord,
    turn: Turn,
    result: TurnResult,
    { folder, handled, mail, idle }: Taken,
  ): Promise<boolean> {
    if (await this.#exceeded(record, turn, result, folder)) return true
    // What it used counts, whatever became of it.
    await this.#meter(turn, result, folder)
    // Nobody waits for it, or the node stops and the next one runs it again.
    if (this.#stop.signal.aborted) return false
    if (this.#leaving && result.outcome === 'failed') {
      await keepFailure(record, result.error, turn.record(result))
      return false
    }
    if (turn.suspended) {
      this.#folder = undefined
      this.#paused = turn.record(result)
      return true
    }
    if (await this.#failedByMachine(turn, result, folder)) return true
    this.#faults = 0
    if (await this.#handsOver(record, turn, result)) return false
    const from = await record.lastCommit()
    const blocked = await settleTurn(record, result, turn.record(result), turn)
    if (!blocked) return false
    // What this node's own turn has left, and kept, needs no cleaning for the next.
    this.#folder = folder
    record.inbox.clear()
    const taken = [...mail, ...turn.taken]
    const moved = (await record.lastCommit()) !== from || (await record.inbox.fromPerson(taken))
    const still = moved ? 0 : idle + 1
    const { noProgress } = this.#host.facts.team.limits.breakers
    if (noProgress > 0 && still >= noProgress) {
      await record.failed(`Breaker: ${still} turns in a row changed nothing. Last question: ${blocked}`)
      return false
    }
    const next = { epoch: turn.epoch, handled: [...handled, ...taken], question: blocked, idle: still }
    const session = result.session && { agent: this.facts.agent, id: result.session.id }
    await this.#writeMemory(record, { ...next, ...(session && { session }) })
    this.#asked = true
    await record.ask(blocked)
    return true
  }

  async #meter(turn: Turn, { usage }: TurnResult, folder: Place): Promise<void> {
    unwrap(await this.#host.machine.through(() => turn.meter(usage), placesOf(folder), this.#stop.signal))
  }

  /** The work of a turn at its limit is kept before the limit ends its workspace; the next look says whether it has. */
  async #exceeded(record: WorkspaceRecord, turn: Turn, result: TurnResult, folder: Place): Promise<boolean> {
    if (this.#stop.signal.aborted || turn.suspended) return false
    const own = await turn.exceeds(result.usage)
    const refused = result.outcome === 'failed' && result.error.code === 'budget_exceeded'
    if (!own && !refused) return false
    await keepExceeded(record, result, turn.record(result))
    await this.#meter(turn, result, folder)
    // The limit of the day ends no workspace.
    if (!own && refused) await record.failed(reasonOf(result.error))
    this.#folder = undefined
    return true
  }

  /** An agent may not have looked at what became of its writes: that is told, and its work kept. */
  async #diskFault({ began }: Turn): Promise<MachineCode | undefined> {
    const { machine, folders } = this.#host
    // Beside the agent's folder, where nothing that is looked with becomes a part of the work.
    const fault = machine.faultSince(began) ?? (await machine.inspect(folders.disks.slice(0, 1)))
    return fault && isDiskFault(fault) ? fault.code : undefined
  }

  /** Whether the machine failed the turn: then it was no attempt, and is taken again from what was kept last. */
  async #failedByMachine(turn: Turn, result: TurnResult, folder: Place): Promise<boolean> {
    const { machine, folders, log } = this.#host
    // A turn that was ended from outside failed for that reason.
    if (result.outcome !== 'failed' || turn.blocked !== undefined || turn.ended) return false
    if (this.#faults >= machineLimits.faultsInARow) return false
    const held = machine.wasHeldSince(turn.began)
    const fault =
      machine.report(result.error, folder) ??
      (held ? undefined : await machine.look([...placesOf(folder), ...folders.disks]))
    if (!fault && !held) return false
    this.#faults++
    this.#folder = undefined
    log('warn', `a turn of ${this.workspace} is taken again: ${result.error.message}`, { code: fault?.code })
    // What it has left may be what fills the disk.
    await folders.discard(this.workspace).catch(() => undefined)
    return true
  }

  /** Whether the turn failed for want of its agent, and the task has another one for that. */
  async #handsOver(record: WorkspaceRecord, turn: Turn, result: TurnResult): Promise<boolean> {
    if (result.outcome !== 'failed' || turn.blocked !== undefined) return false
    if (this.facts.kind !== 'work' && this.facts.kind !== 'review') return false
    const outage = outageOf(result.error)
    const seen = this.#host.projection.workspaces.get(this.workspace)
    const next = seen && nextFallback(seen, this.#task)
    if (outage === undefined || next === undefined) return false
    await keepFailure(record, result.error, turn.record(result))
    const reason = `${this.facts.agent} cannot work: ${outage}. ${result.error.message}`
    this.#host.handOver(this.workspace, next, reason.slice(0, coordinatorLimits.reasonLength))
    return true
  }
}
