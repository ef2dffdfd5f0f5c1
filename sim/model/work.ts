// What entries about workspaces, signals, mail, rights, checkpoints, tasks and integrations mean to the simulator's own
// model.

import { countsTowardsTimeout, works } from '../checks/overdue.ts'
import type { ModelFolds } from './highway.ts'
import type { RunModel } from './model.ts'
import { type EnvelopeModel, isOver, ticksOf, type WorkspaceModel } from './records.ts'
import { abortSalvage, completeSalvage, startSalvage } from './salvage.ts'
import { moveSuccession, noteFeedback, noteLost, noteRejection, noteTold } from './succession.ts'

const PAUSES = ['suspended', 'migrating']

export const workFolds: ModelFolds = {
  workspace_created: (run, body, entry) => {
    const workspace: WorkspaceModel = {
      id: body.workspace_id,
      role: body.role,
      parent: body.parent,
      parents: body.parent === null ? [] : [body.parent],
      owner: body.owner,
      owners: [body.owner],
      originator: body.originator,
      delegate: body.delegate,
      visibility: new Set(body.visibility_set),
      resources: body.authority_set.resources,
      group: body.group ?? null,
      timeout: body.timeout,
      livenessInterval: body.liveness_interval ?? null,
      created: ticksOf(entry),
      priority: body.priority,
      budget: body.budget,
      orphan: false,
      since: ticksOf(entry),
      spent: 0,
      wall: 0,
      lastEntry: ticksOf(entry),
      lastActivity: entry.timestamp,
      usage: { tokens: 0, cost: 0, context: 0 },
      warned: new Set(),
      conflicts: new Set(),
      task: body.task_ref ?? null,
      directive: body.directive ?? null,
      dispatches: takeDirective(run, body.workspace_id),
      children: [],
      agent: body.agent ?? null,
      successor: null,
      grace: null,
      status: 'idle',
      remembered: null,
      ready: false,
      inbox: [],
      channels: new Map(),
      register: [],
      deliverable: null,
      memory: new Map(),
      integration: null,
      merging: null,
      merges: [],
      files: new Map(),
    }
    run.workspaces.set(workspace.id, workspace)
    if (body.parent === null) {
      run.root = workspace
      run.taxonomy = body.taxonomy_id ?? null
    } else run.workspace(body.parent).children.push(workspace.id)
    for (const [id, { kind, value }] of run.staged) {
      if (kind !== 'memory') continue
      workspace.memory.set((value as { key: string }).key, id)
      run.staged.delete(id)
    }
  },
  workspace_state_changed: (run, body, entry) => {
    const workspace = run.workspace(body.workspace_id)
    const passed = ticksOf(entry) - workspace.since
    if (countsTowardsTimeout(workspace.status)) workspace.spent += passed
    if (works(workspace)) workspace.wall += passed
    moveSuccession(workspace, body.to_state, ticksOf(entry))
    workspace.since = ticksOf(entry)
    workspace.status = body.to_state
    workspace.remembered = PAUSES.includes(body.to_state) ? body.from_state : null
    if (isOver(body.to_state)) end(run, workspace)
  },
  signal_emitted: (run, body, { actor, workspace }) => {
    const from = run.workspace(body.from)
    if (body.type === 'ready') from.ready = true
    const receipt = body.type === 'acknowledged' && actor === 'protocol'
    const notice = body.type === 'failed' && actor === 'protocol' && body.reason === 'delivery_exhausted'
    const envelope = receipt || notice ? run.envelopes.get(body.ref ?? '') : undefined
    if (receipt && envelope?.status === 'delivered') envelope.status = 'acknowledged'
    let to = envelope ? envelope.from : from.parent
    if (workspace === null || to === from.id || (to !== null && isOver(run.workspace(to).status))) to = null
    run.signals.set(body.signal_id, {
      id: body.signal_id,
      from: from.id,
      to,
      upward: !(receipt || notice),
      order: run.seq,
      type: body.type,
      deliveries: 0,
    })
    if (to !== null) append(run.waiting, `${from.id} ${to}`, body.signal_id)
  },
  signal_delivered: (run, body) => {
    const signal = run.signals.get(body.signal_id)
    if (signal) signal.deliveries++
    take(run.waiting, `${body.from} ${body.delivered_to}`, body.signal_id)
  },
  envelope_created: (run, body) => {
    noteFeedback(run, body)
    const object = run.staged.get(body.envelope_id)
    run.staged.delete(body.envelope_id)
    run.envelopes.set(body.envelope_id, {
      id: body.envelope_id,
      from: body.from,
      to: body.to,
      type: body.type,
      priority: body.priority,
      origin: body.origin,
      originator: body.originator,
      rights: (object?.value as { rights: EnvelopeModel['rights'] } | undefined)?.rights ?? [],
      status: 'validated',
      undeliverable: null,
      consumed: false,
      repeats: 0,
    })
    append(run.workspace(body.to).channels, body.from, body.envelope_id)
  },
  envelope_rejected: (run, body) => {
    noteRejection(run, body)
    // One that was accepted before was rejected at its gate.
    if (body.to !== null && run.envelopes.has(body.envelope_id))
      take(run.workspace(body.to).channels, body.from, body.envelope_id)
    answerLost(run, body.envelope_id)
    run.envelopes.set(body.envelope_id, {
      id: body.envelope_id,
      from: body.from,
      to: body.to ?? '',
      type: body.type ?? '',
      priority: 'normal',
      origin: 'agent',
      originator: '',
      rights: [],
      status: 'rejected',
      undeliverable: null,
      consumed: false,
      repeats: 0,
    })
  },
  envelope_delivered: (run, body, entry) => {
    noteTold(run, body, ticksOf(entry))
    const envelope = run.envelopes.get(body.envelope_id)
    const receiver = run.workspace(body.to)
    if (!envelope) return
    envelope.status = 'delivered'
    take(receiver.channels, body.from, body.envelope_id)
    receiver.inbox.push(body.envelope_id)
  },
  envelope_redelivered: (run, body) => {
    const envelope = run.envelopes.get(body.envelope_id)
    if (envelope) envelope.repeats++
  },
  envelope_undeliverable: (run, body) => {
    const envelope = run.envelopes.get(body.envelope_id)
    if (!envelope) return
    envelope.undeliverable = body.reason
    noteLost(run, body)
    answerLost(run, body.envelope_id)
    take(run.workspace(body.to).channels, body.from, body.envelope_id)
  },
  port_right_created: (run, body) => {
    const { right_id: id, right_type: type, holder, target } = body
    run.rights.set(id, { id, type, holder, target, status: 'active' })
  },
  port_right_transferred: (run, body) => {
    const right = run.rights.get(body.right_id)
    if (right) right.holder = body.to_holder
  },
  port_right_revoked: (run, body) => {
    const right = run.rights.get(body.right_id)
    if (right) right.status = 'revoked'
  },
  port_right_consumed: (run, body) => {
    const right = run.rights.get(body.right_id)
    if (right) right.status = 'consumed'
  },
  checkpoint_created: (run, body) => {
    const { checkpoint_id: id, workspace, parent, status } = body
    const record = run.staged.get(id)?.value as CheckpointRecord | undefined
    run.staged.delete(id)
    const files = record?.type === 'observation' ? [] : (record?.payload.files_changed ?? [])
    run.checkpoints.set(id, { id, workspace, parent, status, files })
    for (const artifact of body.artifact_ids ?? []) run.artifacts.set(artifact, id)
    const owner = run.workspace(workspace)
    owner.register.push(id)
    if (status === 'final') owner.deliverable = id
  },
  graph_created: (run, body) => {
    run.graphs.set(body.graph_id, [])
  },
  task_created: (run, body) => {
    run.staged.delete(body.task_id)
    run.graphs.get(body.graph_id)?.push(body.task_id)
    run.tasks.set(body.task_id, {
      id: body.task_id,
      graph: body.graph_id,
      priority: body.priority,
      dependsOn: body.depends_on,
      parent: body.parent_task ?? null,
      status: 'draft',
      workspace: null,
      history: [],
      checkpoint: null,
    })
  },
  task_assigned: (run, body) => {
    const task = run.tasks.get(body.task_id)
    if (!task) return
    task.workspace = body.workspace_id
    task.history.push(body.workspace_id)
  },
  task_status_changed: (run, body) => {
    const task = run.tasks.get(body.task_id)
    if (!task) return
    task.status = body.to_status
    if (body.to_status === 'pending') task.checkpoint = null
    if (['pending', 'integrated', 'cancelled'].includes(body.to_status)) task.workspace = null
  },
  task_completed: (run, body) => {
    const task = run.tasks.get(body.task_id)
    if (task) task.checkpoint = body.checkpoint_id
  },
  integration_started: (run, body) => {
    if (body.mode === 'salvage') return startSalvage(run, body)
    run.workspace(body.source).integration = {
      target: body.target,
      checkpoint: body.checkpoint_ref ?? null,
      strategy: body.strategy,
    }
    run.workspace(body.target).merging = body.source
    run.approved.delete(body.source)
  },
  integration_completed: (run, body, entry) => {
    if (body.mode === 'salvage') return completeSalvage(run, body, entry)
    const target = run.workspace(body.target)
    target.merges.push(body.source)
    const { checkpoint } = run.workspace(body.source).integration ?? {}
    for (const file of run.checkpoints.get(checkpoint ?? '')?.files ?? []) target.files.set(file, ticksOf(entry))
    endIntegration(run, body.source, body.target)
  },
  integration_aborted: (run, body) =>
    body.mode === 'salvage' ? abortSalvage(run, body) : endIntegration(run, body.source, body.target),
}

