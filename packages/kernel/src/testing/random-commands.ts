// Random commands for property tests: each is a few numbers, and becomes a command once there is a run whose objects it
// can name. Most make sense where they are asked, so that runs get somewhere; the rest is what the checks are for.
import type { WorkspaceId } from '@parley/core'
import { SIGNAL_TYPES } from '@parley/trail/events'
import fc from 'fast-check'
import type { AgentCommand, Command } from '../command.ts'
import type { Run } from '../run/run.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { withNotes } from './mail.ts'

/** Which command, and which of the possible choices inside it. */
export interface Step {
  readonly kind: number
  readonly picks: readonly number[]
}

const number = fc.noBias(fc.nat({ max: 9999 }))
export const anyStep: fc.Arbitrary<Step> = fc.record({
  kind: number,
  picks: fc.array(number, { minLength: 12, maxLength: 12 }),
})

/** A custom type that workers send each other, so that mail also goes sideways. */
export const { taxonomy: randomTaxonomy } = withNotes

type Without<C> = C extends { readonly caller: WorkspaceId } ? Omit<C, 'caller'> : never
type Asked = Without<AgentCommand> | Command
type Build = (choice: Choice, caller: Workspace, run: Run) => Asked

/** Takes one pick after the other. */
class Choice {
  readonly #picks: readonly number[]
  readonly #run: Run
  #next = 0

  constructor(run: Run, picks: readonly number[]) {
    this.#run = run
    this.#picks = picks
  }

