// Gathers what a turn is told from the trail, the mail and the folders. The words are in prompt.ts.
import { type EnvelopeId, unwrap, type WorkspaceId } from '@parley/core'
import type { WorkspaceMail } from '../contract.ts'
import { coordinatorLimits } from '../limits.ts'
import { predecessorText } from '../plan/task-agent.ts'
import type { JudgeFacts, MergeFacts, WorkFacts, WorkspaceFacts } from '../run/facts.ts'
import type { RunAtWork } from '../run/run-parts.ts'
import { failureText } from '../view/failure-text.ts'
import { mergePrompt, reviewPrompt, type Told, workPrompt } from './prompt.ts'
import { tail } from './turn-text.ts'
import type { WorkspaceRecord } from './workspace-record.ts'

interface BriefMail {
  readonly directive: EnvelopeId | null
  readonly mail: readonly EnvelopeId[]
  /** What the turn before it asked. */
  readonly question: string | undefined
}

export async function briefOf(sources: RunAtWork, record: WorkspaceRecord, came: BriefMail): Promise<Told> {
  const { facts } = record
  switch (facts.kind) {
    case 'work':
      return workBrief(sources, record, facts, came)
    case 'merge':
      return mergeBrief(sources, record, facts)
    case 'review':
      return reviewBrief(sources, record, facts)
    case 'check':
      return NOTHING
    case 'team':
      throw new TypeError('a team takes no turns')
  }
}

/** A check is a command that knows by itself what to do. */
const NOTHING: Told = { prompt: '', context: [] }

async function workBrief(
  { run, facts, projection }: RunAtWork,
  record: WorkspaceRecord,
  work: WorkFacts,
  { directive: told, mail: ids, question }: BriefMail,
): Promise<Told> {
  const mail: WorkspaceMail[] = []
  // The directive is the task itself.
  for (const id of ids) if (id !== told) mail.push(await record.inbox.letter(id))
  // What a person changed at a gate is in the directive, not in the plan.
  const directive = told === null ? undefined : await record.inbox.letter(told)
  const root = run.coordinator.workspace
  const named = mail.map(each => (each.from === root ? { ...each, from: 'the person you asked' } : each))
  const guidance = projection.controls.flatMap(each => (each.kind === 'guidance' ? [each] : []))
  const known = projection.workspaces.get(record.workspace)
  const task = { ...record.task, prompt: directive?.text ?? record.task.prompt }
  return workPrompt(facts, task, work, {
    mail: named,
    question,
    guidance: guidance.slice(-coordinatorLimits.guidance),
    predecessors: known ? predecessorText(known).slice(-coordinatorLimits.textLength) : '',
  })
}

async function mergeBrief(
  { facts, projection, folders }: RunAtWork,
  { task }: WorkspaceRecord,
  { of, conflicts }: MergeFacts,
): Promise<Told> {
  const work = projection.workspaces.get(of as WorkspaceId)
  const { salvage, checkpoints = [] } = work ?? {}
  const theirs = checkpoints.findLast(each => (salvage?.open ? each.id === salvage.checkpoint : each.final))
  const base = work?.facts?.commit
  const diff =
    theirs?.commit !== undefined && base !== undefined
      ? await folders.diff(base, theirs.commit, { maxBytes: coordinatorLimits.diffBytes })
      : ''
  const failed = work && salvage?.open ? failureText(work, projection) : undefined
  return mergePrompt(facts, task, conflicts, diff, failed)
}

async function reviewBrief(
  { run, facts, projection, folders }: RunAtWork,
  { task }: WorkspaceRecord,
  review: JudgeFacts,
): Promise<Told> {
  const of = review.of as WorkspaceId
  const author = unwrap(await run.worker(of))
  const { deliverable } = unwrap(await author.look())
  const work = deliverable === null ? undefined : unwrap(await author.readCheckpoint(deliverable))
  const { commit, agent: first } = unwrap(await author.readContext()) as WorkspaceFacts
  const agent = projection.workspaces.get(of)?.facts?.agent ?? first
  const diff = await folders.diff(commit, review.commit, { maxBytes: coordinatorLimits.diffBytes })
  return reviewPrompt(facts, task, agent, { text: tail(work?.payload.content ?? ''), diff })
}
