// Runs the turns of one workspace, from its directive until it is done, has failed, or the node stops. A turn that died with the node
// is run again: its folder is put back to the last checkpoint, and its mail is handed to it once more.
import {
  type AgentAdapter,
  asParleyError,
  type CancelTimer,
  type Clock,
  type EnvelopeId,
  ParleyError,
  type Result,
  type TurnBudget,
  type TurnEvent,
  type TurnResult,
  type Usage,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import type { RunHandle, Worker, WorkspaceView } from '@parley/kernel'
import { isTerminal } from '@parley/trail/events'
import type { HeardEvent, WorkspaceDoor, WorkspaceMail } from './contract.ts'
import { Desk, mailOf } from './desk.ts'
import { openDoor } from './door.ts'
import type { MergeFacts, RunFacts, WorkspaceFacts } from './facts.ts'
import { failureText } from './failure-text.ts'
import type { RunFolders } from './folder/run-folders.ts'
import { coordinatorDefaults, coordinatorLimits } from './limits.ts'
import { outageOf } from './outage.ts'
import { pause } from './pause.ts'
import type { RunProjection, TurnRecord } from './projection.ts'
import { mergePrompt, reviewPrompt, type Told, workPrompt } from './prompt.ts'
import { nextFallback, predecessorText } from './succession.ts'
import type { PlannedTask } from './team/team.ts'
import { turnDeadline } from './turn-deadline.ts'
import { keepFailure, settleTurn } from './turn-end.ts'
import { lastLine, reasonOf, tail, told } from './turn-text.ts'

/** What the turns of a run need of the run and its conductor. */
export interface TurnHost {
  readonly run: RunHandle
  readonly facts: RunFacts
  /** What the trail says, as far as it is read. */
  readonly seen: RunProjection
  readonly folders: RunFolders
  readonly clock: Clock
  readonly adapter: (facts: WorkspaceFacts, task: PlannedTask) => AgentAdapter
  /** Waits until a turn of this agent may start; undefined if the signal fires first. */
  readonly slot: (facts: WorkspaceFacts, signal: AbortSignal) => Promise<(() => void) | undefined>
  readonly token: (workspace: WorkspaceId, epoch: number) => string
  readonly environment: Readonly<Record<string, string>>
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string, facts?: object) => void
  /** The agent cannot work: another one is to have its place. This driver takes no further turn. */
  readonly handOver: (workspace: WorkspaceId, to: string, reason: string) => void
  /** A turn was ended from outside: nothing on record says what it used. */
  readonly cutOff: (usage: Usage) => void
  /** What an agent says or does at its turn, for those who watch. */
  readonly heard: (heard: HeardEvent) => void
  /** Something that a view shows has changed. */
  readonly changed: () => void
}

/** Under the key `turn` of the workspace's memory. */
interface TurnMemory {
  readonly epoch: number
  /** Mail that earlier turns have dealt with. */
  readonly handled: readonly EnvelopeId[]
  /** What the last turn waits for. */
  readonly question?: string
  /** Turns in a row that changed nothing and that no person started. */
  readonly idle?: number
}

/** A turn while it is taken. */
interface Running {
  readonly epoch: number
  readonly began: number
  readonly abort: AbortController
  usage: Usage
  /** What of it the run was told, and when. */
  metered: { readonly tokens: number; readonly cost: number }
  meteredAt: number
  activity: string | undefined
  blocked: string | undefined
  /** Mail that the agent took during the turn. */
  readonly taken: EnvelopeId[]
}

/** What a turn began with. */
interface Taken {
  readonly folder: string
  readonly handled: readonly EnvelopeId[]
  readonly mail: readonly EnvelopeId[]
  readonly idle: number
}

export class TurnDriver {
  readonly workspace: WorkspaceId
  readonly facts: WorkspaceFacts
  readonly #task: PlannedTask
  readonly #host: TurnHost
  readonly #stop = new AbortController()
  #running: Running | undefined
  #desk: Desk | undefined
  #folder: string | undefined
  #memory: TurnMemory | undefined
  /** Whether this driver has asked what its agent wants to know. */
  #asked = false
  readonly #letters = new Map<EnvelopeId, WorkspaceMail>()
  #done: Promise<void> = Promise.resolve()

  constructor(host: TurnHost, workspace: WorkspaceId, facts: WorkspaceFacts, task: PlannedTask) {
    this.#host = host
    this.workspace = workspace
    this.facts = facts
    this.#task = task
  }

