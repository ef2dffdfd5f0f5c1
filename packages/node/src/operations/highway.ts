// /highway, /workspaces of others, /budgets: what a person does to a run at work beside answering it.
import { BudgetViewSchema } from '@parley/coordinator'
import { type Result, type RunId, Type } from '@parley/core'
import { BUDGET_DIMENSIONS, ENVELOPE_PRIORITIES } from '@parley/trail/events'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { ACT, answerOf, caller, mutation, query, Reason, RunText, Task, text } from './spec.ts'

const Done = object({ run: Type.String() })

export function highwayService({ coordinator }: OperationDeps) {
  const found = async (run: string) => await answerOf(coordinator.runs.find(run))
  const done = async (text: string, act: (run: RunId) => Promise<Result<unknown>>) => {
    const run = await found(text)
    await answerOf(act(run))
    return { run }
  }
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
      handle: async ({ run: text, ...message }, { identity }) => {
        const run = await found(text)
        const injection = { ...message, principal: caller(identity) }
        return { run, ...(await answerOf(coordinator.interventions.inject(run, injection))) }
      },
    }),
    '/workspaces/suspend': mutation({
      description: 'Pauses the work on one task, or all work of a run. Its turn is ended and taken again later.',
      input: object({ run: RunText, task: Type.Optional(Task), reason: Type.Optional(Reason) }),
      output: Done,
      refuses: ACT,
      handle: ({ run: text, task, reason = 'no reason given' }, { identity }) =>
        done(text, run => coordinator.interventions.suspend(run, { principal: caller(identity), reason, task })),
    }),
    '/workspaces/resume': mutation({
      description: 'Lets suspended work go on.',
      input: object({ run: RunText, task: Type.Optional(Task) }),
      output: Done,
      refuses: ACT,
      handle: ({ run: text, task }, { identity }) =>
        done(text, run => coordinator.interventions.resume(run, { principal: caller(identity), task })),
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
      handle: ({ run: text, ...raise }, { identity }) =>
        done(text, run => coordinator.budgets.raise(run, { ...raise, principal: caller(identity) })),
    }),
  }
}
