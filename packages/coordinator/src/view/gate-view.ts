// What waits for people, in their words: gates and questions of a run's projection as views.
import type { RunId, Timestamp, WorkspaceId } from '@parley/core'
import { MODIFIABLE } from '@parley/kernel'
import { coordinatorLimits } from '../limits.ts'
import { changeForms } from '../people/modifications.ts'
import { after, deadlineOf, isSalvage, type ProjectedGate } from '../projection/highway.ts'
import type { ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { WorkspaceFacts } from '../run/facts.ts'
import { doerOf } from '../team/team.ts'
import { shorten } from '../team/words.ts'
import { gateFacts } from './gate-facts.ts'
import type { GateView } from './people-view.ts'
import { offers } from './salvage-view.ts'
import { conflictText, proposalText } from './task-note.ts'

/** What holds nothing up comes last. */
export function oldestFirst(gates: readonly GateView[]): GateView[] {
  const rank = ({ remark, since }: GateView) => `${remark === true} ${since}`
  return gates.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1))
}

/** Until when the agent of a workspace waits in its turn for the answer to a question. */
export type Asks = (workspace: WorkspaceId, question: string) => Timestamp | undefined

export function gateViews(run: RunId, projection: RunProjection, asks: Asks): GateView[] {
  if (projection.over) return []
  const gates = [...projection.highway.gates.values()].map(gate => gateView(run, projection, gate))
  const questions = [...projection.highway.escalations.values()].map(
    ({ signal, workspace, reason, since }): GateView => {
      const about = projection.workspaces.get(workspace)
      const { timeout = null, fallback } = projection.facts?.questions ?? {}
      const waitsUntil = asks(workspace, reason)
      // What it told in its turn it does not wait for, even while it is blocked with a question of its own.
      const holdsUp = waitsUntil !== undefined || (about?.state === 'blocked' && reason === about.reason)
      return {
        id: signal,
        run,
        kind: 'question',
        type: 'escalation',
        question: reason,
        ...(!holdsUp && { remark: true as const }),
        ...(waitsUntil !== undefined && { goes_on: waitsUntil }),
        ...(about?.facts && { task: about.facts.task }),
        workspace,
        addressee: about?.owner ?? '',
        waits_for: 'person',
        since,
        ...(timeout !== null && fallback !== undefined && { deadline: after(since, timeout), fallback }),
        changes: [],
      }
    },
  )
  const intent = projection.facts?.intent
  const all = [...gates, ...questions, ...offers(run, projection)]
  return oldestFirst(all.map(each => ({ ...each, ...(intent !== undefined && { intent }) })))
}

function gateView(run: RunId, projection: RunProjection, gate: ProjectedGate): GateView {
  const about = gate.workspace === null ? undefined : projection.workspaces.get(gate.workspace)
  const task = (gate.task === null ? undefined : projection.tasks.get(gate.task)?.name) ?? about?.facts?.task
  const deadline = deadlineOf(gate)
  const unchanging = isSalvage(gate) && gate.type === 'integration'
  return {
    id: gate.id,
    run,
    kind: 'gate',
    type: gate.type,
    question: questionOf(projection, gate, task, about),
    ...(task !== undefined && { task }),
    ...(gate.workspace !== null && gate.type !== 'workspace_create' && { workspace: gate.workspace }),
    addressee: gate.addressee,
    waits_for: gate.handedOver === undefined ? 'person' : 'coordinator',
    since: gate.since,
    ...(deadline !== undefined && { deadline, fallback: gate.fallback }),
    ...(unchanging ? { changes: [] } : { changes: [...MODIFIABLE[gate.type]], change_forms: changeForms(gate.type) }),
    facts: gateFacts(projection, gate, task === undefined ? undefined : projection.plan.get(task)),
    subject: gate.record.subject,
  }
}

function questionOf(
  projection: RunProjection,
  { type, record }: ProjectedGate,
  id: string | undefined,
  about: ProjectedWorkspace | undefined,
): string {
  const planned = id === undefined ? undefined : projection.plan.get(id)
  const title = planned ? `"${planned.title}"` : 'this work'
  const doer = planned ? doerOf(planned) : 'an agent'
  const { paused } = record
  switch (type) {
    case 'task_approval':
      return asked(projection, doer) ?? `May ${doer} do ${title}?`
    case 'workspace_create': {
      const { context } = (paused.type === type ? paused.draft : {}) as { readonly context?: Partial<WorkspaceFacts> }
      const { kind = 'work on', agent = doer } = context ?? {}
      return `May ${agent} ${kind === 'work' || kind === 'team' ? 'start on' : kind} ${title}?`
    }
    case 'envelope_delivery':
      return `May this message reach the agent of ${title}?`
    case 'integration': {
      if (isSalvage({ record })) return `May what is left of ${title} be taken over?`
      const { files = [], outsideLinks = [] } = about?.checkpoints.findLast(each => each.final) ?? {}
      const links = outsideLinks.length === 0 ? '' : ` ${linksText(outsideLinks)}`
      return `May the work on ${title} be merged (${files.length === 1 ? 'one file' : `${files.length} files`})?${links}`
    }
    case 'conflict_resolution': {
      const conflicts = isSalvage({ record }) ? about?.salvage?.conflicts : about?.conflicts
      const open = conflicts?.find(({ settled }) => !settled)
      const of = `${title}: ${conflictText(projection, about, open)}`
      return paused.type === type ? `${of} ${proposalText(title, paused)}` : of
    }
    case 'workspace_abort':
      return `May the work on ${title} be ended?`
  }
}

function linksText(links: readonly string[]): string {
  const most = coordinatorLimits.namedLinks
  const more = links.length > most ? ` and ${links.length - most} more` : ''
  return `Links in it lead out of the project: ${links.slice(0, most).join(', ')}${more}.`
}

/** Of a run that somebody else has asked for: the title of its task is ours, and says nothing of what is wanted. */
function asked({ facts }: RunProjection, doer: string): string | undefined {
  const peer = facts?.stored?.peer
  if (typeof peer !== 'string') return undefined
  return `${peer} asks: "${shorten(facts!.intent.replaceAll(/\s+/g, ' '), coordinatorLimits.askedLength)}" May ${doer} answer?`
}