  /** What the agent said last. */
  get activity(): string | undefined {
    return this.#running?.activity
  }

  /** The turn that is taken now, as far as it has come. */
  get turn(): TurnRecord | undefined {
    return this.#running && this.#record(this.#running)
  }

  start(): void {
    this.#done = this.#keepOn()
  }

  /** What a turn needs may be away for a while; what is on the trail by then is not done again. Otherwise the workspace must not hang. */
  async #keepOn(): Promise<void> {
    for (let troubles = 0; ; troubles++) {
      try {
        return await this.#work()
      } catch (cause) {
        const error = asParleyError(cause)
        this.#running = undefined
        if (this.#stop.signal.aborted) return
        this.#host.log('error', `the turns of ${this.workspace} stopped: ${error.message}`, {
          error,
          troubles,
        })
        const wait = error.retryable ? coordinatorDefaults.stepRetries[troubles] : undefined
        if (wait === undefined && (await this.#desk?.worker.failed(reasonOf(error)))?.ok) return
        await pause(this.#host.clock, wait ?? coordinatorDefaults.stepRetries.at(-1)!, this.#stop.signal)
      }
    }
  }

  /** Ends the turn at work, if there is one, and takes no other. The workspace stays as it is. */
  async stop(): Promise<void> {
    this.#end(new ParleyError('aborted', 'The node is stopping.'))
    await this.#done
  }

  #end(why: ParleyError): void {
    this.#stop.abort(why)
    this.#running?.abort.abort(why)
  }

  /** What a token of this epoch opens; undefined if no such turn runs. */
  door(epoch: number): WorkspaceDoor | undefined {
    const running = this.#running
    if (!running || running.abort.signal.aborted || epoch !== running.epoch) return undefined
    return openDoor({
      desk: this.#desk!,
      // A door that somebody kept open does not outlive its turn.
      open: () => this.#running === running && !running.abort.signal.aborted,
      turn: () => ({ ...this.#record(running), outcome: 'kept' }),
      taken: id => running.taken.push(id),
      block: reason => {
        running.blocked = reason
      },
    })
  }

  async #work(): Promise<void> {
    const { run, folders } = this.#host
    const worker = unwrap(await run.worker(this.workspace))
    this.#desk = new Desk(run, worker, this.facts, this.#task, folders)
    // Whoever ends the workspace ends its turn.
    const off = worker.subscribe(notice => {
      if (notice.kind !== 'state' || notice.workspace !== this.workspace) return
      // Whoever suspends it pauses its turn, which is taken again from the last checkpoint.
      if (notice.state === 'suspended')
        this.#running?.abort.abort(new ParleyError('suspended', 'The work was suspended.'))
      if (!isTerminal(notice.state)) return
      this.#end(new ParleyError('aborted', `The workspace was ended: ${notice.trigger}.`))
    })
    try {
      while (await this.#next(this.#desk));
    } finally {
      off()
    }
  }

  /** One turn; false when there will be no other. */
  async #next(desk: Desk): Promise<boolean> {
    const { worker } = desk
    const view = await this.#awake(worker)
    if (!view) return false
    // The checkpoint was made, and the node died before the agent's `complete`.
    if (view.deliverable !== null) {
      unwrap(await worker.complete())
      return false
    }
    const memory = this.#memory ?? (await this.#remember(worker))
    if (view.status === 'blocked') await this.#askAgain(desk, view, memory)
    const mail = await this.#mail(desk, memory)
    if (!mail) return false
    // Suspended or ended while it waited: the next look says which.
    if (mail === 'paused') return true
    // It may have been paused while it waited.
    const now = unwrap(await worker.look())
    if (now.status !== 'active' && now.status !== 'blocked') return !isTerminal(now.status)
    const release = await this.#host.slot(this.facts, this.#stop.signal)
    if (!release) return false
    try {
      return await this.#take(desk, view, memory, mail)
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
    const stored = await worker.readMemory('turn')
    return stored.ok ? (stored.value as TurnMemory) : { epoch: 0, handled: [] }
  }

  async #writeMemory(worker: Worker, memory: TurnMemory): Promise<void> {
    unwrap(await worker.writeMemory('turn', memory))
    this.#memory = memory
  }

  /** The node may have died between `blocked` and the question itself. */
  async #askAgain({ worker }: Desk, { inbox }: WorkspaceView, { question }: TurnMemory): Promise<void> {
    const { highway } = this.#host.seen
    const asked = highway.asks(this.workspace) !== undefined || highway.delegated(this.workspace).open
    if (asked || question === undefined || this.#asked || inbox.length > 0) return
    this.#asked = true
    unwrap(await worker.escalate(question))
  }

  /** Everything that no finished turn has dealt with; waits if there is nothing. Undefined if there is nobody to wait for it. */
  async #mail(desk: Desk, memory: TurnMemory): Promise<readonly EnvelopeId[] | 'paused' | undefined> {
    for (;;) {
      for (;;) {
        const next = await desk.consume()
        if (isPaused(next)) return 'paused'
        const mail = unwrap(next)
        if (!mail) break
        this.#read(mail)
      }
      const consumed = await this.#host.run.read(run =>
        [...run.envelopes.values()]
          .filter(each => each.to === this.workspace && each.consumed)
          .map(each => each.id),
      )
      const open = consumed.filter(id => !memory.handled.includes(id))
      if (open.length > 0) return open
      const next = await desk.worker.receive(this.#stop.signal)
      if (!next.ok && this.#stop.signal.aborted) return undefined
      if (isPaused(next)) return 'paused'
      this.#read(mailOf(unwrap(next)))
    }
  }

  /** At hand for the turn: reading it back from the record takes longer. */
  #read(mail: WorkspaceMail): void {
    this.#letters.set(mail.id as EnvelopeId, mail)
  }

