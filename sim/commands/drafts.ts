// What agents hand in: mostly sensible, often enough wrong in one of the ways that the specs name.

import { CONFLICT_TYPES } from '@parley/trail/events'
import type { RunModel } from '../model/model.ts'
import type { WorkspaceModel } from '../model/records.ts'
import type { Dice } from '../random.ts'

type Draft = Record<string, unknown>

const ROLES = ['worker', 'worker', 'worker', 'observer', 'reviewer', 'senior_worker', 'auditor']
const RESOURCES = ['**', 'a.txt', 'src/']
const NOWHERE = 'ws_00000000000000000000000000'

export function workspaceDraft(dice: Dice, run: RunModel): Draft {
  const draft: Draft = { role: dice.chance(0.85) ? 'worker' : dice.pick(ROLES) }
  if (dice.chance(0.6)) draft.directive = payload(dice)
  if (dice.chance(0.15)) draft.dispatch = false
  if (dice.chance(0.3) && draft.role === 'worker') draft.delegate = true
  draft.resources = dice.chance(0.3) ? RESOURCES.filter(() => dice.chance(0.5)) : ['**']
  if (dice.chance(0.15)) draft.visibility = some(dice, [...run.workspaces.keys()])
  if (dice.chance(0.2)) draft.memory = { plan: dice.int(100), notes: ['a', 'b'] }
  if (dice.chance(0.2)) draft.context = { goal: 'sim', size: dice.int(9) }
  if (dice.chance(0.25)) draft.owner = dice.pick(['ux', 'ux', 'ux', 'uy', 'uy', 'uy', 'uz', 'stranger', 'worker'])
  if (dice.chance(0.1)) draft.priority = dice.pick(['critical', 'background', 'interactive', 'highest'])
  if (dice.chance(0.2)) draft.group = dice.pick(['team', 'crew'])
  if (dice.chance(0.12)) draft.timeout = dice.pick([1, 2000, 15_000, 60_000, 90_000, 1.5])
  if (dice.chance(0.12)) draft.liveness_interval = dice.pick([300, 2000, 30_000])
  if (dice.chance(0.25)) draft.budget = budgetDraft(dice)
  if (dice.chance(0.1)) draft.caused_by = dice.maybe(injected(run)) ?? 'env_none'
  if (dice.chance(0.15)) draft.parent = dice.maybe(delegates(run)) ?? NOWHERE
  if (dice.chance(0.03)) draft.parent = dice.maybe([...run.workspaces.keys()]) ?? NOWHERE
  if (dice.chance(0.05)) draft.task = dice.maybe([...run.tasks.keys()]) ?? 'task_none'
  if (dice.chance(0.08)) spoilWorkspace(dice, draft)
  return draft
}

/** Mail of people. */
function injected(run: RunModel): string[] {
  return [...run.envelopes.values()].filter(each => each.origin === 'human').map(each => each.id)
}

function spoilWorkspace(dice: Dice, draft: Draft): void {
  const spoils: (() => unknown)[] = [
    () => (draft.role = 'emperor'),
    () => (draft.role = 'coordinator'),
    () => delete draft.role,
    () => (draft.id = 'ws_mine'),
    () => (draft.status = 'active'),
    () => (draft.originator = 'ux'),
    () => (draft.parent = NOWHERE),
    () => (draft.visibility = [NOWHERE]),
    () => (draft.task = 'task_none'),
    () => (draft.caused_by = 'env_none'),
    () => (draft.directive = { format: 'markdown' }),
    () => (draft.context = () => 0),
    () => (draft.resources = ['', 3]),
    () => (draft.liveness_interval = -5),
  ]
  dice.pick(spoils)()
}

