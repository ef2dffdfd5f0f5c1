// /work: the work under judgement, and what becomes of it.
import { WorkViewSchema } from '@parley/coordinator'
import { Type } from '@parley/core'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { answerOf, FOUND, query, RunText, Task, UNREADABLE } from './spec.ts'

export function workService({ coordinator }: OperationDeps) {
  const found = async (run: string) => await answerOf(coordinator.runs.find(run))
  return {
    '/work/show': query({
      description:
        'The work under judgement: its files, its patch, what its authors said, checks and reviews, what it cost. Of a task or a workspace; without one, all that the run has integrated.',
      input: object({
        run: RunText,
        task: Type.Optional(Task),
        patch: Type.Optional(Type.Boolean({ description: 'With the difference as text' })),
      }),
      output: WorkViewSchema,
      refuses: [...FOUND, 'invalid_state', 'work_gone', 'unavailable', ...UNREADABLE],
      handle: async ({ run: text, ...wanted }) => await answerOf(coordinator.works.show(await found(text), wanted)),
    }),
  }
}
