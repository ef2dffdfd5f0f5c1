// A coordinator for tests: it keeps what it is asked, writes small runs on the node's own trail, and hangs or fails
// where it is told to.
import type { AgentVerbs, Coordination, CoordinatorOptions, RunView, TeamSetup } from '@parley/coordinator'
import { err, ok, ParleyError, type Result, type RunId, type RunRequest, SystemClock, SystemIds } from '@parley/core'
import type { StorageKeeper } from '@parley/kernel'
import { ScriptedRun } from '@parley/trail/testing'

type GateView = RunView['gates'][number]

const LEFT = {
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

export class ScriptedCoordinator implements Coordination {
  readonly options: CoordinatorOptions
  readonly solved: (RunRequest & TeamSetup)[] = []
  readonly aborted: string[] = []
  readonly answers: unknown[] = []
  /** Everything else that people did. */
  readonly acts: object[] = []
  readonly accepted = new Set<string>()
  /** How people were accepted, in order. */
  readonly methods: string[] = []
  readonly runsById = new Map<RunId, { script: ScriptedRun; view: RunView }>()
  readonly turns = new Map<string, AgentVerbs>()
  openGates: GateView[] = []
  closing: Promise<void> = Promise.resolve()
  closed = 0

  constructor(options: CoordinatorOptions) {
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
  faults: ReturnType<StorageKeeper['status']>['faults'] = []
  held: Coordination['held']

  async start(request: RunRequest, setup: TeamSetup): Promise<Result<{ run: RunId }>> {
    if (request.intent === 'too much')
      return err(new ParleyError('overloaded', 'Too much is going on.', { retryable: true, details: { most: 1 } }))
    this.solved.push({ ...request, ...setup })
    const script = await ScriptedRun.start(this.options.trail, new SystemIds(), new SystemClock())
    await script.workspace()
    const run = script.run.id
    const view: RunView = {
      run,
      intent: request.intent,
      team: setup.team.name,
      project: setup.project ?? '',
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

  readonly applies: Coordination['applies'] = {
    apply: async run => err(new ParleyError('nothing_to_apply', `${run} changed nothing.`)),
    undo: async () => err(new ParleyError('not_applied', 'Nothing was applied.')),
    list: async () => [],
  }

  readonly cleaning: Coordination['cleaning'] = { clean: async () => ok([]) }

  readonly works: Coordination['works'] = {
    show: async run => err(new ParleyError('work_gone', `${run} has no folder.`)),
  }

  readonly library: Coordination['library'] = {
    append: async () => err(new ParleyError('unavailable', 'There is no library.', { retryable: true })),
    // biome-ignore lint/correctness/useYield: it has no records
    async *read() {
      return
    },
  }

  readonly runs: Coordination['runs'] = {
    list: async (filter = {}) => {
      const views = [...this.runsById.values()].map(({ view }) => view).toReversed()
      const fitting = views.filter(({ state }) => filter.states?.includes(state) ?? true)
      return fitting
        .slice(0, filter.limit ?? 50)
        .map(({ tasks: _t, gates: _g, warnings: _w, cursor: _c, ...rest }) => rest)
    },
    find: async text => {
      const ids = [...this.runsById.keys()]
      const found = text === 'last' ? ids.slice(-1) : ids.filter(id => id.startsWith(text))
      if (found.length === 1) return ok(found[0]!)
      return err(
        found.length === 0
          ? new ParleyError('not_found', `There is no run ${text}.`)
          : new ParleyError('ambiguous', `${found.length} runs begin with ${text}.`),
      )
    },
  }

  readonly usage: Coordination['usage'] = { since: async () => ({ agents: [], turns: [] }) }

  readonly views: Coordination['views'] = {
    view: async run => {
      const known = this.runsById.get(run)
      return known ? ok(known.view) : noRun(run)
    },
    follow: run => this.#follow(run),
    prompts: async () => ok({ prompts: [], left_out: 0 }),
  }

  async *#follow(run: RunId): AsyncIterable<RunView> {
    const { view } = this.runsById.get(run)!
    if (view.intent === 'lose me') throw new ParleyError('unavailable', 'The node is stopping.', { retryable: true })
    yield view
    yield { ...view, state: 'done' }
  }

  end(run: RunId): void {
    const known = this.runsById.get(run)!
    this.runsById.set(run, { ...known, view: { ...known.view, state: 'done' } })
  }

  readonly gates: Coordination['gates'] = {
    list: async run => this.openGates.filter(gate => run === undefined || gate.run === run),
    watch: () => this.#watchGates(),
    find: async () => {
      const [gate, ...others] = this.openGates
      return gate ? ok([gate, ...others]) : err(new ParleyError('not_found', 'Nothing is waiting for this answer.'))
    },
    respond: async (gate, answer) => {
      if (!this.openGates.some(({ id }) => id === gate))
        return err(new ParleyError('invalid_state', `Nothing of ${gate} waits for an answer.`))
      this.answers.push(answer)
      return ok({ run: 'run_1' as RunId, gates: [gate] })
    },
    reply: async (question, answer) => {
      this.answers.push({ question, ...answer })
      return ok({ run: 'run_1' as RunId })
    },
  }

  async *#watchGates(): AsyncIterable<readonly GateView[]> {
    yield this.openGates
    yield []
  }

  readonly interventions: Coordination['interventions'] = {
    abandon: async (run, reason) => this.#abort(run, { reason }),
    abort: async (run, by) => this.#abort(run, by),
    inject: async (run, injection) => {
      this.acts.push({ act: 'inject', run, ...injection })
      return ok({ envelope: 'env_1' })
    },
    suspend: async (run, by) => this.#did({ act: 'suspend', run, ...by }),
    resume: async (run, by) => this.#did({ act: 'resume', run, ...by }),
  }

  #did(act: object): Result<void> {
    this.acts.push(act)
    return ok(undefined)
  }

  #abort(
    run: RunId,
    { reason, task, grace }: { reason: string; task?: string | undefined; grace?: number | undefined },
  ): Result<void> {
    if (grace !== undefined) this.acts.push({ act: 'wind down', run, task, grace })
    this.aborted.push(task === undefined ? `${run}: ${reason}` : `${run} ${task}: ${reason}`)
    return ok(undefined)
  }

  readonly migrations: Coordination['migrations'] = {
    hasAgent: async (_run, name) => name === 'own',
    migrate: async (run, by) => {
      this.acts.push({ act: 'migrate', run, ...by })
      return ok({ workspace: 'ws_1', from: 'writer#1', to: `${by.to}#1` })
    },
  }

  readonly salvages: Coordination['salvages'] = {
    left: async (run, which) => {
      this.acts.push({ act: 'left', run, ...which })
      if (which.task !== 'a') return err(new ParleyError('nothing_to_salvage', `${which.task} left nothing.`))
      return ok({ ...LEFT, task: 'a' })
    },
    decide: async (run, by) => {
      this.acts.push({ act: 'salvage', run, ...by })
      const { workspace, checkpoint, agent, files } = LEFT
      return ok({ state: by.take ? 'merged' : 'discarded', workspace, checkpoint, agent, files })
    },
  }

  readonly budgets: Coordination['budgets'] = {
    list: async () => ok([{ task: 'run', dimension: 'token_limit', limit: 100, used: 81, warned: true }]),
    raise: async (run, raise) => this.#did({ act: 'raise', run, ...raise }),
  }

  readonly users: Coordination['users'] = {
    list: async () => [...this.accepted].map(user => ({ user, state: 'active', capabilities: [], waiting: 0 })),
    accept: async ({ id }, method) => {
      this.accepted.add(id)
      this.methods.push(method)
      return ok(undefined)
    },
    change: async (user, act) => {
      if (act.act !== 'grant' && act.act !== 'revoke')
        this.states.set(user, act.act === 'block' ? 'blocked' : act.act === 'suspend' ? 'suspended' : 'active')
      return this.#did({ user, ...act })
    },
    admit: async ({ id }, method) => {
      if (!this.accepted.has(id)) this.methods.push(method)
      this.accepted.add(id)
      const state = this.states.get(id) ?? 'active'
      if (state !== 'active') return err(new ParleyError('permission_denied', `${id} may not start runs: ${state}.`))
      return ok({ approves: false })
    },
    stateOf: user => (this.accepted.has(user) ? (this.states.get(user) ?? 'active') : undefined),
  }
  readonly states = new Map<string, ReturnType<Coordination['users']['stateOf']>>()

  /** What people did outside of runs. */
  readonly housed: { readonly by: string; readonly said: Parameters<Coordination['house']['write']>[1] }[] = []
  readonly house: Coordination['house'] = {
    write: async (by, said) => {
      this.housed.push({ by, said })
      return ok(undefined)
    },
  }
  readonly load = { turns: 0, waiting: 0 }
  degraded = false

  readonly records: Coordination['records'] = {
    storedRun: async run => noRun(run),
    find: async () => ({ runs: [] }),
    keyed: async () => undefined,
    written: () => undefined,
    account: async run => noRun(run),
    proof: async (_run, entry) => err(new ParleyError('not_found', `There is no entry ${entry}.`)),
  }

  readonly listeners = { listen: () => () => undefined, recent: () => ({ events: [], missed: 0 }) }

  readonly #stop = new AbortController()

  get stopping(): AbortSignal {
    return this.#stop.signal
  }

  verbs(token: string): Result<AgentVerbs> {
    const verbs = this.turns.get(token)
    return verbs ? ok(verbs) : err(new ParleyError('permission_denied', 'No turn with this token is at work.'))
  }

  async close(): Promise<void> {
    this.closed++
    this.#stop.abort()
    await this.closing
  }
}

function noRun(run: RunId) {
  return err(new ParleyError('not_found', `There is no run ${run}.`))
}
