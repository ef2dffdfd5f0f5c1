// Gathers what a turn is told from the trail, the mail and the folders. The words are in prompt.ts.
import { type EnvelopeId, unwrap, type WorkspaceId } from '@parley/core'
import type { Worker } from '@parley/kernel'
import type { WorkspaceMail } from '../contract.ts'
import { coordinatorLimits } from '../limits.ts'
import { predecessorText } from '../plan/task-agent.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { JudgeFacts, MergeFacts, WorkFacts, WorkspaceFacts } from '../run/facts.ts'
import type { RunAtWork } from '../run/run-parts.ts'
import type { PlannedTask } from '../team/team.ts'
import { failureText } from '../view/failure-text.ts'
import { type Brief, mergePrompt, reviewPrompt, workPrompt } from './prompt.ts'
import { tail } from './turn-text.ts'
import type { WorkspaceRecord } from './workspace-record.ts'

interface BriefMail {
  readonly directive: EnvelopeId | null
  readonly mail: readonly EnvelopeId[]
  /** What the turn before it asked. */
  readonly question: string | undefined
}

export async function briefOf(sources: RunAtWork, record: WorkspaceRecord, came: BriefMail): Promise<Brief> {
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
const NOTHING: Brief = () => ({ prompt: '', context: [] })

async function workBrief(
  { facts, projection }: RunAtWork,
  record: WorkspaceRecord,
  work: WorkFacts,
  { directive: told, mail: ids, question }: BriefMail,
): Promise<Brief> {
  const mail: WorkspaceMail[] = []
  // The directive is the task itself.
  for (const id of ids) if (id !== told) mail.push(await record.inbox.letter(id))
  // What a person changed at a gate is in the directive, not in the plan.
  const directive = told === null ? undefined : await record.inbox.letter(told)
  const guidance = projection.controls.flatMap(each => (each.kind === 'guidance' ? [each] : []))
  const known = projection.workspaces.get(record.workspace)
  const task = { ...record.task, prompt: directive?.text ?? record.task.prompt }
  const more = {
    mail,
    question,
    guidance: guidance.slice(-coordinatorLimits.guidance),
    predecessors: known ? predecessorText(known).slice(-coordinatorLimits.textLength) : '',
  }
  return reach => workPrompt(facts, task, work, more, reach)
}

async function mergeBrief(
  { run, facts, projection, folders }: RunAtWork,
  record: WorkspaceRecord,
  { of, conflicts }: MergeFacts,
): Promise<Brief> {
  const work = projection.workspaces.get(of as WorkspaceId)
  const { salvage, checkpoints = [] } = work ?? {}
  const theirs = checkpoints.findLast(each => (salvage?.open ? each.id === salvage.checkpoint : each.final))
  const base = work?.facts?.commit
  const diff =
    theirs?.commit !== undefined && base !== undefined
      ? await folders.diff(base, theirs.commit, { maxBytes: coordinatorLimits.diffBytes })
      : ''
  const failed = work && salvage?.open ? failureText(work, projection) : undefined
  const task = await taskAsGiven(record.task, unwrap(await run.worker(of as WorkspaceId)), projection)
  return () => mergePrompt(facts, task, conflicts, diff, failed)
}

async function reviewBrief(
  { run, facts, projection, folders }: RunAtWork,
  record: WorkspaceRecord,
  review: JudgeFacts,
): Promise<Brief> {
  const of = review.of as WorkspaceId
  const author = unwrap(await run.worker(of))
  const { deliverable } = unwrap(await author.look())
  const work = deliverable === null ? undefined : unwrap(await author.readCheckpoint(deliverable))
  const { commit, agent: first } = unwrap(await author.readContext()) as WorkspaceFacts
  const agent = projection.workspaces.get(of)?.facts?.agent ?? first
  const diff = await folders.diff(commit, review.commit, { maxBytes: coordinatorLimits.diffBytes })
  const task = await taskAsGiven(record.task, author, projection)
  const unjudged = projection.judges(of).some(({ checkpoints }) => checkpoints.at(-1)?.turn?.error === 'no_verdict')
  const judged = { text: tail(work?.payload.content ?? ''), diff, unjudged }
  return reach => reviewPrompt(facts, task, agent, judged, reach)
}

/** The task of the plan with what a person changed at its gates: its author was told that, and is judged by it. */
async function taskAsGiven(task: PlannedTask, author: Worker, projection: RunProjection): Promise<PlannedTask> {
  const { directive } = unwrap(await author.look())
  const prompt = directive === null ? task.prompt : unwrap(await author.readEnvelope(directive)).payload?.content
  const { title = task.title } = projection.firstTask(task.id)?.changed ?? {}
  return { ...task, title, prompt: prompt ?? task.prompt }
}
