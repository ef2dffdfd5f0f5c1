// What a gate is about, in words: label and text of each fact that a person needs to decide. `subject` has all of it.
import { commandText } from '@parley/agents'
import { limitsText } from '../plan/spending.ts'
import type { ProjectedGate } from '../projection/highway.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { WorkFacts, WorkspaceFacts } from '../run/facts.ts'
import type { Limits } from '../team/budget-fields.ts'
import { doerOf, type PlannedTask } from '../team/team.ts'
import { nameOf } from '../turn/identities.ts'
import type { GateFact } from './people-view.ts'

interface Subject {
  readonly description?: string
  readonly priority?: string
  readonly context?: Partial<WorkspaceFacts>
  readonly budget?: object
  readonly from?: string
  readonly type?: string
  readonly payload?: { readonly content: string }
  readonly strategy?: string
  readonly conflict?: { readonly description: string; readonly resources: readonly string[] }
  readonly proposal?: { readonly strategy: string; readonly resolution: string }
  readonly reason?: string
}

export function gateFacts(
  projection: RunProjection,
  { type, record, workspace }: ProjectedGate,
  planned: PlannedTask | undefined,
): GateFact[] {
  const subject = record.subject as Subject
  const about = workspace === null ? undefined : projection.workspaces.get(workspace)?.facts
  switch (type) {
    case 'task_approval':
      return rows([
        ...agentRows(projection, planned && doerOf(planned)),
        ['prompt', subject.description],
        ...planRows(planned),
        ['priority', subject.priority],
      ])
    case 'workspace_create': {
      const { agent, kind, attempt } = (subject.context ?? {}) as Partial<WorkFacts>
      const works = kind === 'work' || kind === 'team'
      return rows([
        ...agentRows(projection, agent && nameOf(agent)),
        ...(works ? ([['prompt', planned?.prompt], ...planRows(planned)] as const) : []),
        ['attempt', planned && attempt !== undefined ? `${attempt} of ${planned.attempts}` : undefined],
        ['limits', budgetText(subject.budget)],
      ])
    }
    case 'envelope_delivery':
      return rows([
        ['from', projection.workspaces.get(subject.from as never)?.facts?.agent ?? 'the coordinator'],
        ['to', about && nameOf(about.agent)],
        ['kind', subject.type],
        ['text', subject.payload?.content],
      ])
    case 'integration':
      return rows([['strategy', subject.strategy]])
    case 'conflict_resolution':
      return rows([
        ['conflict', subject.conflict?.description],
        ['files', subject.conflict?.resources.join(', ')],
        ['proposal', subject.proposal && `${subject.proposal.strategy}: ${subject.proposal.resolution}`],
      ])
    case 'workspace_abort':
      return rows([
        ['agent', about && nameOf(about.agent)],
        ['reason', subject.reason],
      ])
  }
}

type Row = readonly [label: string, text: string | undefined]

function rows(all: readonly Row[]): GateFact[] {
  return all.flatMap(([label, text]) => (text ? [{ label, text }] : []))
}

function agentRows(projection: RunProjection, name: string | undefined): readonly Row[] {
  const config = name === undefined ? undefined : projection.agentConfig(name)
  const runs = config && 'command' in config ? commandText(config.command as readonly string[]) : undefined
  return [
    ['agent', name],
    ['runs', runs],
  ]
}

function planRows(planned: PlannedTask | undefined): readonly Row[] {
  if (!planned) return []
  const { paths, check, review } = planned
  return [
    ['files', paths === undefined ? 'any may be changed' : paths.join(', ') || 'none may be changed'],
    ['check', check && commandText(check)],
    ['review', review && `by ${review.by}`],
  ]
}

/** Of a workspace's budget; the cost stands there by itself. */
function budgetText(budget: object | undefined): string {
  const { cost_limit, ...groups } = (budget ?? {}) as Record<string, object | number>
  return limitsText({ cost_limit, ...Object.assign({}, ...Object.values(groups)) } as Limits)
}
