// Compares the kernel's live state of a run with the model that was folded from the same trail (W-REC-14, W-PORT-11).
// The first difference is told.

import { BUDGET_DIMENSIONS, type Budget } from '@parley/trail/events'
import type { Run } from '../../packages/kernel/src/run/run.ts'
import type { Workspace } from '../../packages/kernel/src/workspace/workspace.ts'
import type { RunModel } from '../model/model.ts'
import { isOver, type WorkspaceModel } from '../model/records.ts'
import { limitOf } from './overdue.ts'

export function difference(run: Run, model: RunModel): string | undefined {
  return (
    differ('seq', run.seq, model.seq) ??
    differ('root', run.root?.id, model.root?.id) ??
    sizes(run, model) ??
    first(run.workspaces.values(), workspace => workspaceDifference(workspace, model)) ??
    first(run.envelopes.values(), envelope => {
      const other = model.envelopes.get(envelope.id)
      const mine = [envelope.status, envelope.undeliverable ?? null, envelope.consumed]
      return differ(envelope.id, mine, other && [other.status, other.undeliverable, other.consumed])
    }) ??
    first(run.rights.values(), right => {
      const other = model.rights.get(right.id)
      const mine = [right.type, right.holder.id, right.target.id, right.status]
      return differ(right.id, mine, other && [other.type, other.holder, other.target, other.status])
    }) ??
    first(run.tasks.values(), task => {
      const other = model.tasks.get(task.id)
      const mine = [task.status, task.workspace, task.history, task.checkpoint]
      return differ(task.id, mine, other && [other.status, other.workspace, other.history, other.checkpoint])
    }) ??
    differ(
      'gates',
      gatesOf(run),
      [...model.gates.values()].map(gate => [gate.id, gate.handedOver]),
    ) ??
    differ(
      'guards',
      [...run.guards].map(([about, { fallback }]) => [about, fallback]),
      [...model.guards],
    ) ??
    differ(
      'escalations',
      [...run.escalations.values()].map(({ signal, answer }) => [signal, answer?.envelope ?? null]),
      [...model.escalations.values()].map(({ signal, answer }) => [signal, answer]),
    ) ??
    differ(
      'salvages',
      [...run.salvages.values()].map(({ source, target, checkpoint, conflicts, result, aborted }) => [
        [source.id, target.id, checkpoint, result ?? null, aborted ?? null],
        aborted === undefined ? conflicts.filter(each => each.outcome === undefined).map(each => each.id) : [],
      ]),
      [...model.salvages.values()].map(({ source, target, checkpoint, conflicts, result, aborted }) => [
        [source, target, checkpoint, result, aborted],
        aborted === null ? [...conflicts] : [],
      ]),
    ) ??
    differ('approved integrations', [...run.approved.keys()], [...model.approved]) ??
    differ(
      'batch aborts',
      [...run.batchAborts.values()].map(({ group, waiting }) => [group, waiting]),
      [...model.batchAborts],
    ) ??
    differ('users', usersOf(run.users.values()), usersOf(model.users.values())) ??
    differ('waiting signals', waitingOf(run), [...model.waiting].map(([pair, ids]) => `${pair}: ${ids.join()}`).sort())
  )
}

function gatesOf(run: Run): unknown[] {
  return [...run.gates.values()].map(({ id, handedOver }) => [id, handedOver ?? null])
}

function usersOf(
  users: Iterable<{ readonly id: string; readonly state: string; readonly capabilities: Iterable<string> }>,
): unknown[] {
  return [...users].map(({ id, state, capabilities }) => [id, state, [...capabilities].sort()])
}

function sizes(run: Run, model: RunModel): string | undefined {
  const open = [...model.workspaces.values()].filter(workspace => !isOver(workspace.status)).length
  const underway = [...model.envelopes.values()].filter(
    envelope => envelope.status === 'validated' && envelope.undeliverable === null,
  ).length
  return (
    differ('workspaces', run.workspaces.size, model.workspaces.size) ??
    differ('open workspaces', run.open, open) ??
    differ('envelopes', run.envelopes.size, model.envelopes.size) ??
    differ('envelopes on their way', run.undelivered, underway) ??
    differ('rights', run.rights.size, model.rights.size) ??
    differ('checkpoints', run.checkpoints.size, model.checkpoints.size) ??
    differ('artifacts', run.artifacts.size, model.artifacts.size) ??
    differ('graphs', run.graphs.size, model.graphs.size) ??
    differ('tasks', run.tasks.size, model.tasks.size)
  )
}