/** Limits in some dimensions. */
export function budgetDraft(dice: Dice): Draft {
  const budget: Draft = {}
  if (dice.chance(0.5)) budget.compute_budget = { token_limit: dice.pick([100, 1000, 5000]) }
  if (dice.chance(0.15)) budget.compute_budget = { compute_timeout: dice.pick([2000, 20_000]) }
  if (dice.chance(0.15)) budget.compute_budget = { wall_time_limit: dice.pick([2000, 20_000]) }
  if (dice.chance(0.3)) budget.cost_limit = dice.pick([1, 10.5])
  if (dice.chance(0.2)) budget.memory_budget = { context_limit: dice.pick([500, 4000]) }
  if (dice.chance(0.1)) budget.storage_budget = { trail_limit: 8000, checkpoint_limit: 4000 }
  if (dice.chance(0.1)) budget.network_budget = { bandwidth_limit: 6000 }
  if (dice.chance(0.03)) budget.cost_limit = -1
  return budget
}

export function payload(dice: Dice): Draft {
  const content = dice.chance(0.01) ? 'x'.repeat(70_000) : 'x'.repeat(dice.int(60))
  return {
    format: dice.pick(['markdown', 'json', 'patch']),
    content,
    ...(dice.chance(0.1) && { attachments: [{ kind: 'file', path: 'a.txt' }] }),
  }
}

export function envelopeDraft(dice: Dice, run: RunModel, from: WorkspaceModel): Draft {
  const to = receiver(dice, run, from)
  const draft: Draft = { to, type: envelopeType(dice, run, from, to), payload: payload(dice) }
  if (dice.chance(0.3)) draft.priority = dice.pick(['normal', 'urgent', 'blocking'])
  if (dice.chance(0.15)) draft.in_reply_to = dice.maybe([...run.envelopes.keys()]) ?? null
  if (dice.chance(0.25)) draft.rights = listedRights(dice, run, from, to)
  if (dice.chance(0.07)) spoilEnvelope(dice, draft, from)
  return draft
}

/** Mostly someone that the sender has a right to. */
function receiver(dice: Dice, run: RunModel, from: WorkspaceModel): string {
  const targets = [...run.rights.values()].filter(
    right =>
      right.holder === from.id &&
      right.target !== from.id &&
      run.isActive(right) &&
      (run.workspace(right.target).status !== 'integrating' || dice.chance(0.1)),
  )
  const once = targets.filter(each => each.type === 'send_once')
  const wanted = once.length > 0 && dice.chance(0.3) ? once : targets
  const right = dice.chance(0.92) ? dice.maybe(wanted) : undefined
  return right?.target ?? dice.maybe([...run.workspaces.keys()].filter(id => id !== from.id)) ?? NOWHERE
}

function envelopeType(dice: Dice, run: RunModel, from: WorkspaceModel, to: string): string {
  if (dice.chance(0.1)) return dice.pick(['directive', 'query', 'feedback', 'report', 'note', 'shout', ''])
  const downward = run.isAbove(from.id, to)
  if (downward) return dice.pick(['directive', 'feedback', 'directive', run.taxonomy === null ? 'feedback' : 'note'])
  if (run.isAbove(to, from.id)) return from.role === 'reviewer' ? 'report' : 'query'
  return run.taxonomy === null ? dice.pick(['query', 'directive', 'note']) : 'note'
}

/** Mostly rights that the sender has and that do not lead to the receiver. */
function listedRights(dice: Dice, run: RunModel, from: WorkspaceModel, to: string): Draft[] {
  const held = [...run.rights.values()].filter(
    right => right.holder === from.id && right.type !== 'receive' && right.target !== to && run.isActive(right),
  )
  return Array.from({ length: dice.between(1, 2) }, () => {
    const right = dice.chance(0.95) ? dice.maybe(held) : undefined
    if (right) return { type: right.type, target: right.target }
    return {
      type: dice.pick(['send', 'send', 'send_once', 'receive']),
      target: dice.maybe([...run.workspaces.keys()]) ?? NOWHERE,
    }
  })
}

function delegates(run: RunModel): string[] {
  return [...run.workspaces.values()].filter(each => each.delegate && each.status === 'active').map(each => each.id)
}