  async #take(
    desk: Desk,
    view: WorkspaceView,
    { epoch: before, handled, question, idle = 0 }: TurnMemory,
    mail: readonly EnvelopeId[],
  ): Promise<boolean> {
    const { clock, changed } = this.#host
    const epoch = before + 1
    await this.#writeMemory(desk.worker, {
      epoch,
      handled,
      idle,
      ...(question !== undefined && { question }),
    })
    if (view.status === 'blocked' || before === 0) unwrap(await desk.worker.started())
    const folder =
      this.#folder ?? unwrap(await this.#host.folders.prepare(this.workspace, await desk.lastCommit()))
    const prompt = await this.#told(desk, view, mail)
    if (this.#stop.signal.aborted) return false
    const abort = new AbortController()
    const running: Running = {
      epoch,
      began: clock.now(),
      abort,
      usage: {},
      metered: { tokens: 0, cost: 0 },
      meteredAt: clock.now(),
      activity: undefined,
      blocked: undefined,
      taken: [],
    }
    this.#running = running
    changed()
    const cancel = this.#deadline(abort)
    const result = await this.#result(running, prompt, folder)
    cancel?.()
    this.#running = undefined
    try {
      return await this.#settle(desk, running, result, { folder, handled, mail, idle })
    } finally {
      // Its workspace may have ended before that could be recorded.
      if (desk.settled !== epoch) this.#host.cutOff(result.usage)
    }
  }

  async #settle(
    desk: Desk,
    running: Running,
    result: TurnResult,
    { folder, handled, mail, idle }: Taken,
  ): Promise<boolean> {
    const { epoch, abort } = running
    // What it used counts, whatever became of it.
    await this.#meter(running, result.usage)
    // Nobody waits for it, or the node stops and the next one runs it again.
    if (this.#stop.signal.aborted) return false
    if (isSuspension(abort.signal)) {
      this.#folder = undefined
      return true
    }
    if (await this.#handsOver(desk, running, result)) return false
    const from = await desk.lastCommit()
    const blocked = await settleTurn(desk, result, this.#record(running, result), running.blocked)
    if (!blocked) return false
    // What this node's own turn has left, and kept, needs no cleaning for the next.
    this.#folder = folder
    this.#letters.clear()
    const taken = [...mail, ...running.taken]
    const moved = (await desk.lastCommit()) !== from || (await this.#fromPerson(taken))
    const still = moved ? 0 : idle + 1
    const { noProgress } = this.#host.facts.team.limits.breakers
    if (noProgress > 0 && still >= noProgress) {
      unwrap(
        await desk.worker.failed(
          `Breaker: ${still} turns in a row changed nothing. Last question: ${blocked}`,
        ),
      )
      return false
    }
    const next = { epoch, handled: [...handled, ...taken], question: blocked, idle: still }
    await this.#writeMemory(desk.worker, next)
    unwrap(await desk.worker.blocked(blocked))
    this.#asked = true
    unwrap(await desk.worker.escalate(blocked))
    return true
  }

  /** Whether the turn failed for want of its agent, and the task has another one for that. The folder goes back to what was kept last. */
  async #handsOver(desk: Desk, running: Running, result: TurnResult): Promise<boolean> {
    if (result.outcome !== 'failed' || running.blocked !== undefined || this.facts.kind !== 'work')
      return false
    const outage = outageOf(result.error)
    const seen = this.#host.seen.workspaces.get(this.workspace)
    const next = seen && this.#task.agent !== undefined ? nextFallback(seen, this.#task) : undefined
    if (outage === undefined || next === undefined) return false
    await keepFailure(desk, result.error, this.#record(running, result))
    const reason = `${this.facts.agent} cannot work: ${outage}. ${result.error.message}`
    this.#host.handOver(this.workspace, next, reason.slice(0, coordinatorLimits.reasonLength))
    return true
  }

  #fromPerson(mail: readonly EnvelopeId[]): Promise<boolean> {
    return this.#host.run.read(run => mail.some(id => run.envelopes.get(id)?.origin === 'human'))
  }

  /** Tells the run what was used since it was told last; a workspace that is over its limit is ended by that. */
  async #meter(running: Running, { tokensIn = 0, tokensOut = 0, usd = 0 }: Usage): Promise<void> {
    const { tokens, cost } = running.metered
    const used = { tokens: tokensIn + tokensOut - tokens, cost: usd - cost }
    if (used.tokens <= 0 && used.cost <= 0) return
    running.metered = { tokens: Math.max(tokens, tokensIn + tokensOut), cost: Math.max(cost, usd) }
    running.meteredAt = this.#host.clock.now()
    const told = await this.#host.run.meter(this.workspace, {
      ...(used.tokens > 0 && { tokens: used.tokens }),
      ...(used.cost > 0 && { cost: used.cost }),
    })
    if (!told.ok && told.error.retryable) throw told.error
  }

  #deadline(abort: AbortController): CancelTimer | undefined {
    const { timeoutMs, graceMs } = this.#task
    return turnDeadline({
      clock: this.#host.clock,
      ...(timeoutMs !== undefined && { timeoutMs }),
      // Whoever judges has nothing that a shorter time would leave.
      ...(graceMs !== undefined && this.facts.kind === 'work' && { graceMs }),
      askToFinish: async (period, reason) =>
        (await this.#host.run.coordinator.terminate(this.workspace, period, reason)).ok,
      end: why => abort.abort(why),
    })
  }

  async #result(running: Running, { prompt, context }: Told, folder: string): Promise<TurnResult> {
    const { run, facts, folders, environment, token, adapter } = this.#host
    const { epoch, abort } = running
    const budget = await this.#budget()
    const input = {
      run: run.id,
      workspace: this.workspace,
      agent: this.facts.agent,
      epoch,
      prompt,
      context,
      folder,
      environment: {
        ...environment,
        // Without a `.git` of its own, a git program there must not find one further up.
        GIT_CEILING_DIRECTORIES: folders.ceiling,
        PARLEY_RUN: run.id,
        PARLEY_WORKSPACE: this.workspace,
        PARLEY_TASK: this.#task.id,
        PARLEY_AGENT: this.facts.agent,
        PARLEY_PROJECT: facts.project.path,
        PARLEY_TOKEN: token(this.workspace, epoch),
      },
      ...(budget && { budget }),
      signal: abort.signal,
    }
    try {
      const result = await adapter(this.facts, this.#task).takeTurn(input, event =>
        this.#heard(running, event),
      )
      const why: unknown = abort.signal.reason
      // What the adapter calls aborted was a deadline, if that is why it was told to stop.
      return result.outcome === 'failed' && why instanceof ParleyError ? { ...result, error: why } : result
    } catch (cause) {
      return { outcome: 'failed', error: asParleyError(cause), usage: {} }
    }
  }

  /** What the turn may still spend; undefined where nothing limits it. */
  async #budget(): Promise<TurnBudget | undefined> {
    const { token_limit: tokens, cost_limit: usd } = unwrap(await this.#host.run.remaining(this.workspace))
    if (tokens === undefined && usd === undefined) return undefined
    return { ...(tokens !== undefined && { tokens }), ...(usd !== undefined && { usd }) }
  }

  #heard(running: Running, event: TurnEvent): void {
    if (event.type === 'usage') {
      running.usage = event.usage
      const due = this.#host.clock.now() - running.meteredAt >= coordinatorDefaults.meterInterval * 1000
      // Told at the end of the turn again, where a failure counts.
      if (due) void this.#meter(running, event.usage).catch(() => undefined)
    }
    if (event.type === 'tool') running.activity = lastLine(`${event.name} ${event.summary ?? ''}`)
    else if (event.type !== 'usage') running.activity = lastLine(event.text) ?? running.activity
    this.#host.heard({ workspace: this.workspace, task: this.#task.id, kind: this.facts.kind, event })
    this.#host.changed()
  }

  async #told(desk: Desk, view: WorkspaceView, ids: readonly EnvelopeId[]): Promise<Told> {
    const { facts } = this
    if (facts.kind === 'merge') return this.#merge(facts)
    if ('of' in facts) return facts.kind === 'check' ? NOTHING : this.#review(facts.of as WorkspaceId)
    if (facts.kind === 'team') throw new TypeError('a team takes no turns')
    const mail: WorkspaceMail[] = []
    // The directive is the task itself.
    for (const id of ids) if (id !== view.directive) mail.push(await this.#letter(desk, id))
    // What a person changed at a gate is in the directive, not in the plan.
    const directive = view.directive === null ? undefined : await this.#letter(desk, view.directive)
    const root = this.#host.run.coordinator.workspace
    const named = mail.map(each => (each.from === root ? { ...each, from: 'the person you asked' } : each))
    const guidance = this.#host.seen.controls.flatMap(each => (each.kind === 'guidance' ? [each] : []))
    const task = { ...this.#task, prompt: directive?.text ?? this.#task.prompt }
    return workPrompt(this.#host.facts, task, facts, {
      mail: named,
      question: this.#memory?.question,
      guidance: guidance.slice(-coordinatorLimits.guidance),
      predecessors: this.#predecessors(),
    })
  }

  #predecessors(): string {
    const seen = this.#host.seen.workspaces.get(this.workspace)
    return seen ? predecessorText(seen).slice(-coordinatorLimits.textLength) : ''
  }

  async #letter(desk: Desk, id: EnvelopeId): Promise<WorkspaceMail> {
    return this.#letters.get(id) ?? (await desk.read(id))
  }

  async #merge(facts: MergeFacts): Promise<Told> {
    const { seen, folders } = this.#host
    const work = seen.workspaces.get(facts.of as WorkspaceId)
    const { salvage, checkpoints = [] } = work ?? {}
    const theirs = checkpoints.findLast(each => (salvage?.open ? each.id === salvage.checkpoint : each.final))
    const base = work?.facts?.commit
    const diff =
      theirs?.commit !== undefined && base !== undefined
        ? await folders.diff(base, theirs.commit, { maxBytes: coordinatorLimits.diffBytes })
        : ''
    const failed = work && salvage?.open ? failureText(work, seen) : undefined
    return mergePrompt(this.#host.facts, this.#task, facts.conflicts, diff, failed)
  }

  async #review(of: WorkspaceId): Promise<Told> {
    const { run, folders, facts } = this.#host
    const author = unwrap(await run.worker(of))
    const { deliverable } = unwrap(await author.look())
    const work = deliverable === null ? undefined : unwrap(await author.readCheckpoint(deliverable))
    const { commit, agent: first } = unwrap(await author.readContext()) as WorkspaceFacts
    const agent = this.#host.seen.workspaces.get(of)?.facts?.agent ?? first
    const diff = await folders.diff(commit, this.facts.commit, { maxBytes: coordinatorLimits.diffBytes })
    return reviewPrompt(facts, this.#task, agent, { text: tail(work?.payload.content ?? ''), diff })
  }

  #record(running: Running, result?: TurnResult): TurnRecord {
    const { meter } = (result ?? {}) as {
      readonly meter?: { readonly wallMs: number; readonly outputBytes: number }
    }
    const wall = (this.#host.clock.now() - running.began) / 1000
    return {
      epoch: running.epoch,
      outcome: result?.outcome ?? 'kept',
      wall_ms: Math.max(0, Math.round(meter?.wallMs ?? wall)),
      output_bytes: meter?.outputBytes ?? 0,
      ...told(result?.usage ?? running.usage),
    }
  }
}

/** Who is suspended reads no mail. */
function isPaused(result: Result<unknown>): boolean {
  return !result.ok && result.error.code === 'invalid_state'
}

function isSuspension({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof ParleyError && reason.code === 'suspended'
}

/** A check is a command that knows by itself what to do. */
const NOTHING: Told = { prompt: '', context: [] }
