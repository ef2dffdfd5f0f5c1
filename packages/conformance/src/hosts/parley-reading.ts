// The kit's reading operations on Parley: objects, structures and the trail. The runtime reads past access rules, by
// the coordinator's eyes, who sees everything.
import { formatTimestamp, type GraphId, type Result, type RunId, type TaskId, type WorkspaceId } from '@parley/core'
import type {
  AgentHandle,
  EnvelopeView as ParleyEnvelope,
  WorkspaceView as ParleyWorkspace,
  RunHandle,
} from '@parley/kernel'
import { CausalOrder, type ProposedEntry, type QueryPage, type Entry as TrailEntry, views } from '@parley/trail'
import { type Outcome, Unsupported } from '../host.ts'
import type { TopologyQuestion, TrailView, TrailWatch } from '../operations.ts'
import type { EnvelopeView, TrailPage, WorkspaceView } from '../views.ts'
import { done, entryOf, outcomeOf, refusalOf } from './parley-answers.ts'
import { agentOf, byAgent, type Call, type Parameters, type Table, userOf } from './parley-operations.ts'

const same = <T>(value: T): T => value
const list = <T>(values: readonly T[]): readonly T[] => values

export const READING: Table = {
  list_gates: async ({ run }) => done(await run.gates()),
  list_escalations: async ({ run }) => done(await run.escalations()),
  get_workspace: byAgent((agent, { workspace }) => agent.look(workspace), workspaceView),
  async get_envelope(call) {
    const read = await byAgent((agent, { envelope }) => agent.readEnvelope(envelope), same)(call)
    return read.ok ? done(await envelopeView(call.run, read.value)) : read
  },
  get_checkpoint: byAgent(
    (agent, { checkpoint }) => agent.readCheckpoint(checkpoint),
    record => ({ ...record }),
  ),
  get_artifact: byAgent(
    (agent, { artifact }) => agent.readArtifact(artifact),
    found => ({ ...found }),
  ),
  read_context: byAgent((agent, { workspace }) => agent.readContext(workspace), same),
  read_memory: byAgent((agent, { key, workspace }) => agent.readMemory(key, workspace), same),
  get_task: byAgent(
    (agent, { task }) => agent.task(task),
    task => ({ ...task, resource_estimate: estimate(task) }),
  ),
  get_graph: byAgent(
    (agent, { graph }) => agent.graph(graph),
    graph => ({ ...graph, tasks: graph.tasks.map(task => ({ ...task, resource_estimate: estimate(task) })) }),
  ),
  list_dispatchable: byAgent(
    (agent, { graph }) => agent.dispatchable(graph),
    tasks => tasks.map(task => ({ ...task, resource_estimate: estimate(task) })),
  ),
  list_unresolvable: byAgent(
    (agent, { graph }) => agent.unresolvable(graph),
    tasks => tasks.map(task => ({ ...task, resource_estimate: estimate(task) })),
  ),
  async get_thread(call) {
    const read = await byAgent((agent, { envelope }) => agent.thread(envelope), list)(call)
    if (!read.ok) return read
    const views: EnvelopeView[] = []
    for (const envelope of read.value) views.push(await envelopeView(call.run, { ...envelope, payload: null }))
    return done(views)
  },
  list_rights: byAgent(async (agent, { holder, target }) => {
    const rights = await agent.rights()
    if (!rights.ok) return rights
    return okay(rights.value.filter(each => matches(each.holder, holder) && matches(each.target, target)))
  }, list),
  get_integration: byAgent((agent, { source }) => agent.integration(source), same),
  read_result: byAgent((agent, { source }) => agent.readResult(source), same),
  async topology(call) {
    const { question, about } = call.params
    if (call.caller.kind === 'runtime') return topology(call.run.topology, question, about)
    const agent = await agentOf(call)
    return agent.ok ? topology(agent.value.topology, question, about) : refusalOf(agent.error)
  },
  handle_reaches: byAgent(agent => okay(reached(agent)), list),

  async query_trail(call) {
    const user = userOf(call)
    if (user) return outcomeOf(await user.query(call.run.id, call.params), pageOf)
    if (call.caller.kind === 'runtime') return outcomeOf(await runTrail(call).query(call.params), pageOf)
    return byAgent((agent, params) => agent.query(params), pageOf)(call)
  },
  async aggregate_trail(call) {
    if (call.caller.kind === 'runtime')
      return outcomeOf(await runTrail(call).aggregate(call.params as never), ({ rows }) => rows)
    return byAgent(
      (agent, params) => agent.aggregate(params as never),
      ({ rows }) => rows,
    )(call)
  },
  async watch_trail(call) {
    const stop = new AbortController()
    const user = userOf(call)
    if (!user) return done(watching(call.run.watch(call.params, stop.signal), stop))
    return outcomeOf(await user.watch(call.run.id, call.params, stop.signal), pages => watching(pages, stop))
  },
  update_entry: async call => outcomeOf(runTrail(call).update(call.params.entry), same),
  delete_entry: async call => outcomeOf(runTrail(call).delete(call.params.entry), same),
  async verify_trail(call) {
    const report = await runTrail(call).verify()
    await recorded(call, report.violations)
    return done({ findings: report.findings })
  },
  async verify_local(call) {
    const report = await runTrail(call).verifyLocal(call.params.entries)
    await recorded(call, report.violations)
    return done({ findings: report.findings })
  },
  async compare_entries({ run, params }) {
    const entries = await run.entries()
    const place = (id: string) => entries.find(entry => entry.id === id)?.seq
    const [first, second] = [place(params.first), place(params.second)]
    if (first === undefined || second === undefined) return { ok: false, refused: 'NOT_FOUND' }
    return done({ relation: new CausalOrder(entries).relation(first, second) })
  },
  async tier_of({ trail, run, params }) {
    return done({ tier: (await trail.run(run.id).tierOf(params.seq)) ?? null })
  },
  async compact(call) {
    const { trail, run, runtime, params } = call
    const at = formatTimestamp(runtime.now())
    const compacted = await trail.storage.compactWorkspace(run.id, params.workspace, at)
    if (compacted.ok) await recorded(call, compacted.value.summaries)
    return outcomeOf(compacted, ({ archived }) => ({ archived }))
  },
  async delete_archive({ trail, store, run, runtime, params, retention }) {
    const archives = (await store.tiers.manifests(run.id)).filter(
      each => each.workspace === params.workspace && !each.deleted,
    )
    if (archives.length === 0) return { ok: false, refused: 'NOT_FOUND' }
    for (const { archive } of archives) {
      const deleted = await trail.storage.deleteArchive(run.id, archive, runtime.now(), { cold: retention })
      if (!deleted.ok) return refusalOf(deleted.error)
    }
    return done(undefined)
  },
  async take_snapshot(call) {
    const { runtime, run, params } = call
    return outcomeOf(await runtime.storage.snapshot(run.id, params.up_to), () => undefined)
  },
  trail_view: async call => view(call),
  async proof_report({ run, params }) {
    return outcomeOf(await run.proof(params.entry), ({ identity, message, actor, link, signature }) => ({
      identity: identity.status === 'verified',
      who: identity.name,
      message: message.status === 'verified',
      actor: actor !== '',
      chain: link.status === 'verified',
      signature: signature.status === 'verified',
    }))
  },
  async compare_runs({ trail, params }) {
    const runs = (params.runs as readonly RunId[]).map(run => trail.run(run))
    return outcomeOf(await views.compareRuns(runs), list)
  },
}

