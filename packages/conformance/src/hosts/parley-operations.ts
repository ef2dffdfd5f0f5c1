// The operations of the kit as Parley's handles carry them out: everything that agents, users and the operator ask to
// be done.
import { ok, type Result, type RunId, type WorkspaceId } from '@parley/core'
import { type AgentHandle, expandHighway, type RunHandle, type Runtime, type UserHandle } from '@parley/kernel'
import type { Trail, TrailStore } from '@parley/trail'
import type { Caller, Outcome } from '../host.ts'
import type { OperationName, Params, Value } from '../operations.ts'
import { done, outcomeOf, refusalOf } from './parley-answers.ts'

/**
 * What an operation is carried out with. Parameters are handed on as they came: refusing what is malformed is Parley's
 * affair.
 */
export interface Call {
  readonly runtime: Runtime
  readonly trail: Trail
  readonly store: TrailStore
  readonly caller: Caller
  /** The run that the call is about. */
  readonly run: RunHandle
  readonly params: Parameters
  readonly retention: number
  /** Told of each run that was started. */
  readonly onRun: (run: RunHandle) => void
  /** The handles that agents have got, by workspace. */
  readonly agents: Map<string, AgentHandle>
  /** The trail is slow: who has a handle asks by it, and does not wait for another. */
  readonly slow: boolean
}

/** Every field that some operation has. */
type Field = {
  [O in OperationName]: Params<O> extends infer P ? (P extends object ? keyof P : never) : never
}[OperationName]

/**
 * What a scenario handed in is anything at all, and what Parley makes of it is what is tested: `never` lets it pass
 * every parameter's type, and promises nothing.
 */
export type Parameters = { readonly [F in Field & string]: never }

export type Operate<O extends OperationName> = (call: Call) => Promise<Outcome<Value<O>>>
export type Table = { readonly [O in OperationName]?: Operate<O> }

/** The agent's handle of a caller; Parley checks an identity where one is claimed. */
export async function agentOf({ caller, run, agents, slow }: Call): Promise<Result<AgentHandle>> {
  if (caller.kind !== 'agent') return ok(run.coordinator as AgentHandle)
  const { workspace, identity } = caller
  if (identity !== undefined) return run.attach(workspace as WorkspaceId, identity)
  const held = slow ? agents.get(workspace) : undefined
  if (held) return ok(held)
  const found = (await run.worker(workspace as WorkspaceId)) as Result<AgentHandle>
  if (found.ok) agents.set(workspace, found.value)
  return found
}

export function userOf({ caller, runtime }: Call): UserHandle | undefined {
  return caller.kind === 'user' ? runtime.user(caller.user) : undefined
}

type Ask<T> = (agent: AgentHandle, params: Parameters, call: Call) => Promise<Result<T>> | Result<T>

/** An operation of agents; `value` makes its answer. */
export function byAgent<T, V>(ask: Ask<T>, value: (given: T) => V): (call: Call) => Promise<Outcome<V>> {
  return async call => {
    const agent = await agentOf(call)
    return agent.ok ? outcomeOf(await ask(agent.value, call.params, call), value) : refusalOf(agent.error)
  }
}

const nothing = () => undefined
const same = <T>(value: T): T => value
const never = (value: never): never => value

/** The same for what users may do as well. */
function byBoth<T>(
  ask: Ask<T>,
  asUser: (user: UserHandle, run: RunId, params: Parameters) => Promise<Result<unknown>>,
): (call: Call) => Promise<Outcome<unknown>> {
  const agents = byAgent(ask, nothing)
  return async call => {
    const user = userOf(call)
    return user ? outcomeOf(await asUser(user, call.run.id, call.params), nothing) : agents(call)
  }
}

type Change = 'suspend' | 'resume' | 'block' | 'unblock' | 'deactivate' | 'reactivate'

/** What the system, or a user who may, changes about a user. */
function userChange(change: Change): (call: Call) => Promise<Outcome<unknown>> {
  return async ({ runtime, caller, params }) => {
    const by = caller.kind === 'user' ? { by: caller.user } : {}
    return outcomeOf(await runtime.users[change](params.user, { ...by, reason: params.reason ?? 'asked for' }), nothing)
  }
}

