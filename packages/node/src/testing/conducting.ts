// A coordinator for tests: it keeps what it is asked, writes small runs on the node's own trail, and hangs or fails where it is told to.
import type {
  BudgetView,
  Conducting,
  ConductorOptions,
  GateView,
  LeftView,
  MachineView,
  RunSummaryView,
  RunView,
  SalvageView,
  SolveRequest,
  StoredRun,
  UserView,
  WorkspaceDoor,
} from '@parley/coordinator'
import {
  type EntryId,
  err,
  ok,
  ParleyError,
  type Principal,
  type Result,
  type RunId,
  SystemClock,
  SystemIds,
} from '@parley/core'
import type { StorageFault, StorageKeeper } from '@parley/kernel'
import { ScriptedRun } from '@parley/trail/testing'

const LEFT: LeftView = {
  task: 'a',
  workspace: 'ws_1',
  agent: 'writer#1',
  checkpoint: 'cp_1',
  final: false,
  failure: 'It broke.',
  text: 'half of it',
  files: ['one'],
  diff: '+one',
  conflicts: [],
}

export class ScriptedConductor implements Conducting {
  readonly options: ConductorOptions
  readonly solved: SolveRequest[] = []
  readonly aborted: string[] = []
  readonly answers: unknown[] = []
  /** Everything else that people did. */
  readonly acts: object[] = []
  readonly accepted = new Set<string>()
  /** How people were accepted, in order. */
  readonly methods: string[] = []
  readonly runsById = new Map<RunId, { script: ScriptedRun; view: RunView }>()
  readonly doors = new Map<string, WorkspaceDoor>()
  openGates: GateView[] = []
  closing: Promise<void> = Promise.resolve()
  closed = 0

  constructor(options: ConductorOptions) {
    this.options = options
  }

  /** Without a runtime there is nobody to record what is done: it tells what was asked. */
  readonly storage: StorageKeeper = {
    compact: async run => {
      this.acts.push({ act: 'compact', ...(run !== undefined && { run }) })
      return ok({ runs: [], failed: [], freed: 0 })
    },
    snapshot: async run => err(new ParleyError('invalid_state', `${run} has not ended.`)),
    status: () => ({ working: null, faults: this.faults }),
  }
  faults: StorageFault[] = []
  held: MachineView | undefined

  async solve(request: SolveRequest): Promise<Result<{ run: RunId }>> {
    if (request.intent === 'too much')
      return err(
        new ParleyError('overloaded', 'Too much is going on.', { retryable: true, details: { most: 1 } }),
      )
    this.solved.push(request)
    const script = await ScriptedRun.start(this.options.trail, new SystemIds(), new SystemClock())
    await script.workspace()
    const run = script.run.id
    const view: RunView = {
      run,
      intent: request.intent,
      team: request.team.name,
      project: request.project,
      principal: request.principal.id,
      state: 'working',
      started: '2026-01-01T00:00:00.000000Z',
      tasks_done: 0,
      tasks_total: 0,
      usage: { turns: 0, wall_ms: 0, output_bytes: 0 },
      tasks: [],
      gates: [],
      warnings: [],
      cursor: 2,
    }
    this.runsById.set(run, { script, view })
    return ok({ run })
  }

  async runs(filter: Parameters<Conducting['runs']>[0] = {}): Promise<readonly RunSummaryView[]> {
    const views = [...this.runsById.values()].map(({ view }) => view).toReversed()
    const fitting = views.filter(({ state }) => filter.states?.includes(state) ?? true)
    return fitting
      .slice(0, filter.limit ?? 50)
      .map(({ tasks: _t, gates: _g, warnings: _w, cursor: _c, ...rest }) => rest)
  }

  async find(text: string): Promise<Result<RunId>> {
    const ids = [...this.runsById.keys()]
    const found = text === 'last' ? ids.slice(-1) : ids.filter(id => id.startsWith(text))
    if (found.length === 1) return ok(found[0]!)
    return err(
      found.length === 0
        ? new ParleyError('not_found', `There is no run ${text}.`)
        : new ParleyError('ambiguous', `${found.length} runs begin with ${text}.`),
    )
  }

  async view(run: RunId): Promise<Result<RunView>> {
    const known = this.runsById.get(run)
    return known ? ok(known.view) : err(new ParleyError('not_found', `There is no run ${run}.`))
  }

  async *follow(run: RunId): AsyncIterable<RunView> {
    const { view } = this.runsById.get(run)!
    if (view.intent === 'lose me')
      throw new ParleyError('unavailable', 'The node is stopping.', { retryable: true })
    yield view
    yield { ...view, state: 'done' }
  }

  end(run: RunId): void {
    const known = this.runsById.get(run)!
    this.runsById.set(run, { ...known, view: { ...known.view, state: 'done' } })
  }

