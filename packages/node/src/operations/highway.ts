// /highway, /workspaces of others, /budgets: what a person does to a run at work beside answering it.
import { operation } from '@parley/call'
import { BudgetViewSchema, type Coordination } from '@parley/coordinator'
import { Type } from '@parley/core'
import { BUDGET_DIMENSIONS, ENVELOPE_PRIORITIES } from '@parley/trail/events'
import { nodeLimits } from '../limits.ts'
import { caller } from './caller.ts'
import { answered, closed, forOwner, Reason, RunText, refusals, told } from './spec.ts'

export interface HighwayDeps {
  readonly coordinator: Coordination
}

const Task = Type.String({ minLength: 1, maxLength: 160, description: 'A task of the plan, or a workspace' })
const Done = Type.Object({ run: Type.String() }, closed)
const REFUSALS = refusals(
  'not_found',
  'ambiguous',
  'invalid_state',
  'invalid_argument',
  'permission_denied',
  'trail_unavailable',
  'trail_damaged',
)

export function highwayService({ coordinator }: HighwayDeps) {
  const found = async (run: string) => answered(await told(coordinator.runs.find(run)))
  return {
    '/highway/inject': operation(
      {
        name: '/highway/inject',
        opType: 'mutation',
        description: 'Writes to an agent at work, or to all of the run through its coordinator.',
        inputSchema: Type.Object(
          {
            run: RunText,
            to: Type.Optional(Task),
            text: Type.String({ minLength: 1, maxLength: nodeLimits.replyLength }),
            type: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
            priority: Type.Optional(Type.Enum([...ENVELOPE_PRIORITIES])),
          },
          closed,
        ),
        outputSchema: Type.Object({ run: Type.String(), envelope: Type.String() }, closed),
        accessControl: forOwner,
        errorSchemas: [...REFUSALS, ...refusals('rejected')],
      },
      async ({ run: text, to, type, priority, text: words }, { identity }) => {
        const run = await found(text)
        const injection = {
          text: words,
          ...(to !== undefined && { to }),
          ...(type !== undefined && { type }),
          ...(priority && { priority }),
          principal: caller(identity),
        }
        return { run, ...answered(await told(coordinator.interventions.inject(run, injection))) }
      },
    ),
    '/workspaces/suspend': operation(
      {
        name: '/workspaces/suspend',
        opType: 'mutation',
        description: 'Pauses the work on one task, or all work of a run. Its turn is ended and taken again later.',
        inputSchema: Type.Object({ run: RunText, task: Type.Optional(Task), reason: Type.Optional(Reason) }, closed),
        outputSchema: Done,
        accessControl: forOwner,
        errorSchemas: REFUSALS,
      },
      async ({ run: text, task, reason = 'no reason given' }, { identity }) => {
        const run = await found(text)
        const by = { principal: caller(identity), reason, ...(task !== undefined && { task }) }
        answered(await told(coordinator.interventions.suspend(run, by)))
        return { run }
      },
    ),
    '/workspaces/resume': operation(
      {
        name: '/workspaces/resume',
        opType: 'mutation',
        description: 'Lets suspended work go on.',
        inputSchema: Type.Object({ run: RunText, task: Type.Optional(Task) }, closed),
        outputSchema: Done,
        accessControl: forOwner,
        errorSchemas: REFUSALS,
      },
      async ({ run: text, task }, { identity }) => {
        const run = await found(text)
        const by = { principal: caller(identity), ...(task !== undefined && { task }) }
        answered(await told(coordinator.interventions.resume(run, by)))
        return { run }
      },
    ),
    '/budgets/list': operation(
      {
        name: '/budgets/list',
        opType: 'query',
        description: 'The limits of a run and of its tasks, and how far they are used.',
        inputSchema: Type.Object({ run: RunText }, closed),
        outputSchema: Type.Object({ run: Type.String(), budgets: Type.Array(BudgetViewSchema) }, closed),
        accessControl: forOwner,
        errorSchemas: REFUSALS,
      },
      async ({ run: text }) => {
        const run = await found(text)
        return { run, budgets: [...answered(await told(coordinator.budgets.list(run)))] }
      },
    ),
    '/budgets/raise': operation(
      {
        name: '/budgets/raise',
        opType: 'mutation',
        description: 'A higher limit for the work on a task, or for the whole run.',
        inputSchema: Type.Object(
          {
            run: RunText,
            task: Type.Optional(Task),
            dimension: Type.Enum([...BUDGET_DIMENSIONS]),
            limit: Type.Number({ exclusiveMinimum: 0 }),
          },
          closed,
        ),
        outputSchema: Done,
        accessControl: forOwner,
        errorSchemas: REFUSALS,
      },
      async ({ run: text, task, dimension, limit }, { identity }) => {
        const run = await found(text)
        const raise = { principal: caller(identity), dimension, limit, ...(task !== undefined && { task }) }
        answered(await told(coordinator.budgets.raise(run, raise)))
        return { run }
      },
    ),
  }
}