  #pick(below: number): number {
    // The same numbers give other choices when they are used again.
    const pick = this.#picks[this.#next % this.#picks.length]! + 31 * this.#next
    this.#next++
    return pick % below
  }

  of<T>(...options: T[]): T {
    return options[this.#pick(options.length)]!
  }

  /** What makes sense, five times out of six. */
  mostly<T>(sensible: T, ...others: T[]): T {
    return this.#pick(6) > 0 ? sensible : this.of(...others)
  }

  sometimes(): boolean {
    return this.#pick(4) === 0
  }

  /** One that exists, the newest most often, and rarely one that does not. */
  id<Id extends string>(ids: Iterable<Id>): Id {
    const all = [...ids]
    const newest = all.at(-1) ?? ('unknown' as Id)
    return this.mostly(this.of(newest, newest, ...all), 'unknown' as Id, newest)
  }

  workspace(fits: (workspace: Workspace) => boolean = () => true): WorkspaceId {
    const all = [...this.#run.workspaces.values()]
    const fitting = all.filter(fits)
    return this.id((fitting.length > 0 ? fitting : all).map(({ id }) => id))
  }

  /** Whose affair the command is, mostly; otherwise anybody's. */
  caller(by: 'root' | 'agent'): Workspace | undefined {
    const all = [...this.#run.workspaces.values()]
    const root = this.#run.root!
    const atWork = all.filter(each => each !== root && (each.status === 'active' || each.status === 'blocked'))
    const delegates = atWork.filter(each => each.delegate)
    const fits = by === 'root' ? this.of(root, root, root, root, ...delegates) : this.of(...atWork)
    return this.mostly(fits ?? root, ...all, undefined as never)
  }
}

const payload = { format: 'markdown', content: 'text' }
const below = (caller: Workspace) => (each: Workspace) => each.parent === caller

const emit: Build = (choice, caller) => {
  const sensible = {
    idle: ['started', 'ready', 'failed'],
    active: ['started', 'started', 'blocked', 'complete', 'checkpoint', 'escalation'],
    blocked: ['started', 'started', 'failed', 'complete'],
  } as Record<string, string[]>
  const fits = choice.of(...(sensible[caller.status] ?? ['complete']))
  const type = choice.mostly(fits, ...SIGNAL_TYPES, 'paused') as never
  const reason = choice.mostly('why', '', undefined as never)
  const ref = choice.sometimes() ? { ref: choice.workspace() } : {}
  return { type: 'emit', draft: { type, ...(reason !== undefined && { reason }), ...ref } }
}
const send: Build = (choice, caller, run) => {
  const down = caller.parent === null || (caller.delegate && choice.sometimes())
  const sideways = !down && choice.sometimes()
  const fits = down ? choice.of('directive', 'feedback') : sideways ? 'note' : 'query'
  const to = down
    ? choice.workspace(below(caller))
    : sideways
      ? choice.workspace(each => caller.rights?.has(each.id) ?? false)
      : choice.mostly(caller.parent!.id, choice.workspace())
  const draft = {
    to,
    type: choice.mostly(fits, 'directive', 'query', 'note', 'unknown'),
    payload: choice.mostly<object>(payload, { format: 'markdown' }),
    priority: choice.of('normal', 'urgent', 'blocking'),
    ...(choice.sometimes() && { in_reply_to: choice.id(run.envelopes.keys()) }),
    ...(choice.sometimes() && {
      rights: [{ type: choice.of('send', 'send_once'), target: choice.workspace() }],
    }),
  }
  return { type: 'send', draft }
}
const checkpoint: Build = (choice, caller, run) => {
  const artifacts = choice.sometimes() ? { artifacts: [{ path: 'a' }, { path: 'b' }] } : {}
  const draft = {
    type: choice.mostly(caller.role === 'observer' ? 'observation' : 'artifact', 'observation', 'unknown'),
    payload: { content: 'part', ...artifacts },
    intent: choice.mostly('show', ''),
    parent: choice.mostly(caller.register?.at(-1) ?? null, null, ...run.checkpoints.keys()),
    status: choice.of('final', 'provisional'),
    confidence: choice.of('high', 'low'),
  }
  return { type: 'checkpoint', draft }
}
const budgetOf = (choice: Choice) => ({
  compute_budget: choice.of<object>(
    { token_limit: choice.of(100, 1000) },
    { compute_timeout: choice.of(5, 50) },
    { wall_time_limit: choice.of(5, 50) },
  ),
  ...(choice.sometimes() && {
    storage_budget: { checkpoint_limit: choice.of(500, 5000), trail_limit: 5000 },
  }),
  ...(choice.sometimes() && { network_budget: { bandwidth_limit: choice.of(500, 5000) } }),
  ...(choice.sometimes() && { cost_limit: choice.of(1, 10) }),
})
const raise: Build = choice => ({
  type: 'raise_budget',
  workspace: choice.workspace(each => each.budget !== undefined),
  limits: choice.mostly<object>(budgetOf(choice), { cost_limit: 20 }, {}),
})
const create: Build = (choice, _caller, run) => {
  const draft = {
    role: choice.mostly(choice.of('worker', 'worker', 'worker', 'observer'), 'unknown', 'coordinator'),
    resources: ['**'],
    ...(choice.sometimes() && { parent: choice.workspace(each => each.delegate) }),
    ...(choice.of(0, 1) && { directive: payload }),
    ...(choice.sometimes() && { delegate: true }),
    ...(choice.sometimes() && { visibility: [choice.workspace()] }),
    ...(choice.sometimes() && { memory: { key: 'value' }, context: { about: 'it' } }),
    ...(choice.of(0, 1) && { task: choice.id(run.tasks.keys()) }),
    ...(choice.sometimes() && { owner: choice.mostly('uy', 'system') }),
    ...(choice.sometimes() && { group: 'g' }),
    ...(choice.sometimes() && { budget: budgetOf(choice) }),
    ...(choice.sometimes() && { timeout: choice.of(5, 50), liveness_interval: choice.of(3, 20) }),
  }
  return { type: 'create_workspace', draft }
}
const topology: Build = choice => {
  const workspace = choice.workspace()
  const priority = choice.mostly(choice.of('critical', 'background'), 'high')
  const orphan = choice.workspace(each => each.orphan)
  return choice.of<Asked>(
    { type: 'grant_visibility', workspace, target: choice.workspace(), reason: choice.mostly('why', '') },
    { type: 'change_priority', workspace, priority },
    { type: 'transfer_ownership', workspace, owner: choice.mostly(choice.of('ux', 'uy'), 'system') },
    { type: 'reparent', workspace: orphan, parent: choice.workspace(each => each.delegate) },
    choice.mostly<Asked>({ type: 'batch_priority', group: 'g', priority }, { type: 'batch_abort', group: 'g' }),
    { type: 'report_degraded', reason: 'odd', scope: 'systemic', action: 'wait' },
  )
}
const submitGraph: Build = choice => ({
  type: 'submit_graph',
  tasks: [
    { key: 'a', name: 'a', description: 'a', priority: choice.of('normal', 'urgent') },
    { key: 'b', name: 'b', description: 'b', depends_on: choice.mostly(['a'], [], ['b'], ['unknown']) },
  ],
})
const addTasks: Build = (choice, _caller, run) => {
  const graph = choice.id(run.graphs.keys())
  const known = run.graphs.get(graph)?.tasks ?? []
  const parent = choice.sometimes() ? { parent_task: choice.id(known) } : {}
  const draft = { name: 'c', description: 'c', depends_on: [choice.id(known)], ...parent }
  return { type: 'add_tasks', graph, tasks: [draft] }
}
const write: Build = choice => {
  const workspace = choice.mostly(undefined, choice.workspace() as never)
  const value = choice.of<unknown>(1, 'text', undefined)
  const key = choice.mostly(choice.of('a', 'b'), '')
  return { type: 'write_memory', workspace, key, ...(value !== undefined && { value }) }
}
const read: Build = (choice, _caller, run) => {
  const kind = choice.of('workspace', 'checkpoint', 'artifact', 'envelope', 'directive', 'context')
  const ids = {
    checkpoint: run.checkpoints.keys(),
    artifact: run.artifacts.keys(),
    envelope: run.envelopes.keys(),
  }
  const id = kind in ids ? choice.id<string>(ids[kind as keyof typeof ids]) : choice.workspace()
  return { type: 'read', kind, id }
}
const onWorkspace: Build = (choice, caller) => {
  const paused = choice.workspace(each => each.status === 'suspended')
  const waiting = choice.workspace(each => each.directiveDraft !== undefined)
  const any = choice.workspace(below(caller))
  return choice.of<Asked>(
    { type: 'suspend', workspace: any, reason: choice.mostly('pause', '') },
    { type: 'resume', workspace: paused },
    { type: 'resume', workspace: paused },
    { type: 'dispatch', workspace: waiting },
    { type: 'dispatch', workspace: waiting },
    choice.mostly<Asked>({ type: 'resume', workspace: paused }, { type: 'abort', workspace: any }),
    choice.of<Asked>(
      {
        type: 'migrate',
        workspace: any,
        newAgent: choice.mostly(`next#${choice.of(1, 2, 3)}`, ''),
        reason: 'move',
      },
      { type: 'terminate', workspace: any, gracePeriod: choice.mostly(1000, 0), reason: 'enough' },
      { type: 'set_authority', workspace: any },
      { type: 'revoke_visibility', workspace: any },
    ),
  )
}
const integrate: Build = (choice, caller) => {
  const source = choice.workspace(each => each.status === 'integrating' && each.parent === caller)
  const decision = choice.mostly('accept', 'revise', 'reject') as 'accept'
  return choice.of<Asked>(
    { type: 'begin_integration', source, strategy: choice.of('direct', 'layered', 'evaluated') },
    { type: 'decide_integration', source, decision, strategy: choice.of('direct', 'layered') },
    { type: 'decide_integration', source, decision },
    { type: 'fail_integration', source },
  )
}
/** What failed is salvaged, by whoever may, and what is open is judged. */
const onSalvage: Build = (choice, _caller, run) => {
  const failed = choice.workspace(each => each.status === 'failed' && each.register !== undefined)
  const open = [...run.salvages.values()].filter(({ result, aborted }) => result === undefined && aborted === undefined)
  const source = choice.id(open.map(each => each.source.id))
  const conflicts = open.flatMap(each => each.conflicts.filter(({ outcome }) => outcome === undefined))
  const found = { type: 'content_overlap', resources: ['a.txt'], description: 'they differ' }
  const strategy = choice.of('coordinator_resolve', 'coordinator_resolve', 'escalate', 'agent_rework')
  const conflict = choice.id(conflicts.map(({ id }) => id))
  return choice.of<Asked>(
    { type: 'salvage', source: failed },
    { type: 'salvage', source: failed, strategy: choice.mostly('evaluated', 'direct') },
    { type: 'report_conflicts', source, conflicts: choice.of([found], [found, found]) },
    { type: 'resolve_conflict', source, conflict, strategy, resolution: 'so' },
    { type: 'merge_salvage', source, result: { tree: 2 } },
    choice.of<Asked>({ type: 'discard_salvage', source }, { type: 'fail_integration', source }),
  )
}
const onConflict: Build = (choice, caller, run) => {
  const judged = choice.workspace(each => each.integration?.strategy === 'evaluated')
  const source = choice.workspace(each => each.status === 'conflicted' && each.parent === caller)
  const open = run.workspaces.get(source)?.conflicts?.filter(({ outcome }) => outcome === undefined) ?? []
  const type = choice.mostly(choice.of('content_overlap', 'constraint_breach'), 'taste')
  const found = { type, resources: ['a.txt'], description: 'they differ' }
  const strategy = choice.mostly(choice.of('coordinator_resolve', 'coordinator_resolve', 'escalate'), 'agent_rework')
  const conflict = choice.id(open.map(({ id }) => id))
  const result = choice.sometimes() ? { result: { tree: 1 } } : {}
  return choice.of<Asked>(
    { type: 'begin_integration', source: judged, strategy: 'evaluated' },
    { type: 'report_conflicts', source: judged, conflicts: choice.of([found], [found, found]) },
    { type: 'resolve_conflict', source, conflict, strategy, resolution: choice.mostly('so', ''), ...result },
    { type: 'resolve_conflict', source, conflict, strategy, resolution: 'so' },
  )
}
const onTask: Build = (choice, _caller, run) => {
  const failed = [...run.tasks.values()].filter(({ status }) => status === 'failed').map(({ id }) => id)
  const task = choice.id(run.tasks.keys())
  return choice.of<Asked>(
    { type: 'retry_task', task: choice.id(failed) },
    { type: 'cancel_task', task },
    choice.of<Asked>({ type: 'change_task', task }, { type: 'remove_task', task }),
  )
}
const onRight: Build = (choice, _caller, run) => {
  const right = choice.mostly(choice.of('send', 'send_once'), 'receive')
  const grant: Asked = { type: 'grant_right', right, holder: choice.workspace(), target: choice.workspace() }
  return choice.of<Asked>(grant, grant, {
    type: 'revoke_right',
    right: choice.id(run.rights.keys()),
    reason: 'over',
  })
}
const usageOf = (choice: Choice) =>
  choice.mostly<object>({ tokens: choice.of(9, 90), cost: 0.1 }, { context: choice.of(0, 9) }, { tokens: -1 })
const byRuntime: Build = (choice, _caller, run) => {
  const waiting = [...run.signalling].flatMap(each => each.waiting ?? [])
  const signal = choice.mostly(waiting.at(0), ...waiting)
  const known = [...run.workspaces.values()].flatMap(each =>
    [...(each.known?.keys() ?? [])].map(id => ({ id, to: each.id })),
  )
  const arrived = choice.mostly(signal, ...known)
  const moving = choice.workspace(each => each.migration !== undefined)
  const migration = { workspace: moving, agent: run.workspaces.get(moving)?.migration?.agent ?? 'nobody' }
  const onTheirWay = [...run.workspaces.values()].flatMap(each => [...(each.incoming?.values() ?? [])].flat())
  const envelope = choice.mostly(choice.id(onTheirWay), choice.id(run.envelopes.keys()))
  return choice.of<Asked>(
    { type: 'arrive', envelope },
    { type: 'arrive', envelope },
    choice.mostly<Asked>({ type: 'arrive', envelope }, { type: 'exhaust', envelope }),
    choice.mostly<Asked>(
      { type: 'complete_migration', ...migration },
      { type: 'fail_migration', ...migration, error: 'no such program' },
    ),
    choice.of<Asked>({ type: 'due' }, { type: 'meter', workspace: choice.workspace(), ...usageOf(choice) }),
    arrived
      ? { type: 'arrive_signal', signal: arrived.id, to: arrived.to }
      : { type: 'bind_failed', workspace: choice.workspace() },
  )
}

const consume: Build = () => ({ type: 'consume' })
const changeCheckpoint: Build = (choice, _caller, run) => ({
  type: 'change_checkpoint',
  checkpoint: choice.id(run.checkpoints.keys()),
})

const BY_AGENT = [
  ...[emit, emit, emit, emit, emit, send, send, checkpoint, checkpoint, checkpoint],
  ...[write, read, consume, changeCheckpoint, byRuntime, byRuntime],
]
const BY_ROOT = [
  ...[send, send, create, create, submitGraph, addTasks, onWorkspace, onWorkspace, onWorkspace],
  ...[integrate, integrate, integrate, onTask, onTask, onRight, emit, read, byRuntime, byRuntime],
  ...[topology, topology, onConflict, onSalvage, onSalvage, raise],
]

/** The run's end, asked for rarely. */
const ENDS: readonly Command[] = [{ type: 'close' }, { type: 'stop' }]

export function commandOf(run: Run, { kind, picks }: Step): Command {
  if (kind > 9980) return ENDS[kind % 2]!
  const choice = new Choice(run, picks)
  const by = kind % 2 === 0 ? 'root' : 'agent'
  const builders = by === 'root' ? BY_ROOT : BY_AGENT
  const build = builders[(kind >> 1) % builders.length]!
  const caller = choice.caller(by)
  const asked = build(choice, caller ?? run.root!, run)
  return build === byRuntime
    ? (asked as Command)
    : ({ ...asked, caller: caller?.id ?? ('unknown' as WorkspaceId) } as AgentCommand)
}

/**
 * The commands that bring a new run to where teams usually are: a graph, workers with their mail, a delegate, an
 * observer.
 */
export function* prologue(run: Run): Generator<Command> {
  const caller = run.root!.id
  yield { type: 'emit', caller, draft: { type: 'started' } }
  yield { type: 'submit_graph', caller, tasks: [{ name: 'a', description: 'a' }] }
  const [task] = run.tasks.keys()
  for (const extra of [{ task }, {}, { delegate: true }, { role: 'observer' }]) {
    yield {
      type: 'create_workspace',
      caller,
      draft: { role: 'worker', resources: ['**'], directive: payload, ...extra },
    }
    const created = [...run.workspaces.values()].at(-1)!
    yield { type: 'emit', caller: created.id, draft: { type: 'ready' } }
    if (created.directive === null) yield { type: 'emit', caller: created.id, draft: { type: 'started' } }
    else {
      yield { type: 'dispatch', caller, workspace: created.id }
      yield { type: 'arrive', envelope: created.directive }
    }
  }
}
