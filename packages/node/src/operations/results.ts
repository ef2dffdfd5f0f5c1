// /results: the work under judgement, and what becomes of it.
import { APPLY_WAYS, AppliedSchema, CleanedSchema, UndoneSchema, WorkViewSchema } from '@parley/coordinator'
import { Type } from '@parley/core'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { answerOf, caller, FOUND, mutation, query, RunText, Task, text, UNREADABLE } from './spec.ts'

const Folder = text(nodeLimits.pathLength, 'Absolute path of a folder in the checkout')
const Check = Type.Optional(Type.Boolean({ description: 'Only say what would be done' }))
const Accept = Type.Optional(
  Type.Boolean({
    description:
      'The caller agrees to changes of hooks, CI files, package scripts and settings, and to a result without the work of all tasks',
  }),
)

/** What a checkout refuses. */
const CHECKOUT = [
  'other_repository',
  'not_a_repository',
  'no_repository',
  'bare_repository',
  'repository_empty',
  'repository_busy',
  'repository_moved',
  'repository_locked',
  'repository_not_trusted',
  'detached_head',
  'no_identity',
  'dirty_overlap',
  'ignored_overlap',
  'hidden_overlap',
  'merge_conflict',
  'git_failed',
  'permission_denied',
  'folder_failed',
  'project_gone',
  'invalid_state',
  'work_gone',
] as const

export function resultService({ coordinator }: OperationDeps) {
  const found = async (run: string) => await answerOf(coordinator.runs.find(run))
  return {
    '/results/show': query({
      description:
        'The work under judgement: its files, its patch, what its authors said, checks and reviews, what it cost. Of a task or a workspace; without one, all that the run has integrated.',
      input: object({
        run: RunText,
        task: Type.Optional(Task),
        patch: Type.Optional(Type.Boolean({ description: 'With the difference as text' })),
        binary: Type.Optional(
          Type.Boolean({ description: 'The text has the content of binary files, for `git apply`' }),
        ),
      }),
      output: WorkViewSchema,
      refuses: [...FOUND, 'invalid_state', 'no_files', 'work_gone', 'unavailable', ...UNREADABLE],
      handle: async ({ run: text, ...wanted }) => await answerOf(coordinator.works.show(await found(text), wanted)),
    }),
    '/results/apply': mutation({
      description:
        'Takes the result of a run that is over into the branch that is checked out: as one commit, as a merge, or as staged changes. Git hooks do not run. In a project without git its files are written and deleted.',
      input: object({
        run: RunText,
        folder: Folder,
        how: Type.Optional(Type.Enum([...APPLY_WAYS])),
        accept: Accept,
        check: Check,
      }),
      output: AppliedSchema,
      refuses: [...FOUND, ...CHECKOUT, 'nothing_to_apply', 'unconfirmed', ...UNREADABLE],
      handle: async ({ run: text, ...wanted }, { identity }) =>
        await answerOf(coordinator.applies.apply(await found(text), { principal: caller(identity), ...wanted })),
    }),
    '/results/clean': mutation({
      description:
        'Removes branches, kept commits and folders of runs that are over. Commits that no other ref reaches stay unless that is forced; a branch that is checked out or that somebody has worked on always stays.',
      input: object({
        runs: Type.Optional(
          Type.Array(RunText, { maxItems: nodeLimits.cleanedRuns, description: 'These, whatever their age' }),
        ),
        folder: Type.Optional(
          text(nodeLimits.pathLength, 'Absolute path: without names, only runs of the project that this folder is in'),
        ),
        older_than: Type.Integer({
          minimum: 0,
          maximum: nodeLimits.retentionMs,
          description: 'Milliseconds since the end',
        }),
        force: Type.Optional(Type.Boolean({ description: 'Commits that nothing else reaches go as well' })),
        check: Check,
      }),
      output: object({ runs: Type.Array(CleanedSchema) }),
      refuses: [...FOUND, 'invalid_state', 'permission_denied', 'repository_moved', 'git_failed', ...UNREADABLE],
      handle: async ({ runs: texts, older_than: olderThan, ...how }, { identity }) => {
        const runs = texts && (await Promise.all(texts.map(found)))
        const wanted = { principal: caller(identity), runs, olderThan, ...how }
        return { runs: await answerOf(coordinator.cleaning.clean(wanted)) }
      },
    }),
    '/results/undo': mutation({
      description:
        'Takes an applied result back: the branch goes back where nobody has built on it or has pushed it, else a new commit does.',
      input: object({ run: Type.Optional(RunText), folder: Folder, accept: Accept, check: Check }),
      output: UndoneSchema,
      refuses: [...FOUND, ...CHECKOUT, 'not_applied', 'unconfirmed', ...UNREADABLE],
      handle: async ({ run: text, ...wanted }, { identity }) => {
        const run = text === undefined ? undefined : await found(text)
        return await answerOf(coordinator.applies.undo(run, { principal: caller(identity), ...wanted }))
      },
    }),
  }
}
