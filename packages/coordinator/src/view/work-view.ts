// The work under judgement as one value: what changed, what its authors said of it, who judged it, what it cost. The
// same for a task at its merge gate, for what failed work left, and for the result of a whole run.
import { type Static, Type } from '@parley/core'
import type { FileChange } from '../folder/model.ts'
import { given } from '../given.ts'
import { coordinatorLimits } from '../limits.ts'
import { candidateOf } from '../merge/salvaging.ts'
import type { ProjectedCheckpoint, ProjectedTask, ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import { closed } from './people-view.ts'
import { PlanTaskViewSchema, type RunView, StepViewSchema, UsageViewSchema } from './view.ts'

const Count = Type.Integer({ minimum: 0 })
const task = PlanTaskViewSchema.properties

const FileViewSchema = closed({
  path: Type.String(),
  kind: Type.Enum(['added', 'changed', 'deleted', 'renamed']),
  /** Of a renamed file: its old path. */
  from: Type.Optional(Type.String()),
  /** Lines; not of a binary file. */
  added: Type.Optional(Count),
  removed: Type.Optional(Count),
})

/** What one task did for it. */
const PartViewSchema = closed({
  task: task.id,
  title: task.title,
  agent: task.agent,
  state: task.state,
  /** What its author said at the end of the attempt that is shown. */
  said: Type.Optional(Type.String()),
  /** The checks and reviews of that attempt, in order. */
  judgements: Type.Array(StepViewSchema),
  /** Of all its attempts, with their checks and reviews. */
  usage: UsageViewSchema,
})

export const WorkViewSchema = closed({
  run: Type.String(),
  /** The task whose work it is; without it, it is what the run has integrated so far. */
  task: Type.Optional(Type.String()),
  /** Of the task, or the intent of the run. */
  title: Type.String(),
  state: Type.String({ description: 'Of the task, or of the run' }),
  workspace: Type.Optional(Type.String()),
  /** What the author kept last, and whether the author called it finished. */
  checkpoint: Type.Optional(Type.String()),
  final: Type.Boolean(),
  /** The change is the difference between these two commits. */
  base: Type.String(),
  commit: Type.String(),
  /** The branch or folder that has it, once the run is over. */
  branch: Type.Optional(Type.String()),
  folder: Type.Optional(Type.String()),
  files: Type.Array(FileViewSchema),
  /** Files beyond those that are listed. */
  more_files: Count,
  /** Lines, of all files. */
  added: Count,
  removed: Count,
  /** Where it was asked for; its last line says if it was cut. */
  patch: Type.Optional(Type.String()),
  parts: Type.Array(PartViewSchema),
  usage: UsageViewSchema,
})
export type WorkView = Static<typeof WorkViewSchema>
export type PartView = Static<typeof PartViewSchema>

/** What is meant of a run: all that is integrated, or what a workspace has kept last. */
export interface Subject {
  readonly base: string
  readonly commit: string
  readonly work?: ProjectedWorkspace
  readonly checkpoint?: ProjectedCheckpoint
}

/** Of a task: its newest attempt that kept something; also by the workspace that works on it or judges it. */
export function subjectOf(projection: RunProjection, text: string): Subject | undefined {
  const named = [...projection.workspaces.values()].find(({ id }) => id === (text as string))
  const about = named?.facts && 'of' in named.facts ? named.facts.of : undefined
  const judged = about === undefined ? named : [...projection.workspaces.values()].find(({ id }) => id === about)
  const planned = projection.taskMeant(text)
  const work = judged?.facts ? judged : planned && newestOf(projection, planned)
  if (!work?.facts) return undefined
  const { commit: base } = work.facts
  const checkpoint = candidateOf(work) ?? keptOf(work)
  return { base, commit: checkpoint?.commit ?? base, work, ...given({ checkpoint }) }
}

function newestOf(projection: RunProjection, { attempts }: ProjectedTask): ProjectedWorkspace | undefined {
  const all = attempts.flatMap(id => projection.workspaces.get(id) ?? [])
  return all.findLast(each => keptOf(each) !== undefined) ?? all.at(-1)
}

function keptOf({ checkpoints }: ProjectedWorkspace): ProjectedCheckpoint | undefined {
  return checkpoints.findLast(each => each.final && each.commit) ?? checkpoints.findLast(each => each.commit)
}

/** Everything but the files: the parts that its tasks have in it. */
export function aboutWork(view: RunView, { work, checkpoint, ...commits }: Subject) {
  const { facts } = work ?? {}
  const own = facts && view.tasks.find(({ id }) => id === facts.task)
  const tasks = facts ? (own ? [own] : []) : view.tasks
  return {
    run: view.run,
    ...given({ task: facts?.task, workspace: work?.id as string | undefined, checkpoint: checkpoint?.id as string }),
    title: own?.title ?? view.intent,
    state: own?.state ?? view.state,
    final: facts ? checkpoint?.final === true : view.ended !== undefined,
    ...commits,
    ...(!facts && given({ branch: view.result?.branch, folder: view.result?.folder })),
    parts: tasks.map(each => partView(each, work?.id)),
    usage: own?.usage ?? view.usage,
  }
}

function partView({ id, title, agent, state, steps, usage }: RunView['tasks'][number], workspace?: string): PartView {
  const done = (each: (typeof steps)[number]) => each.kind === 'work' || each.kind === 'team'
  const shown = steps.findLast(each => done(each) && (workspace === undefined || each.workspace === workspace))
  const attempt = shown?.attempt
  return {
    task: id,
    title,
    agent,
    state,
    ...given({ said: shown?.text }),
    judgements: steps.filter(each => !done(each) && each.attempt === attempt),
    usage,
  }
}

export function fileViews(changes: readonly FileChange[]) {
  const files = changes.map(({ path, kind, from, lines }) => ({ path, kind, ...given({ from }), ...lines }))
  const sum = (key: 'added' | 'removed') => files.reduce((all, each) => all + (each[key] ?? 0), 0)
  const shown = files.slice(0, coordinatorLimits.shownFiles)
  return { files: shown, more_files: files.length - shown.length, added: sum('added'), removed: sum('removed') }
}