  async gates(run?: RunId): Promise<readonly GateView[]> {
    return this.openGates.filter(gate => run === undefined || gate.run === run)
  }

  async *watchGates(): AsyncIterable<readonly GateView[]> {
    yield this.openGates
    yield []
  }

  async respond(gate: string, answer: unknown): Promise<Result<{ run: RunId; gates: string[] }>> {
    if (!this.openGates.some(({ id }) => id === gate))
      return err(new ParleyError('invalid_state', `Nothing of ${gate} waits for an answer.`))
    this.answers.push(answer)
    return ok({ run: 'run_1' as RunId, gates: [gate] })
  }

  async reply(question: string, answer: unknown): Promise<Result<{ run: RunId }>> {
    this.answers.push({ question, ...(answer as object) })
    return ok({ run: 'run_1' as RunId })
  }

  async abort(
    run: RunId,
    { reason, task, grace }: { reason: string; task?: string; grace?: number },
  ): Promise<Result<void>> {
    if (grace !== undefined) this.acts.push({ act: 'wind down', run, task, grace })
    this.aborted.push(task === undefined ? `${run}: ${reason}` : `${run} ${task}: ${reason}`)
    return ok(undefined)
  }

  async inject(run: RunId, injection: object): Promise<Result<{ envelope: string }>> {
    this.acts.push({ act: 'inject', run, ...injection })
    return ok({ envelope: 'env_1' })
  }

  async suspend(run: RunId, by: object): Promise<Result<void>> {
    this.acts.push({ act: 'suspend', run, ...by })
    return ok(undefined)
  }

  async resume(run: RunId, by: object): Promise<Result<void>> {
    this.acts.push({ act: 'resume', run, ...by })
    return ok(undefined)
  }

  async hasAgent(_run: RunId, name: string): Promise<boolean> {
    return name === 'own'
  }

  async migrate(
    run: RunId,
    by: object & { to: string },
  ): Promise<Result<{ workspace: string; from: string; to: string }>> {
    this.acts.push({ act: 'migrate', run, ...by })
    return ok({ workspace: 'ws_1', from: 'writer#1', to: `${by.to}#1` })
  }

  async left(run: RunId, which: { task: string }): Promise<Result<LeftView>> {
    this.acts.push({ act: 'left', run, ...which })
    if (which.task !== 'a') return err(new ParleyError('nothing_to_salvage', `${which.task} left nothing.`))
    return ok({ ...LEFT, task: 'a' })
  }

  async salvage(run: RunId, by: object & { take: boolean }): Promise<Result<SalvageView>> {
    this.acts.push({ act: 'salvage', run, ...by })
    const { workspace, checkpoint, agent, files } = LEFT
    return ok({ state: by.take ? 'merged' : 'discarded', workspace, checkpoint, agent, files })
  }

  async proof(_run: RunId, entry: EntryId | number): ReturnType<Conducting['proof']> {
    return err(new ParleyError('not_found', `There is no entry ${entry}.`))
  }

  async budgets(): Promise<Result<readonly BudgetView[]>> {
    return ok([{ task: 'run', dimension: 'token_limit', limit: 100, used: 81, warned: true }])
  }

  async raiseBudget(run: RunId, raise: object): Promise<Result<void>> {
    this.acts.push({ act: 'raise', run, ...raise })
    return ok(undefined)
  }

  async users(): Promise<readonly UserView[]> {
    return [...this.accepted].map(user => ({ user, state: 'active', capabilities: [], waiting: 0 }))
  }

  async accept({ id }: Principal, method: string): Promise<Result<void>> {
    this.accepted.add(id)
    this.methods.push(method)
    return ok(undefined)
  }

  async changeUser(user: string, act: object): Promise<Result<void>> {
    this.acts.push({ user, ...act })
    return ok(undefined)
  }

  async storedRun(run: RunId): ReturnType<Conducting['storedRun']> {
    return err(new ParleyError('not_found', `There is no run ${run}.`))
  }

  async *stored(): AsyncGenerator<StoredRun> {}

  async keyed(): Promise<undefined> {
    return undefined
  }

  async account(run: RunId): ReturnType<Conducting['account']> {
    return err(new ParleyError('not_found', `There is no run ${run}.`))
  }

  listen(): () => void {
    return () => undefined
  }

  readonly #stop = new AbortController()

  get stopping(): AbortSignal {
    return this.#stop.signal
  }

  door(token: string): Result<WorkspaceDoor> {
    const door = this.doors.get(token)
    return door ? ok(door) : err(new ParleyError('permission_denied', 'No turn with this token is at work.'))
  }

  async close(): Promise<void> {
    this.closed++
    this.#stop.abort()
    await this.closing
  }
}