export const OPERATIONS: Table = {
  async start_run({ runtime, params, onRun }) {
    const started = await runtime.start(params as never)
    if (started.ok) onRun(started.value)
    return outcomeOf(started, run => ({ run: run.id, root: run.coordinator.workspace }))
  },
  close_run: async ({ run }) => outcomeOf(await run.close(), nothing),
  stop_run: async ({ run }) => outcomeOf(await run.stop(), nothing),
  expand_highway: async ({ params }) => outcomeOf(expandHighway(params.highway), same),
  async clock_info({ runtime }) {
    const { source, tick, duration_unit: unit } = runtime.clock.info()
    return done({ source, tick, unit })
  },

  async authenticate({ runtime, params }) {
    const { user, proven } = params
    if (proven) return outcomeOf(await runtime.users.accept({ user, method: 'password' }), () => ({ user }))
    const claim = { entity: user, context: 'highway_access', reason: 'invalid_credential', source: 'test' }
    const recorded = await runtime.users.reject(claim)
    if (!recorded.ok) return refusalOf(recorded.error)
    return { ok: false, refused: 'PERMISSION_DENIED', reason: claim.reason }
  },
  suspend_user: userChange('suspend'),
  resume_user: userChange('resume'),
  block_user: userChange('block'),
  unblock_user: userChange('unblock'),
  deactivate_user: userChange('deactivate'),
  reactivate_user: userChange('reactivate'),
  async grant_capability({ runtime, caller, params }) {
    const by = caller.kind === 'user' ? caller.user : 'system'
    return outcomeOf(await runtime.users.grant(params.user, params.capability, by), nothing)
  },
  async revoke_capability({ runtime, caller, params }) {
    const by = caller.kind === 'user' ? caller.user : 'system'
    const { user, capability, reason } = params
    return outcomeOf(await runtime.users.revoke(user, capability, { by, reason }), nothing)
  },
  async get_user({ runtime, params }) {
    const user = runtime.users.get(params.user)
    return user ? done(user) : { ok: false, refused: 'NOT_FOUND' }
  },

  attach: async ({ run, params }) => outcomeOf(await run.attach(params.workspace, params.identity), nothing),
  emit_signal: byAgent(
    (agent, params) => agent.emit(params as never),
    ({ signal, ...said }) => ({ ...(signal !== undefined && { signal }), ...said }),
  ),
  send_envelope: byAgent((agent, params) => agent.send(params as never), same),
  seal_envelope: byAgent(
    (agent, params) => agent.seal(params as never),
    value => value as never,
  ),
  consume_envelope: byAgent(
    agent => agent.consume(),
    envelope => (envelope ? { ...envelope } : null),
  ),
  create_checkpoint: byAgent((agent, params) => agent.checkpoint(params as never), same),
  change_checkpoint: byAgent((agent, { checkpoint }) => agent.changeCheckpoint(checkpoint), never),
  write_memory: byAgent((agent, { key, value, workspace }) => agent.writeMemory(key, value, workspace), nothing),
  delete_memory: byAgent((agent, { key }) => agent.deleteMemory(key), nothing),

  create_workspace: byAgent(
    (agent, params) => agent.createWorkspace(params as never),
    created => ({ workspace: (created as AgentHandle).workspace }),
  ),
  dispatch_directive: byAgent((agent, { workspace }) => agent.dispatch(workspace), nothing),
  async abort(call) {
    const { workspace } = call.params
    const user = userOf(call)
    if (user) return outcomeOf(await user.abort(call.run.id, workspace), () => ({}))
    return byAgent(agent => agent.abort(workspace), same)(call)
  },
  suspend: byBoth(
    (agent, { workspace, reason }) => agent.suspend(workspace, reason),
    (user, run, { workspace, reason }) => user.suspend(run, workspace, reason),
  ),
  resume: byBoth(
    (agent, { workspace }) => agent.resume(workspace),
    (user, run, { workspace }) => user.resume(run, workspace),
  ),
  migrate: byAgent(
    (agent, { workspace, agent: next, reason }) => agent.migrate(workspace, next, reason) as Promise<Result<unknown>>,
    nothing,
  ),
  terminate: byAgent(
    (agent, { workspace, grace_period, reason }) => agent.terminate(workspace, grace_period, reason),
    nothing,
  ),
  consult: byAgent((agent, { workspace, reason }) => agent.consult(workspace, reason), same),
  set_authority: byAgent((agent, { workspace }) => agent.setAuthority(workspace), never),
  set_delegate: byAgent((agent, { workspace }) => agent.setDelegate(workspace), never),
  revoke_visibility: byAgent((agent, { workspace }) => agent.revokeVisibility(workspace), never),
  grant_visibility: byAgent(
    (agent, { workspace, target, reason }) => agent.grantVisibility(workspace, target, reason),
    nothing,
  ),
  change_priority: byAgent((agent, { workspace, priority }) => agent.changePriority(workspace, priority), nothing),
  batch_priority: byAgent((agent, { group, priority }) => agent.batchPriority(group, priority), nothing),
  batch_abort: byAgent((agent, { group }) => agent.batchAbort(group), nothing),
  raise_budget: byBoth(
    (agent, { workspace, limits }) => agent.raiseBudget(workspace, limits),
    (user, run, { workspace, limits }) => user.raiseBudget(run, workspace, limits),
  ),
  transfer_ownership: byBoth(
    (agent, { workspace, owner, reason }) => agent.transferOwnership(workspace, owner, reason),
    (user, run, { workspace, owner, reason }) => user.transferOwnership(run, workspace, owner, reason),
  ),
  reparent: byAgent((agent, { workspace, parent }) => agent.reparent(workspace, parent), nothing),
  report_degraded: byAgent((agent, params) => agent.reportDegraded(params as never), nothing),
  register_type: byAgent((agent, { registration }) => agent.registerType(registration), never),

  grant_right: byAgent(
    (agent, { type, holder, target }) => agent.grantRight(type, holder, target),
    right => ({ right }),
  ),
  revoke_right: byAgent((agent, { right, reason }) => agent.revokeRight(right, reason), nothing),

  submit_graph: byAgent((agent, { tasks, caused_by }) => agent.submitGraph(tasks, caused_by), same),
  add_tasks: byAgent((agent, { graph, tasks }) => agent.addTasks(graph, tasks), same),
  retry_task: byAgent((agent, { task, override }) => agent.retryTask(task, override), nothing),
  cancel_task: byAgent((agent, { task }) => agent.cancelTask(task), same),
  change_task: byAgent((agent, { task }) => agent.changeTask(task), never),
  remove_task: byAgent((agent, { task }) => agent.removeTask(task), never),

  begin_integration: byAgent((agent, { source, ...how }) => agent.beginIntegration(source, how), nothing),
  decide_integration: byAgent(
    (agent, { source, decision, ...how }) => agent.decideIntegration(source, decision, how),
    ({ state }) => ({ outcome: state }),
  ),
  fail_integration: byAgent((agent, { source }) => agent.failIntegration(source) as Promise<Result<unknown>>, nothing),
  report_conflicts: byAgent(
    (agent, { source, conflicts }) => agent.reportConflicts(source, conflicts),
    conflicts => ({ conflicts }),
  ),
  resolve_conflict: byAgent(
    (agent, { source, conflict, strategy, resolution, result }) =>
      agent.resolveConflict(source, conflict, strategy, resolution, result) as Promise<Result<unknown>>,
    nothing,
  ),
  begin_salvage: byAgent((agent, { source, ...how }) => agent.salvage(source, how), nothing),
  decide_salvage: byAgent(
    (agent, { source, decision, result }) =>
      decision === 'accept' ? agent.mergeSalvage(source, result) : agent.discardSalvage(source),
    nothing,
  ),

  async inject(call) {
    const user = userOf(call)
    return user ? outcomeOf(await user.inject(call.run.id, call.params as never), same) : onlyUsers()
  },
  async answer_gate(call) {
    const { gate, action, modifications, reason } = call.params
    const user = userOf(call)
    if (!user) return byAgent(agent => agent.answerGate(gate, action), nothing)(call)
    const run = call.run.id
    if (action === 'modify') return outcomeOf(await user.modify(run, gate, modifications, reason), nothing)
    if (action === 'reject') return outcomeOf(await user.reject(run, gate, reason), nothing)
    if (action === 'approve') return outcomeOf(await user.approve(run, gate, reason), nothing)
    const command = { type: 'resolve_gate', user: user.id, gate, action, modifications, reason } as const
    return outcomeOf(await call.run.submit(command), nothing)
  },
  async answer_escalation(call) {
    const user = userOf(call)
    const { signal, answer } = call.params
    return user ? outcomeOf(await user.answerEscalation(call.run.id, signal, answer), nothing) : onlyUsers()
  },
}

/** What only a user's handle has: whoever is none has no way to ask. */
function onlyUsers(): Outcome<never> {
  return { ok: false, refused: 'PERMISSION_DENIED', reason: 'unknown_identity' }
}
