// What a scenario is told: a stage with the fixture of the sheets. Workspaces are brought into states, mail is sent and
// people are made by operations, so that everything a scenario rests on is itself black box.
import { deepStrictEqual } from 'node:assert'
import type { CheckpointDraft, EnvelopeDraft, TaskDraft, WorkspaceDraft } from './drafts.ts'
import type { Outcome } from './host.ts'
import type { ScenarioOptions } from './scenario.ts'
import { must, Stage } from './stage.ts'
import type { EnvelopeView, RightView, TaskView, WorkspaceView } from './views.ts'

const WORK = { format: 'markdown', content: 'work' } as const

/** W-USER-12: what concerns only one's own. */
export const OWN_CAPABILITIES = [
  'create_workspace',
  'suspend_own',
  'abort_own',
  'inject_directive',
  'approve_integration',
  'modify_budget',
  'transfer_ownership',
] as const

/** The nine states. */
export const STATES = [
  'idle',
  'active',
  'blocked',
  'suspended',
  'migrating',
  'integrating',
  'conflicted',
  'closed',
  'failed',
] as const
export type State = (typeof STATES)[number]

/** A type `note` for mail between workers, which several rows use. */
export const NOTES = {
  id: 'notes',
  version: '1.0.0',
  protocol_version: '0.1',
  roles: [],
  envelope_types: [
    { name: 'note', description: '', permissions: [{ sender_role: 'worker', receiver_role: 'worker' }] },
  ],
  checkpoint_types: [],
} as const

export class Kit extends Stage {
  /** Whose child each workspace was made, by name. */
  readonly #parents = new Map<string, string>()

  /** Starts what a scenario starts with: a system, people from level 2 on, a run with R in `active`. */
  async prepare({ users = ['ux', 'uy'], active = true }: ScenarioOptions): Promise<void> {
    must(await this.open(), 'Opening the system')
    if (this.level >= 2) for (const user of users) await this.user(user)
    must(await this.start(), 'Starting the run')
    if (active) await this.do('R', 'emit_signal', { type: 'started' })
    await this.mark()
  }

  // People

  /** Somebody who has logged in and holds just these capabilities. */
  async user(name: string, capabilities: readonly string[] = []): Promise<void> {
    await this.do('outsider', 'authenticate', { user: name, proven: true })
    for (const capability of capabilities) await this.do('runtime', 'grant_capability', { user: name, capability })
  }

  // Workspaces

  /** A workspace below `by`, `idle` unless its draft brings it further. */
  async workspace(name: string, draft: Partial<WorkspaceDraft> = {}, by = 'R'): Promise<string> {
    // With authority over everything, so that its checkpoints may name any file (W-WS-17).
    const { workspace } = await this.do(by, 'create_workspace', {
      role: 'worker',
      resources: ['**'],
      ...draft,
    })
    this.#parents.set(name, draft.parent ?? by)
    return this.name(workspace, name)
  }

  /** A worker in `active`: it got a first envelope and has consumed it. */
  async worker(name: string, draft: Partial<WorkspaceDraft> = {}, by = 'R'): Promise<string> {
    const id = await this.workspace(name, { directive: WORK, ...draft }, by)
    await this.settle()
    await this.do(name, 'consume_envelope')
    return id
  }

  /** A worker that may have workspaces of its own (level 2). */
  delegate(name: string, draft: Partial<WorkspaceDraft> = {}, by = 'R'): Promise<string> {
    return this.worker(name, { delegate: true, ...draft }, by)
  }

  async observer(name: string, draft: Partial<WorkspaceDraft> = {}): Promise<string> {
    const id = await this.workspace(name, { ...draft, role: 'observer' })
    await this.emit(name, 'started')
    return id
  }

  /** States that can be reached at the level that is tested, in the order of the sheets. */
  get states(): readonly State[] {
    return STATES.filter(state => (state === 'migrating' ? this.level >= 3 : state !== 'conflicted' || this.level >= 2))
  }