function runTrail({ trail, run }: Call) {
  return trail.run(run.id)
}

function okay<T>(value: T): Result<T> {
  return { ok: true, value }
}

function matches(id: string, wanted: string | undefined): boolean {
  return wanted === undefined || id === wanted
}

function pageOf({ entries, cursor, more }: QueryPage): TrailPage {
  return { entries: entries.map(entryOf), cursor, more }
}

/**
 * What the trail proposes is appended by the runtime; in the standing run once the run itself has ended or is halted.
 */
async function recorded({ runtime, run }: Call, entries: readonly ProposedEntry[]): Promise<void> {
  if (entries.length === 0) return
  const done = await runtime.reads.record(run.id, entries)
  if (!done.ok) throw done.error
}

function workspaceView(view: ParleyWorkspace): WorkspaceView {
  const { id, role, parent, status, owner, originator, visibility, authority, priority, mounts, delegate } = view
  const { directive, timeout, group, agent, children, inbox, memory, register, deliverable, meter } = view
  return {
    ...{ id, role, parent, status, owner, originator, visibility, authority, priority, mounts, delegate },
    ...{ directive, timeout, group, agent, children, inbox, memory, register, deliverable, meter },
    task_ref: view.task,
    limits: { ...view.limits },
  }
}

function estimate({ resource_estimate }: { readonly resource_estimate: object | null }) {
  return resource_estimate as Readonly<Record<string, number>> | null
}

