// Runs the turns of one workspace, from its directive until it is done, has failed, or the node stops. A turn that died with the node
// is run again: its folder is put back to the last checkpoint, and its mail is handed to it once more.
import {
  type AgentAdapter,
  asParleyError,
  type CancelTimer,
  type Clock,
  type EnvelopeId,
  ParleyError,
  type TurnEvent,
  type TurnResult,
  type Usage,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import type { RunHandle, Worker, WorkspaceView } from '@parley/kernel'
import { isTerminal } from '@parley/trail/events'
import type { WorkspaceDoor, WorkspaceMail } from './contract.ts'
import { Desk, mailOf } from './desk.ts'
import { openDoor } from './door.ts'
import type { RunFacts, WorkspaceFacts } from './facts.ts'
import type { RunFolders } from './folder/run-folders.ts'
import { coordinatorDefaults, coordinatorLimits } from './limits.ts'
import { pause } from './pause.ts'
import type { TurnRecord } from './projection.ts'
import { reviewPrompt, type Told, workPrompt } from './prompt.ts'
import type { PlannedTask } from './team/team.ts'
import { settleTurn } from './turn-end.ts'
import { lastLine, reasonOf, tail, told } from './turn-text.ts'

/** What the turns of a run need of the run and its conductor. */
export interface TurnHost {
  readonly run: RunHandle
  readonly facts: RunFacts
  readonly folders: RunFolders
  readonly clock: Clock
  readonly adapter: (facts: WorkspaceFacts, task: PlannedTask) => AgentAdapter
  /** Waits until a turn of this agent may start; undefined if the signal fires first. */
  readonly slot: (facts: WorkspaceFacts, signal: AbortSignal) => Promise<(() => void) | undefined>
  readonly token: (workspace: WorkspaceId, epoch: number) => string
  readonly environment: Readonly<Record<string, string>>
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string, facts?: object) => void
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
}

/** A turn while it is taken. */
interface Running {
  readonly epoch: number
  readonly began: number
  readonly abort: AbortController
  usage: Usage
  activity: string | undefined
  blocked: string | undefined
  /** Mail that the agent took during the turn. */
  readonly taken: EnvelopeId[]
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
      if (notice.kind !== 'state' || notice.workspace !== this.workspace || !isTerminal(notice.state)) return
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
    const mail = await this.#mail(desk, memory)
    if (!mail) return false
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

  /** Everything that no finished turn has dealt with; waits if there is nothing. Undefined if there is nobody to wait for it. */
  async #mail(desk: Desk, memory: TurnMemory): Promise<readonly EnvelopeId[] | undefined> {
    for (;;) {
      for (let next = unwrap(await desk.consume()); next; next = unwrap(await desk.consume()))
        this.#read(next)
      const consumed = await this.#host.run.read(run =>
        [...run.envelopes.values()]
          .filter(each => each.to === this.workspace && each.consumed)
          .map(each => each.id),
      )
      const open = consumed.filter(id => !memory.handled.includes(id))
      if (open.length > 0) return open
      const next = await desk.worker.receive(this.#stop.signal)
      if (!next.ok && this.#stop.signal.aborted) return undefined
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
    { epoch: before, handled, question }: TurnMemory,
    mail: readonly EnvelopeId[],
  ): Promise<boolean> {
    const { clock, changed } = this.#host
    const epoch = before + 1
    await this.#writeMemory(desk.worker, { epoch, handled, ...(question !== undefined && { question }) })
    if (view.status === 'blocked' || before === 0) unwrap(await desk.worker.started())
    const folder =
      this.#folder ?? unwrap(await this.#host.folders.prepare(this.workspace, await desk.lastCommit()))
    const prompt = await this.#told(desk, view, mail)
    if (this.#stop.signal.aborted) return false
    const abort = new AbortController()
    const running = {
      epoch,
      began: clock.now(),
      abort,
      usage: {},
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
    // Nobody waits for it, or the node stops and the next one runs it again.
    if (this.#stop.signal.aborted) return false
    const blocked = await settleTurn(desk, result, this.#record(running, result), running.blocked)
    if (!blocked) return false
    // What this node's own turn has left, and kept, needs no cleaning for the next.
    this.#folder = folder
    this.#letters.clear()
    unwrap(await desk.worker.blocked(blocked))
    await this.#writeMemory(desk.worker, {
      epoch,
      handled: [...handled, ...mail, ...running.taken],
      question: blocked,
    })
    return true
  }

  #deadline(abort: AbortController): CancelTimer | undefined {
    const { timeoutMs } = this.#task
    if (timeoutMs === undefined) return undefined
    const late = new ParleyError('timeout', `The turn took longer than ${timeoutMs / 1000} s.`)
    return this.#host.clock.after(timeoutMs, () => abort.abort(late), { background: true })
  }

  async #result(running: Running, { prompt, context }: Told, folder: string): Promise<TurnResult> {
    const { run, facts, folders, environment, token, adapter } = this.#host
    const { epoch, abort } = running
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

  #heard(running: Running, event: TurnEvent): void {
    if (event.type === 'usage') running.usage = event.usage
    else if (event.type === 'tool') running.activity = lastLine(`${event.name} ${event.summary ?? ''}`)
    else running.activity = lastLine(event.text) ?? running.activity
    this.#host.changed()
  }

  async #told(desk: Desk, view: WorkspaceView, ids: readonly EnvelopeId[]): Promise<Told> {
    const { facts } = this
    if (facts.kind !== 'work') return facts.kind === 'check' ? NOTHING : this.#review(facts.of as WorkspaceId)
    const mail: WorkspaceMail[] = []
    // The directive is the task itself.
    for (const id of ids) if (id !== view.directive) mail.push(this.#letters.get(id) ?? (await desk.read(id)))
    const root = this.#host.run.coordinator.workspace
    const named = mail.map(each => (each.from === root ? { ...each, from: 'the person you asked' } : each))
    return workPrompt(this.#host.facts, this.#task, facts, { mail: named, question: this.#memory?.question })
  }

  async #review(of: WorkspaceId): Promise<Told> {
    const { run, folders, facts } = this.#host
    const author = unwrap(await run.worker(of))
    const { deliverable } = unwrap(await author.look())
    const work = deliverable === null ? undefined : unwrap(await author.readCheckpoint(deliverable))
    const { commit, agent } = unwrap(await author.readContext()) as WorkspaceFacts
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

/** A check is a command that knows by itself what to do. */
const NOTHING: Told = { prompt: '', context: [] }