  /** Brings an active worker into a state. `migrating` holds the binder: set it to `work` to let the migration end. */
  async bring(name: string, state: State): Promise<void> {
    const parent = this.parent(name)
    switch (state) {
      case 'idle':
      case 'active':
        break
      case 'blocked':
        await this.emit(name, 'blocked', { reason: 'waiting' })
        break
      case 'suspended':
        await this.do(parent, 'suspend', { workspace: name, reason: 'paused' })
        break
      case 'integrating':
        await this.final(name)
        await this.emit(name, 'complete')
        break
      case 'conflicted':
        await this.bring(name, 'integrating')
        await this.do(parent, 'begin_integration', { source: name, strategy: 'evaluated' })
        await this.conflicts(name, [{}])
        break
      case 'migrating':
        this.faults.binder('hold')
        // It is answered when the migration has ended.
        void this.call(parent, 'migrate', { workspace: name, agent: `${name}-next`, reason: 'move' })
        await this.settle()
        break
      case 'closed':
        await this.bring(name, 'integrating')
        await this.do(parent, 'decide_integration', { source: name, decision: 'accept' })
        break
      case 'failed':
        await this.do(parent, 'abort', { workspace: name })
    }
    await this.settle()
    if (state !== 'idle') deepStrictEqual(await this.state(name), state)
  }

  /** A fresh workspace in a state: `idle` or an active worker brought further. */
  async inState(name: string, state: State, draft: Partial<WorkspaceDraft> = {}, by = 'R'): Promise<void> {
    if (state === 'idle') await this.workspace(name, draft, by)
    else {
      await this.worker(name, draft, by)
      await this.bring(name, state)
    }
    await this.mark()
  }

  parent(name: string): string {
    return this.#parents.get(name) ?? 'R'
  }

  /** Names a workspace that something else made, such as the approval of a gate. */
  adopt(id: string, name: string, parent = 'R'): void {
    this.#parents.set(name, parent)
    this.name(id, name)
  }

  look(name: string): Promise<WorkspaceView> {
    return this.do('runtime', 'get_workspace', { workspace: name })
  }

  async state(name: string): Promise<string> {
    return (await this.look(name)).status
  }

  /** What its agent will consume, by name and in order. */
  async inbox(name: string): Promise<readonly string[]> {
    return (await this.look(name)).inbox.map(id => this.names.of(id))
  }

  // Signals, checkpoints