function spoilEnvelope(dice: Dice, draft: Draft, from: WorkspaceModel): void {
  const spoils: (() => unknown)[] = [
    () => (draft.to = NOWHERE),
    () => (draft.to = from.id),
    () => delete draft.to,
    () => delete draft.payload,
    () => (draft.payload = 'text'),
    () => (draft.id = 'env_mine'),
    () => (draft.from = 'someone'),
    () => (draft.from = from.id),
    () => (draft.timestamp = '2026-01-01T00:00:00.000000Z'),
    () => (draft.origin = 'human'),
    () => (draft.status = 'delivered'),
    () => (draft.priority = 'now'),
    () => (draft.in_reply_to = 'env_none'),
    () => (draft.type = 7),
    () => (draft.rights = [{ type: 'send', target: NOWHERE }]),
    () => (draft.extra = true),
  ]
  dice.pick(spoils)()
}

export function checkpointDraft(dice: Dice, workspace: WorkspaceModel): Draft {
  const own = {
    observer: 'observation',
    reviewer: 'review',
    senior_worker: 'decision',
    auditor: 'audit_finding',
  }
  const type = (own as Record<string, string>)[workspace.role] ?? 'artifact'
  const draft: Draft = {
    type: dice.chance(0.9) ? type : dice.pick(['artifact', 'observation', 'review', 'sculpture']),
    payload: { content: 'part', files_changed: some(dice, ['a.txt', 'b.txt', 'c.txt']) },
    intent: 'show what was done',
    parent: dice.chance(0.92)
      ? (workspace.register.at(-1) ?? null)
      : dice.pick([null, 'cp_none', workspace.register[0] ?? null]),
    status: dice.chance(0.5) ? 'final' : 'provisional',
    confidence: dice.pick(['high', 'medium', 'low']),
  }
  if (dice.chance(0.3)) (draft.payload as Draft).artifacts = [{ name: 'one' }, { name: 'two' }].slice(dice.int(2))
  if (dice.chance(0.2)) draft.resource_usage = { tokens_consumed: dice.int(1000), wall_time: 5, cost: 0.5 }
  if (dice.chance(0.1)) spoilCheckpoint(dice, draft)
  return draft
}

function spoilCheckpoint(dice: Dice, draft: Draft): void {
  const spoils: (() => unknown)[] = [
    () => (draft.id = 'cp_mine'),
    () => (draft.workspace = 'ws_mine'),
    () => (draft.intent = ''),
    () => (draft.confidence = 'total'),
    () => (draft.status = 'nearly'),
    () => delete draft.payload,
    () => (draft.payload = { content: 'part', artifacts: [{ artifact_id: 'art_mine' }] }),
    () => (draft.resource_usage = { tokens_consumed: -1 }),
  ]
  dice.pick(spoils)()
}

export function taskDrafts(dice: Dice, run: RunModel, parent: string | undefined): Draft[] {
  const count = dice.between(1, 4)
  const existing = [...run.tasks.keys()]
  return Array.from({ length: count }, (_, index) => {
    const draft: Draft = { key: `t${index}`, name: `task ${index}`, description: 'what is to be done' }
    const before = Array.from({ length: index }, (_, key) => `t${key}`)
    if (dice.chance(0.4)) draft.depends_on = some(dice, before)
    if (dice.chance(0.1) && existing.length > 0) draft.depends_on = [dice.pick(existing)]
    if (parent !== undefined) draft.parent_task = parent
    if (dice.chance(0.3)) draft.priority = dice.pick(['normal', 'elevated', 'urgent'])
    if (dice.chance(0.2)) draft.resource_estimate = { tokens: dice.int(500) }
    if (dice.chance(0.05)) draft.depends_on = [dice.pick(['t0', `t${count - 1}`, 'task_none'])]
    if (dice.chance(0.03)) draft.name = ''
    if (dice.chance(0.03)) draft.key = 't0'
    return draft
  })
}

export function some<T>(dice: Dice, items: readonly T[]): T[] {
  return items.filter(() => dice.chance(2 / Math.max(2, items.length)))
}

/** What an integrator finds against a merge. */
export function conflictReports(dice: Dice): unknown[] {
  return Array.from({ length: dice.between(1, 2) }, () => ({
    type: dice.chance(0.95) ? dice.pick(CONFLICT_TYPES) : 'quarrel',
    resources: ['a.txt'],
    description: 'both changed it',
  }))
}