async function envelopeView(
  run: RunHandle,
  { replies: _replies, consumed: _consumed, ...view }: ParleyEnvelope & { readonly payload: EnvelopeView['payload'] },
): Promise<EnvelopeView> {
  const { origin, originator } = await run.read(state => state.envelopes.get(view.id)!)
  return { ...view, origin, originator }
}

function watching(pages: AsyncGenerator<QueryPage>, stop: AbortController): TrailWatch {
  return {
    async next() {
      const page = await pages.next()
      if (page.done) throw new Error('The watch has ended.')
      return pageOf(page.value)
    },
    async stop() {
      stop.abort()
      await pages.return(undefined)
    },
  }
}

/** The workspaces of every agent that an object leads to, by its fields and by what its class makes of them. */
function reached(from: object): readonly string[] {
  const seen = new Set<object>()
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    for (let each: object | null = value; each && each !== Object.prototype; each = Object.getPrototypeOf(each))
      for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(each)))
        if (each === value || get) visit(Reflect.get(value, name))
  }
  visit(from)
  const agents = [...seen].filter((each): each is AgentHandle => 'workspace' in each && 'emit' in each)
  return [...new Set(agents.map(({ workspace }) => workspace))]
}

async function topology(
  asked: RunHandle['topology'],
  question: TopologyQuestion,
  about = '',
): Promise<Outcome<readonly string[]>> {
  const [workspace, task, graph] = [about as WorkspaceId, about as TaskId, about as GraphId]
  const ids = (found: Result<readonly { readonly id: string }[]>) => outcomeOf(found, each => each.map(({ id }) => id))
  switch (question) {
    case 'owned_by':
      return done(await asked.ownedBy(about))
    case 'originated_by':
      return done(await asked.originatedBy(about))
    case 'boundaries':
      return done(await asked.boundaries())
    case 'orphans':
      return done(await asked.orphans())
    case 'group':
      return outcomeOf(await asked.group(about), list)
    case 'upward':
      return outcomeOf(await asked.upward(workspace), list)
    case 'downward':
      return outcomeOf(await asked.downward(workspace), list)
    case 'siblings':
      return outcomeOf(await asked.siblings(workspace), list)
    case 'caused_alike':
      return outcomeOf(await asked.causedAlike(workspace), list)
    case 'visible_to':
      return outcomeOf(await asked.visibleTo(workspace), list)
    case 'viewers_of':
      return outcomeOf(await asked.viewersOf(workspace), list)
    case 'dependencies':
      return ids(await asked.dependencies(task))
    case 'dependents':
      return ids(await asked.dependents(task))
    case 'sources':
      return ids(await asked.sources(graph))
    case 'sinks':
      return ids(await asked.sinks(graph))
    case 'order':
      return ids(await asked.order(graph))
  }
}

async function view(call: Call): Promise<Outcome<TrailView>> {
  const trail = runTrail(call)
  const { view: name, workspace } = call.params as Parameters
  const entries = ({ entries: all }: { entries: readonly TrailEntry[] }) => ({ entries: all.map(entryOf) })
  switch (name) {
    case 'overview':
      return outcomeOf(await views.runOverview(trail), same)
    case 'timeline':
      return outcomeOf(await views.workspaceTimeline(trail, workspace), entries)
    case 'messages':
      return outcomeOf(await views.messageFlow(trail), same)
    case 'metrics':
      return outcomeOf(await views.compareRuns([trail]), ([metrics]) => metrics!)
    case 'highway':
      return outcomeOf(await views.highwayActivity(trail), entries)
    default:
      throw new Unsupported(`trail_view ${String(name)}`)
  }
}