function takeDirective(run: RunModel, workspace: string): boolean {
  for (const [id, { kind, value }] of run.staged) {
    const directive = value as { workspace?: string; dispatch?: boolean }
    if (kind !== 'directive' || directive.workspace !== workspace) continue
    run.staged.delete(id)
    return directive.dispatch === true
  }
  return false
}

function endIntegration(run: RunModel, source: string, target: string): void {
  run.workspace(source).integration = null
  if (run.workspace(target).merging === source) run.workspace(target).merging = null
}

/** What waits for it is dropped, but for what its living children said: they may get another parent (W-SIG-11). */
function end(run: RunModel, workspace: WorkspaceModel): void {
  for (const pair of run.waiting.keys()) {
    const [from, to] = pair.split(' ') as [string, string]
    const sender = run.workspace(from)
    const survives = sender.parent === workspace.id && !isOver(sender.status)
    if (to === workspace.id && !survives) run.waiting.delete(pair)
    if (from === workspace.id && to === workspace.parent && isOver(run.workspace(to).status)) run.waiting.delete(pair)
  }
  run.approved.delete(workspace.id)
  for (const { signal, workspace: from } of run.escalations.values())
    if (from === workspace.id) run.escalations.delete(signal)
}

function answerLost(run: RunModel, envelope: string): void {
  for (const escalation of run.escalations.values()) if (escalation.answer === envelope) escalation.answer = null
}

interface CheckpointRecord {
  readonly type: string
  readonly payload: { readonly files_changed?: readonly string[] }
}

function append(map: Map<string, string[]>, key: string, item: string): void {
  const list = map.get(key)
  if (list) list.push(item)
  else map.set(key, [item])
}

function take(map: Map<string, string[]>, key: string, item: string): void {
  const list = map.get(key)
  const index = list?.indexOf(item) ?? -1
  if (!list || index < 0) return
  list.splice(index, 1)
  if (list.length === 0) map.delete(key)
}