function workspaceDifference(workspace: Workspace, model: RunModel): string | undefined {
  const other = model.workspaces.get(workspace.id)
  return other
    ? differ(workspace.id, liveFacts(workspace), modelFacts(model, other))
    : `${workspace.id} is not on the trail`
}

function liveFacts(workspace: Workspace): unknown[] {
  const { inbox } = workspace
  return [
    workspace.status,
    workspace.parent?.id ?? null,
    (workspace.children ?? []).map(child => child.id),
    workspace.ready,
    inbox ? [...inbox.blocking, ...inbox.urgent, ...inbox.normal] : [],
    [...(workspace.incoming ?? [])].filter(([, ids]) => ids.length > 0),
    workspace.register ?? [],
    workspace.deliverable ?? null,
    [...(workspace.memory ?? [])],
    workspace.integration ? [workspace.integration.target.id, workspace.integration.checkpoint] : null,
    workspace.merging?.id ?? null,
    (workspace.merges ?? []).map(merge => merge.source),
    workspace.remembered ?? null,
    workspace.agent ?? null,
    workspace.migration?.agent ?? null,
    graceOf(workspace.termination),
    workspace.owner,
    workspace.originator,
    workspace.priority,
    workspace.orphan,
    [...new Set([workspace.id, ...(workspace.visibility ?? [])])].sort(),
    (workspace.conflicts ?? []).filter(each => each.outcome === undefined).map(each => each.id),
    [workspace.meter?.tokens ?? 0, workspace.meter?.cost ?? 0, workspace.meter?.context ?? 0],
    limitsOf(workspace),
    workspace.since,
    workspace.spent.active + workspace.spent.blocked + workspace.spent.conflicted,
  ]
}

function graceOf(termination: Workspace['termination']): unknown {
  if (!termination) return null
  const { since, period, paused, envelope } = termination
  return [since === undefined ? null : since + period * 1000 + paused, envelope ?? null]
}

function modelFacts(model: RunModel, workspace: WorkspaceModel): unknown[] {
  return [
    workspace.status,
    workspace.parent,
    workspace.children,
    workspace.ready,
    model.inboxOrder(workspace),
    [...workspace.channels],
    workspace.register,
    workspace.deliverable,
    [...workspace.memory],
    workspace.integration ? [workspace.integration.target, workspace.integration.checkpoint] : null,
    workspace.merging,
    workspace.merges,
    workspace.remembered,
    workspace.agent,
    workspace.successor,
    workspace.grace && [workspace.grace.end, workspace.grace.envelope],
    workspace.owner,
    workspace.originator,
    workspace.priority,
    workspace.orphan,
    [...workspace.visibility].sort(),
    [...workspace.conflicts],
    [workspace.usage.tokens, workspace.usage.cost, workspace.usage.context],
    limitsOf(workspace),
    workspace.since,
    workspace.spent,
  ]
}

function limitsOf(workspace: { readonly budget: Budget | undefined }): unknown[] {
  return BUDGET_DIMENSIONS.map(dimension => limitOf(workspace, dimension) ?? null)
}

function waitingOf(run: Run): string[] {
  const pairs = new Map<string, string[]>()
  for (const from of run.signalling) {
    for (const { id, to } of from.waiting ?? []) {
      const pair = `${from.id} ${to}`
      pairs.set(pair, [...(pairs.get(pair) ?? []), id])
    }
  }
  return [...pairs].map(([pair, ids]) => `${pair}: ${ids.join()}`).sort()
}

function differ(what: string, live: unknown, model: unknown): string | undefined {
  const [mine, other] = [JSON.stringify(live), JSON.stringify(model)]
  return mine === other ? undefined : `${what}: the runtime has ${mine}, the trail says ${other}`
}

function first<T>(items: Iterable<T>, check: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = check(item)
    if (found !== undefined) return found
  }
  return undefined
}
