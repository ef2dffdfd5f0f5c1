// One turn of an agent: its input, its output and usage meanwhile, its budget and time. It can be ended from outside.
import { outageIn } from '@parley/agents'
import {
  type AgentAdapter,
  asParleyError,
  type CancelTimer,
  deadline,
  type EnvelopeId,
  formatTimestamp,
  type MachineCode,
  ok,
  ParleyError,
  type Result,
  type Ticks,
  type Timestamp,
  type TurnBudget,
  type TurnEvent,
  type TurnResult,
  type Usage,
  unwrap,
} from '@parley/core'
import { coordinatorDefaults } from '../limits.ts'
import type { Judgement } from '../merge/verdict.ts'
import { nextFallback } from '../plan/task-agent.ts'
import type { TurnRecord } from '../projection/projected.ts'
import type { RunAtWork } from '../run/run-parts.ts'
import { nameOf } from './identities.ts'
import type { Brief } from './prompt.ts'
import { lastLine, told } from './turn-text.ts'
import type { WorkspaceRecord } from './workspace-record.ts'

export class Turn {
  readonly epoch: number
  readonly taken: EnvelopeId[] = []
  /** What the agent says that it waits for. */
  blocked: string | undefined
  /** Questions whose calls wait for the answer of a person now, each with the end of its wait. */
  readonly #asking = new Map<string, Timestamp>()
  /** What the agent said last. */
  activity: string | undefined
  /** What was wrong with its disk while it was taken, although it did not fail. */
  met: MachineCode | undefined
  readonly #host: RunAtWork
  readonly #record: WorkspaceRecord
  /** What the agent of a review has said with a tool. */
  judgement: Judgement | undefined
  readonly #abort = new AbortController()
  readonly #over = new AbortController()
  readonly began: Ticks
  /** When its agent was set to work, after the setup, and when it ended. */
  #agentFrom: Ticks | undefined
  #agentTo: Ticks | undefined
  #usage: Usage = {}
  /** What of it the run was told, and when. */
  #metered = { tokens: 0, cost: 0 }
  #meteredAt: number

  constructor(host: RunAtWork, record: WorkspaceRecord, epoch: number) {
    this.#host = host
    this.#record = record
    this.epoch = epoch
    this.began = host.clock.now()
    this.#meteredAt = this.began
  }

  /** Until when its agent waits for the answer to this question. */
  asksUntil(question: string): Timestamp | undefined {
    return this.#asking.get(question)
  }

  async asking<T>(question: string, waitMs: number, wait: () => Promise<T>): Promise<T> {
    // Before the question is on the trail: it is never shown as one that nobody waits for.
    this.#asking.set(question, formatTimestamp(deadline(this.#host.clock.now(), waitMs)))
    try {
      return await wait()
    } finally {
      this.#asking.delete(question)
      this.#host.changed()
    }
  }

  end(why: ParleyError): void {
    this.#over.abort()
    this.#abort.abort(why)
  }

  get ended(): boolean {
    return this.#abort.signal.aborted
  }

  /** Fires when the turn has its result, or is told to end: from then on its token opens nothing. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /** Ends it as well: it is taken again from the last checkpoint. */
  suspend(): void {
    this.end(new ParleyError('suspended', 'The work was suspended.'))
  }

  get suspended(): boolean {
    const { aborted, reason } = this.#abort.signal
    return aborted && reason instanceof ParleyError && reason.code === 'suspended'
  }

  /** Runs a setup in its folder, which has its own time limit and no access to the workspace. */
  async setUp(adapter: AgentAdapter, folder: string, command: string): Promise<TurnResult> {
    this.activity = `setup: ${command}`
    this.#host.changed()
    const input = { ...this.#input(folder), prompt: '', context: [] }
    return this.#taken(() => adapter.takeTurn(input, event => this.#setupSaid(event)))
  }

  #setupSaid(event: TurnEvent): void {
    if (event.type === 'text' || event.type === 'notice')
      this.#emitted({ type: 'notice', text: `setup: ${event.text}` })
  }

