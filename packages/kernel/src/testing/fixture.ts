// A run for tests, on a real trail: names instead of ids, a clock that moves by hand, and the trail as a list that can
// be compared.
import {
  type EntryId,
  formatTimestamp,
  type IdSource,
  ManualClock,
  type Result,
  SeededIds,
  type Ticks,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import { type ContentCipher, type Entry, openTrail, type ProposedEntry, stamp, Trail } from '@parley/trail'
import type { WorkspaceState } from '@parley/trail/events'
import { memoryDisks, openMemoryStore } from '@parley/trail/testing'
import { expect, onTestFinished } from 'vitest'
import type { EnvelopeDraft } from '../envelope/envelope.ts'
import type { RunDraft } from '../run/start.ts'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import type { RunHandle } from '../runtime/handle/run-handle.ts'
import { viewEnvelope, viewRight, viewTask, viewWorkspace } from '../runtime/handle/view.ts'
import type { MigrationRequest } from '../runtime/migrations.ts'
import type { Notice } from '../runtime/notice.ts'
import { Runtime } from '../runtime/runtime.ts'
import type { RuntimeOptions } from '../runtime/runtime-options.ts'
import type { WorkspaceDraft } from '../workspace/create.ts'
import { GUARDS } from './host.ts'
import { aboutOutage, contains, Names, type Row } from './rows.ts'

export type { Row } from './rows.ts'

const START = 1_772_355_900_000_000 as Ticks

export interface FixtureOptions extends Partial<Omit<RuntimeOptions, 'trail' | 'clock'>> {
  readonly run?: Partial<RunDraft>
  readonly ids?: IdSource
  /** False: the root stays idle. */
  readonly active?: boolean
  readonly disks?: ReturnType<typeof memoryDisks>
  /**
   * A folder for the trail instead: for tests that change what is stored. What settles there takes as long as a disk
   * takes.
   */
  readonly profile?: string
  /** Seals and opens what the trail holds. */
  readonly cipher?: ContentCipher
}

export class Fixture extends Names {
  disks: ReturnType<typeof memoryDisks>
  readonly clock: ManualClock
  readonly ids: IdSource
  readonly options: FixtureOptions
  trail!: Trail
  runtime!: Runtime
  run!: RunHandle
  /** The coordinator's handle with everything that a handle can do, for attempts that the types rule out. */
  root!: AgentHandle
  readonly notices: Notice[] = []
  /** While it is set, an agent that is to take over a workspace never gets ready. */
  unprepared = false
  readonly #agents = new Map<string, AgentHandle>()
  #seen = 0

  constructor(options: FixtureOptions) {
    super()
    this.options = options
    this.disks = options.disks ?? memoryDisks()
    this.clock = new ManualClock(START)
    this.ids = options.ids ?? new SeededIds(7)
  }

  async open(): Promise<void> {
    const { run: _run, active: _active, disks: _disks, profile, cipher, ...options } = this.options
    const sealed = cipher ? { cipher } : {}
    this.trail = profile
      ? await openTrail(profile, sealed)
      : new Trail({ store: await openMemoryStore(this.disks), ...sealed })
    this.runtime = await Runtime.open({
      commitRetries: [],
      ...(options.level !== 1 && GUARDS),
      ...options,
      prepare: request => this.#prepare(request),
      trail: this.trail,
      clock: this.clock,
      ids: this.ids,
    })
  }

  #prepare(request: MigrationRequest): void | Promise<void> {
    if (this.unprepared) return new Promise(() => undefined)
    const { prepare, bind } = this.options
    return prepare ? prepare(request) : bind?.(request.agent)
  }

  /** Stops everything and opens the runtime again from what is on disk. */
  async reopen(meanwhile: () => void | Promise<void> = () => undefined): Promise<void> {
    await this.runtime.close()
    await this.trail.close()
    await meanwhile()
    await this.open()
  }

  /** The same, and the run with it. */
  async restart(meanwhile?: () => void | Promise<void>): Promise<void> {
    await this.reopen(meanwhile)
    this.run = unwrap(await this.runtime.open(this.run.id))
    this.run.subscribe(notice => this.notices.push(notice))
    this.root = this.run.coordinator as AgentHandle
    for (const [name, agent] of this.#agents) {
      this.#agents.set(name, unwrap(await this.run.worker(agent.workspace)) as AgentHandle)
    }
  }

  /** The handle of a workspace that `worker`, `observer` or `workspace` made. */
  agent(name: string): AgentHandle {
    const agent = this.#agents.get(name)
    if (!agent) throw new Error(`There is no workspace named ${name} in this test.`)
    return agent
  }

  /** Names a workspace that the approval of a gate made. */
  async adopt(name: string, workspace: WorkspaceId): Promise<AgentHandle> {
    const agent = unwrap(await this.run.worker(workspace)) as AgentHandle
    this.#agents.set(name, agent)
    this.name(workspace, name)
    return agent
  }

  id(name: string): WorkspaceId {
    return name === 'R' ? this.root.workspace : this.agent(name).workspace
  }

  /** A workspace below the root, idle unless it is brought further. */
  async workspace(
    name: string,
    draft: Partial<WorkspaceDraft> = {},
    by: AgentHandle = this.root,
  ): Promise<AgentHandle> {
    // With authority over everything, so that its checkpoints may name any file.
    const created = unwrap(await by.createWorkspace({ role: 'worker', resources: ['**'], ...draft }))
    const agent = created as AgentHandle
    this.#agents.set(name, agent)
    this.name(agent.workspace, name)
    return agent
  }

  /** A worker in `active`: it got a first envelope, and has consumed it. */
  async worker(name: string, draft: Partial<WorkspaceDraft> = {}, by: AgentHandle = this.root): Promise<AgentHandle> {
    const directive = { format: 'markdown', content: 'work' }
    const agent = await this.workspace(name, { directive, ...draft }, by)
    await this.settle()
    unwrap(await agent.consume())
    return agent
  }

  async observer(name: string, draft: Partial<WorkspaceDraft> = {}): Promise<AgentHandle> {
    const agent = await this.workspace(name, { ...draft, role: 'observer' })
    unwrap(await agent.started())
    return agent
  }

  /** Brings a workspace into a state by operations; `conflicted` needs `force`. */
  async bring(name: string, state: string): Promise<void> {
    const agent = this.agent(name)
    const steps: Record<string, () => Promise<unknown>> = {
      active: async () => undefined,
      blocked: async () => unwrap(await agent.blocked('waiting')),
      suspended: async () => unwrap(await this.root.suspend(agent.workspace, 'paused')),
      integrating: async () => {
        unwrap(await this.final(name))
        unwrap(await agent.complete())
      },
      closed: async () => {
        await steps.integrating!()
        unwrap(await (await this.#parent(name)).accept(agent.workspace))
      },
      migrating: async () => {
        this.unprepared = true
        const parent = await this.#parent(name)
        void parent.migrate(agent.workspace, `next_${name}`, 'move')
        await this.settle()
        this.unprepared = false
      },
      failed: async () => unwrap(await this.root.abort(agent.workspace)),
    }
    await steps[state]!()
  }

  /**
   * Brings a workspace into any of the nine states. `conflicted` is written as another runtime could have written it,
   * and the runtime is opened again on that trail: handles taken before are stale, `agent(name)` gives new ones.
   */
  async force(name: string, state: string): Promise<void> {
    const workspace_id = this.id(name)
    if (state === 'conflicted') {
      await this.bring(name, 'integrating')
      const parent = await this.#parent(name)
      unwrap(await parent.beginIntegration(workspace_id))
      await this.#conflicted(name, {
        event_type: 'conflict_detected',
        workspace: workspace_id,
        actor: parent === this.root ? 'system' : parent.role,
        body: {
          workspace_id,
          conflict_type: 'content_overlap',
          resources: ['a.txt'],
          description: 'two versions',
          conflict_id: this.ids.next('conflict'),
          mode: 'normal',
        },
      })
    } else if (state !== 'idle') await this.bring(name, state)
    expect(await this.state(name)).toBe(state)
    await this.mark()
  }

  /** Appends a conflict and the transition behind it past the kernel, and opens the runtime again. */
  async #conflicted(name: string, cause: ProposedEntry): Promise<void> {
    await this.settle()
    const change: ProposedEntry = {
      event_type: 'workspace_state_changed',
      workspace: this.id(name),
      actor: cause.actor,
      body: {
        workspace_id: this.id(name),
        from_state: (await this.state(name)) as WorkspaceState,
        to_state: 'conflicted',
        trigger: 'conflict_detected',
        initiator: cause.actor === 'system' ? 'coordinator' : cause.actor,
      },
    }
    const entries = [cause, change].map(entry =>
      stamp(entry, this.ids.next('e') as EntryId, formatTimestamp(this.runtime.clock.take())),
    )
    unwrap(await this.trail.run(this.run.id).append({ entries }))
    await this.restart()
  }

  async #parent(name: string): Promise<AgentHandle> {
    const id = await this.run.read(run => run.workspaces.get(this.id(name))?.parent?.id)
    if (id === undefined) throw new Error(`${name} has no parent.`)
    return id === this.root.workspace ? this.root : (unwrap(await this.run.delegate(id)) as AgentHandle)
  }

  /** A final checkpoint on top of the chain. */
  async final(name: string, files: string[] = ['a.txt']): Promise<Result<{ readonly checkpoint: string }>> {
    return this.checkpoint(name, { status: 'final', payload: { files_changed: files, content: 'done' } })
  }

  async checkpoint(name: string, draft: object = {}) {
    const agent = this.agent(name)
    const parent = await this.run.read(run => run.workspaces.get(agent.workspace)?.register?.at(-1) ?? null)
    const type = await this.run.read(run =>
      run.vocabulary.roles.get(agent.role)?.base === 'observer' ? 'observation' : 'artifact',
    )
    return agent.checkpoint({
      type,
      payload: { content: 'part' },
      intent: 'show what was done',
      parent,
      status: 'provisional',
      confidence: 'medium',
      ...draft,
    } as never)
  }

  mail(to: string, type: string, extra: object = {}): EnvelopeDraft {
    return { to: this.id(to), type, payload: { format: 'markdown', content: 'text' }, ...extra }
  }

  state(name: string): Promise<string | undefined> {
    return this.run.read(run => run.workspaces.get(this.id(name))?.status)
  }

  /**
   * Every object of the run as readers see it, to be compared before and after. What was rejected never became an
   * object.
   */
  picture(): Promise<object> {
    return this.run.read(run => ({
      workspaces: [...run.workspaces.values()].map(each => ({
        ...viewWorkspace(run, each),
        remembered: each.remembered,
        waiting: each.waiting?.map(({ id }) => id),
      })),
      envelopes: [...run.envelopes.values()].map(viewEnvelope).filter(each => each.status !== 'rejected'),
      rights: [...run.rights.values()].map(viewRight),
      tasks: [...run.tasks.values()].map(viewTask),
      checkpoints: [...run.checkpoints.keys()],
    }))
  }

  /** Lets everything that is due without the clock happen: deliveries, receipts. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
  }

  /** Moves the clock and lets what became due happen. */
  async advance(milliseconds: number): Promise<void> {
    this.clock.advance(milliseconds)
    await this.settle()
  }

  /** Everything from here on is new to `added`. */
  async mark(): Promise<void> {
    await this.settle()
    this.#seen = (await this.run.entries()).length
  }

  /**
   * The entries since the last mark, which moves on, but for what the runtime says of its own outages: see
   * `addedWithOutages`.
   */
  async added(): Promise<readonly Entry[]> {
    return (await this.addedWithOutages()).filter(entry => !aboutOutage(entry))
  }

  /** All of them, the markers of recoveries and of outages of the trail included. */
  async addedWithOutages(): Promise<readonly Entry[]> {
    await this.settle()
    const entries = await this.run.entries()
    const added = entries.slice(this.#seen)
    this.#seen = entries.length
    return added
  }

  /**
   * Asserts that exactly these entries were added since the last mark, in this order, ids by name, times equal to the
   * header's.
   */
  async expectAdded(rows: readonly Row[]): Promise<void> {
    const added = (await this.added()).map(entry => this.row(entry))
    const shown = added.map((row, index) => (rows[index]?.[3] === undefined ? row.slice(0, 3) : row))
    expect(shown).toEqual(rows.map(row => [...row]))
  }

  /**
   * Asserts that these entries were added in this order, whatever stands between them; bodies need only contain what is
   * given.
   */
  async expectAmong(rows: readonly Row[]): Promise<readonly Entry[]> {
    const added = await this.added()
    const seen = added.map(entry => this.row(entry))
    let from = 0
    for (const [type, workspace, actor, body] of rows) {
      const index = seen.findIndex(
        (row, at) =>
          at >= from && row[0] === type && row[1] === workspace && row[2] === actor && contains(row[3], body),
      )
      expect(
        index,
        `${type} under ${workspace} by ${actor} ${JSON.stringify(body ?? {})} in ${JSON.stringify(seen, null, 1)}`,
      ).toBeGreaterThanOrEqual(from)
      from = index + 1
    }
    return added
  }
}

