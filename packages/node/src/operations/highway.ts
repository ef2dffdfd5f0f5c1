// /highway, /workspaces of others, /budgets: what a person does to a run at work beside answering it.
import { BudgetViewSchema } from '@parley/coordinator'
import { Type } from '@parley/core'
import { BUDGET_DIMENSIONS, ENVELOPE_PRIORITIES } from '@parley/trail/events'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { ACT, answerOf, caller, mutation, query, Reason, RunText, Task, text } from './spec.ts'

const Done = object({ run: Type.String() })

export function highwayService({ coordinator }: OperationDeps) {
  const found = async (run: string) => await answerOf(coordinator.runs.find(run))
  return {
    '/highway/inject': mutation({
      description: 'Writes to an agent at work, or to all of the run through its coordinator.',
      input: object({
        run: RunText,
        to: Type.Optional(Task),
        text: text(nodeLimits.replyLength),
        type: Type.Optional(text(64)),
        priority: Type.Optional(Type.Enum([...ENVELOPE_PRIORITIES])),
      }),
      output: object({ run: Type.String(), envelope: Type.String() }),
      refuses: [...ACT, 'rejected'],
      handle: async ({ run: text, to, type, priority, text: words }, { identity }) => {
        const run = await found(text)
        const injection = {
          text: words,
          ...(to !== undefined && { to }),
          ...(type !== undefined && { type }),
          ...(priority && { priority }),
          principal: caller(identity),
        }
        return { run, ...(await answerOf(coordinator.interventions.inject(run, injection))) }
      },
    }),
    '/workspaces/suspend': mutation({
      description: 'Pauses the work on one task, or all work of a run. Its turn is ended and taken again later.',
      input: object({ run: RunText, task: Type.Optional(Task), reason: Type.Optional(Reason) }),
      output: Done,
      refuses: ACT,
      handle: async ({ run: text, task, reason = 'no reason given' }, { identity }) => {
        const run = await found(text)
        const by = { principal: caller(identity), reason, ...(task !== undefined && { task }) }
        await answerOf(coordinator.interventions.suspend(run, by))
        return { run }
      },
    }),
    '/workspaces/resume': mutation({
      description: 'Lets suspended work go on.',
      input: object({ run: RunText, task: Type.Optional(Task) }),
      output: Done,
      refuses: ACT,
      handle: async ({ run: text, task }, { identity }) => {
        const run = await found(text)
        const by = { principal: caller(identity), ...(task !== undefined && { task }) }
        await answerOf(coordinator.interventions.resume(run, by))
        return { run }
      },
    }),
    '/budgets/list': query({
      description: 'The limits of a run and of its tasks, and how far they are used.',
      input: object({ run: RunText }),
      output: object({ run: Type.String(), budgets: Type.Array(BudgetViewSchema) }),
      refuses: ACT,
      handle: async ({ run: text }) => {
        const run = await found(text)
        return { run, budgets: await answerOf(coordinator.budgets.list(run)) }
      },
    }),
    '/budgets/raise': mutation({
      description: 'A higher limit for the work on a task, or for the whole run.',
      input: object({
        run: RunText,
        task: Type.Optional(Task),
        dimension: Type.Enum([...BUDGET_DIMENSIONS]),
        limit: Type.Number({ exclusiveMinimum: 0 }),
      }),
      output: Done,
      refuses: ACT,
      handle: async ({ run: text, task, dimension, limit }, { identity }) => {
        const run = await found(text)
        const raise = { principal: caller(identity), dimension, limit, ...(task !== undefined && { task }) }
        await answerOf(coordinator.budgets.raise(run, raise))
        return { run }
      },
    }),
  }
}