  /** `session`: a conversation of the agent's own that it goes on with. */
  async take(brief: Brief, folder: string | undefined, session: string | undefined): Promise<TurnResult> {
    this.activity = undefined
    const cancel = this.#deadline()
    this.#agentFrom = this.#host.clock.now()
    try {
      return await this.#result(brief, folder, session)
    } finally {
      cancel?.()
      this.#agentTo = this.#host.clock.now()
      this.#over.abort()
    }
  }

  /** Near its end the agent is asked to finish (W-TERM-01) where the task says so; at its end the turn is ended. */
  #deadline(): CancelTimer | undefined {
    const { clock, run } = this.#host
    const { task, facts, workspace } = this.#record
    const { timeoutMs, graceMs } = task
    if (timeoutMs === undefined) return undefined
    const seconds = timeoutMs / 1000
    const late = new ParleyError('timeout', `The turn took longer than ${seconds} s.`)
    const cancelEnd = clock.after(timeoutMs, () => this.end(late), { background: true })
    // A judge has nothing that a shorter time would leave.
    if (graceMs === undefined || facts.kind !== 'work') return cancelEnd
    const ask = async () => {
      const reason = `The turn may take ${seconds} s, which are nearly over.`
      // Work that is not ended by that, because it was asked before, still has its timeout.
      if ((await run.coordinator.terminate(workspace, graceMs, reason)).ok) cancelEnd()
    }
    const cancelAsk = clock.after(timeoutMs - graceMs, () => void ask(), { background: true })
    return () => {
      cancelAsk()
      cancelEnd()
    }
  }

  async #result(brief: Brief, folder: string | undefined, session: string | undefined): Promise<TurnResult> {
    const { projection, token } = this.#host
    const { workspace, task, facts: own } = this.#record
    const budget = await this.#budget()
    const input = {
      ...this.#input(folder),
      token: token(workspace, this.epoch),
      ...(session !== undefined && { session }),
      ...(budget && { budget }),
      ...(this.#replaceable && { patienceMs: coordinatorDefaults.patienceMs }),
    }
    return this.#taken(async () => {
      const adapter = this.#host.adapter(own, task, projection.agentConfig(nameOf(own.agent)))
      // The prompt speaks of a folder only where there is one.
      const reach = { ...adapter.reach, folder: adapter.reach.folder && folder !== undefined }
      return adapter.takeTurn({ ...input, ...brief(reach) }, event => this.#emitted(event))
    })
  }

  #input(folder: string | undefined) {
    const { run, projection, folders, environment } = this.#host
    const { workspace, task, facts: own } = this.#record
    const id = projection.firstTask(task.id)?.id
    return {
      run: run.id,
      workspace,
      ...(id !== undefined && { task: id }),
      agent: own.agent,
      epoch: this.epoch,
      ...(folder !== undefined && { folder }),
      environment: {
        ...environment,
        ...folders.environment,
        PARLEY_RUN: run.id,
        PARLEY_WORKSPACE: workspace,
        PARLEY_TASK: task.id,
        ...(id !== undefined && { PARLEY_TASK_ID: id }),
        PARLEY_AGENT: own.agent,
      },
      signal: this.#abort.signal,
    }
  }

  async #taken(take: () => Promise<TurnResult>): Promise<TurnResult> {
    const { signal } = this.#abort
    try {
      const result = await take()
      const why: unknown = signal.reason
      if (result.outcome !== 'failed' || !(why instanceof ParleyError)) return result
      // What the adapter calls aborted was a deadline, if that is why it was told to stop.
      const { code, message, retryable, details } = why
      const outage = outageIn(result.error)
      const error = outage ? new ParleyError(code, message, { retryable, details: { ...details, outage } }) : why
      return { ...result, error }
    } catch (cause) {
      return { outcome: 'failed', error: asParleyError(cause), usage: {} }
    }
  }

  /** Somebody else can take over from an agent that cannot work. */
  get #replaceable(): boolean {
    const { workspace, task, facts } = this.#record
    const seen = this.#host.projection.workspaces.get(workspace)
    const handsOver = facts.kind === 'work' || facts.kind === 'review'
    return handsOver && seen !== undefined && nextFallback(seen, task) !== undefined
  }

  async #budget(): Promise<TurnBudget | undefined> {
    const remaining = await this.#host.run.remaining(this.#record.workspace)
    const { token_limit: tokens, cost_limit: usd } = unwrap(remaining)
    if (tokens === undefined && usd === undefined) return undefined
    return { ...(tokens !== undefined && { tokens }), ...(usd !== undefined && { usd }) }
  }

  #emitted(event: TurnEvent): void {
    const { onEvent, changed } = this.#host
    const { workspace, task, facts } = this.#record
    if (event.type === 'usage') {
      this.#usage = event.usage
      // Told at the end of the turn again, where a failure counts.
      void this.#spend(event.usage).catch(() => undefined)
    }
    if (event.type === 'tool') this.activity = lastLine(`${event.name} ${event.summary ?? ''}`)
    else if (event.type !== 'usage') this.activity = lastLine(event.text) ?? this.activity
    onEvent({ workspace, task: task.id, kind: facts.kind, event })
    changed()
  }

  /** A turn at its limit is ended first: nothing could be kept of it once the limit has ended its workspace. */
  async #spend(usage: Usage): Promise<void> {
    if (this.ended) return
    const { clock } = this.#host
    if (await this.exceeds(usage)) this.end(new ParleyError('budget_exceeded', 'The turn used up its budget.'))
    else if (clock.now() - this.#meteredAt >= coordinatorDefaults.meterInterval * 1000) await this.meter(usage)
  }

  /** Whether its workspace is at its limit with that (W-BUDGET-05). */
  async exceeds({ tokensIn = 0, tokensOut = 0, usd = 0 }: Usage): Promise<boolean> {
    const left = await this.#budget()
    const { tokens, cost } = this.#metered
    return tokensIn + tokensOut - tokens >= (left?.tokens ?? Infinity) || usd - cost >= (left?.usd ?? Infinity)
  }

  /** Tells the run what was used since it was told last; a workspace that is over its limit is ended by that. */
  async meter({ tokensIn = 0, tokensOut = 0, usd = 0 }: Usage): Promise<Result<void>> {
    const { tokens, cost } = this.#metered
    const used = { tokens: tokensIn + tokensOut - tokens, cost: usd - cost }
    if (used.tokens <= 0 && used.cost <= 0) return ok(undefined)
    // At once: what is told while this is on its way is not told twice.
    this.#metered = { tokens: Math.max(tokens, tokensIn + tokensOut), cost: Math.max(cost, usd) }
    this.#meteredAt = this.#host.clock.now()
    const metered = await this.#host.run.meter(this.#record.workspace, {
      ...(used.tokens > 0 && { tokens: used.tokens }),
      ...(used.cost > 0 && { cost: used.cost }),
    })
    if (metered.ok || !metered.error.retryable) return ok(undefined)
    const now = this.#metered
    this.#metered = { tokens: now.tokens - Math.max(0, used.tokens), cost: now.cost - Math.max(0, used.cost) }
    return metered
  }

  /** As far as it has come, or with what it came to. */
  record(result?: TurnResult): TurnRecord {
    const { meter } = (result ?? {}) as { readonly meter?: { readonly wallMs: number; readonly outputBytes: number } }
    // The same while it runs and at its end: what was shown never goes back.
    const from = this.#agentFrom ?? (result ? this.began : undefined)
    const wall = from === undefined ? 0 : ((this.#agentTo ?? this.#host.clock.now()) - from) / 1000
    return {
      epoch: this.epoch,
      outcome: result?.outcome ?? 'kept',
      wall_ms: Math.max(0, Math.round(wall), Math.round(meter?.wallMs ?? 0)),
      output_bytes: meter?.outputBytes ?? 0,
      ...(this.met !== undefined && { machine: this.met }),
      ...(result?.session && { session: result.session }),
      ...told(result?.usage ?? this.#usage),
    }
  }
}