/** A run with its root R in `active`, and everything closed when the test ends. */
export async function fixture(options: FixtureOptions = {}): Promise<Fixture> {
  const made = new Fixture(options)
  await made.open()
  const draft = { owner: 'ux', highway: 'off', ...options.run } as const
  // A run belongs to somebody who is known.
  if (options.users === 'house') unwrap(await made.runtime.users.accept({ user: draft.owner, method: 'password' }))
  made.run = unwrap(await made.runtime.start(draft))
  made.root = made.run.coordinator as AgentHandle
  made.name(made.root.workspace, 'R')
  made.run.subscribe(notice => made.notices.push(notice))
  if (options.active !== false) unwrap(await made.root.started())
  await made.mark()
  onTestFinished(async () => {
    await made.runtime.close()
    await made.trail.close()
  })
  return made
}

/** The same with a worker W at work; what comes next is new. */
export async function withWorker(options: FixtureOptions = {}, draft: Partial<WorkspaceDraft> = {}): Promise<Fixture> {
  const made = await fixture(options)
  await made.worker('W', draft)
  await made.mark()
  return made
}

/** The code and reason of a refusal, as tests compare them. */
export function refused(result: Result<unknown>): string {
  if (result.ok) return 'ok'
  const { code, details } = result.error
  return details.reason === undefined || details.reason === code ? code : `${code}(${String(details.reason)})`
}