  /** Emits a signal that is accepted; answers what became of it. */
  async emit(
    name: string,
    type: string,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<'applied' | 'recorded' | 'absorbed'> {
    return (await this.do(name, 'emit_signal', { type, ...more })).outcome
  }

  /** A checkpoint on top of the chain, as the workspace's role may create one. */
  async checkpoint(name: string, workspace: string, draft: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const params = await this.checkpointDraft(workspace, draft)
    return this.name((await this.do(workspace, 'create_checkpoint', { ...params })).checkpoint, name)
  }

  async checkpointDraft(workspace: string, draft: Readonly<Record<string, unknown>> = {}): Promise<CheckpointDraft> {
    const { register, role } = await this.look(workspace)
    return {
      type: role === 'observer' ? 'observation' : 'artifact',
      payload: { content: 'part' },
      intent: 'show what was done',
      parent: register.at(-1)?.id ?? null,
      status: 'provisional',
      confidence: 'medium',
      ...draft,
    }
  }

  /** A final checkpoint, named K and the workspace's name. */
  final(workspace: string, files: readonly string[] = ['a.txt']): Promise<string> {
    const payload = { files_changed: files, content: 'done' }
    return this.checkpoint(`K${workspace}`, workspace, { status: 'final', payload })
  }

  // Mail

  mail(to: string, type: string, more: Partial<EnvelopeDraft> = {}): EnvelopeDraft {
    return { to, type, payload: { format: 'markdown', content: 'text' }, ...more }
  }

  /** Sends what is accepted, and names it. */
  async send(name: string, from: string, to: string, type: string, more: Partial<EnvelopeDraft> = {}): Promise<string> {
    const { envelope } = await this.do(from, 'send_envelope', { ...this.mail(to, type, more) })
    return this.name(envelope, name)
  }

  /** The name of the next envelope that an agent gets; undefined where there is none. */
  async consume(name: string): Promise<string | undefined> {
    const envelope = await this.do(name, 'consume_envelope')
    return envelope === null ? undefined : this.names.of(String(envelope.id))
  }

  envelope(name: string): Promise<EnvelopeView> {
    return this.do('runtime', 'get_envelope', { envelope: name })
  }

  // Rights

  async grant(name: string, type: 'send' | 'send_once', holder: string, target: string): Promise<string> {
    return this.name((await this.do('R', 'grant_right', { type, holder, target })).right, name)
  }

  /** Active rights of a holder to a target, oldest first. */
  async rights(holder: string, target: string): Promise<readonly RightView[]> {
    const rights = await this.do('runtime', 'list_rights', { holder, target })
    return rights.filter(right => right.status === 'active')
  }

  // Tasks

  /** Submits tasks by name, or adds them to a graph; each gets its name, and the graph `graph`. */
  async graph(
    tasks: Readonly<Record<string, Partial<TaskDraft>>>,
    { graph = 'G', into, by = 'R' }: { graph?: string; into?: string; by?: string } = {},
  ): Promise<void> {
    const drafts = Object.entries(tasks).map(([name, draft]) => ({
      key: name,
      name,
      description: `do ${name}`,
      ...draft,
    }))
    const made =
      into === undefined
        ? await this.do(by, 'submit_graph', { tasks: drafts })
        : await this.do(by, 'add_tasks', { graph: into, tasks: drafts })
    if (into === undefined) this.name(made.graph, graph)
    for (const [index, { name }] of drafts.entries()) this.name(made.tasks[index]!, name)
    await this.settle()
  }

  task(name: string): Promise<TaskView> {
    return this.do('runtime', 'get_task', { task: name })
  }

  /** The tasks of a graph that can be bound now, by name and in order. */
  async dispatchable(graph = 'G'): Promise<readonly string[]> {
    return (await this.do('R', 'list_dispatchable', { graph })).map(task => task.name)
  }

  /** A worker that is bound to a task and has consumed its directive. */
  bound(workspace: string, task: string, draft: Partial<WorkspaceDraft> = {}, by = 'R'): Promise<string> {
    return this.worker(workspace, { task, directive: null, ...draft }, by)
  }

  // Integration

  /** Workers that completed work on these files, each `integrating` with a final checkpoint K and its name. */
  async completed(work: Readonly<Record<string, readonly string[]>>): Promise<void> {
    for (const [name, files] of Object.entries(work)) {
      await this.worker(name)
      await this.final(name, files)
      await this.emit(name, 'complete')
    }
    await this.mark()
  }

  /** Reports conflicts of an open `evaluated` integration, named X1, X2, … */
  async conflicts(
    source: string,
    found: readonly { type?: string; resources?: readonly string[]; description?: string }[],
  ): Promise<void> {
    const conflicts = found.map(each => ({
      type: 'content_overlap',
      resources: ['a.txt'],
      description: 'both changed it',
      ...each,
    }))
    const made = await this.do(this.parent(source), 'report_conflicts', { source, conflicts })
    for (const [index, id] of made.conflicts.entries()) this.name(id, `X${index + 1}`)
  }

  // Gates

  /** The gate that what was asked for waits at, with a name. */
  gate(outcome: Outcome<unknown>, name = 'G1'): string {
    const { gate } = ((outcome.ok ? outcome.value : outcome.about) ?? {}) as { readonly gate?: string }
    if (gate === undefined) throw new Error(`This waits at no gate: ${JSON.stringify(outcome)}`)
    return this.name(gate, name)
  }

  /** The gates that wait, named by their order of opening: G1, G2, … */
  async gates(): Promise<readonly string[]> {
    const waiting = await this.do('runtime', 'list_gates')
    return waiting.map(({ id }) => {
      const known = this.names.of(id)
      if (known !== id) return known
      this.#gates++
      this.name(id, `G${this.#gates}`)
      return `G${this.#gates}`
    })
  }

  #gates = 0

  // Everything at once

  /**
   * Every object of the run as readers see it, to be compared before and after. Times that go on by themselves are left
   * out, and so are envelopes that were rejected: those never became objects.
   */
  async picture(): Promise<object> {
    const entries = await this.entries()
    const ids = (type: string, field: string) =>
      entries.filter(entry => entry.event_type === type).map(entry => String(entry.body[field]))
    const read = async <T>(of: readonly string[], one: (id: string) => Promise<T>) => {
      const found: T[] = []
      for (const id of new Set(of)) found.push(await one(id))
      return found
    }
    return {
      workspaces: await read(ids('workspace_created', 'workspace_id'), async workspace => {
        const { meter, ...view } = await this.do('runtime', 'get_workspace', { workspace })
        const { compute_time: _compute, wall_time: _wall, ...kept } = meter
        return { ...view, meter: kept }
      }),
      envelopes: await read(ids('envelope_created', 'envelope_id'), envelope =>
        this.do('runtime', 'get_envelope', { envelope }),
      ),
      tasks: await read(ids('task_created', 'task_id'), task => this.do('runtime', 'get_task', { task })),
      rights: await this.do('runtime', 'list_rights'),
    }
  }
}
