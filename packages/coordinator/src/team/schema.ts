// The shape of a team file: one TypeBox schema that checks and types files, and is the JSON Schema for editors.
// rules.ts has what a schema cannot say.
import { type Static, type TSchema, Type } from '@parley/core'
import { TASK_PRIORITIES } from '@parley/trail/events'
import type { AgentFile } from './agent-fields.ts'
import { BudgetSchema } from './budget-fields.ts'
import { choice, closed, duration, plan, prompt, record, text, whole, yesNo } from './fields.ts'
import { folderFields } from './folder-fields.ts'
import { GatesSchema } from './highway-fields.ts'
import { teamDefaults, teamLimits } from './limits.ts'
import { MergeSchema } from './merge-fields.ts'
import { FallbackSchema, SalvageSchema } from './moving-work-fields.ts'
import { ID_PATTERN, NAME_PATTERN, PATH_PATTERN, WORD_PATTERN } from './patterns.ts'

export const APPROVALS = ['ask', 'none'] as const

const BreakersSchema = record('Breakers', 'When work that leads nowhere is ended.', {
  on: yesNo('On', 'Whether work that leads nowhere is ended.'),
  no_progress: whole(
    teamLimits.breaker,
    'No progress',
    'Turns of one agent in a row that change nothing.',
    teamDefaults.breakers.no_progress,
  ),
  repetition: whole(
    teamLimits.breaker,
    'Repetition',
    'Attempts at one task in a row that come to the same.',
    teamDefaults.breakers.repetition,
  ),
})

const LimitsSchema = record('Limits', 'Bounds of a run. Each has a default.', {
  concurrency: whole(
    teamLimits.concurrency,
    'Concurrency',
    'How many turns of the run may go on at once.',
    teamDefaults.concurrency,
  ),
  attempts: whole(
    teamLimits.attempts,
    'Attempts',
    'How often a task is tried, the first time included.',
    teamDefaults.attempts,
  ),
  timeout: duration('Timeout', 'How long the whole run may take. Without it there is no such limit.'),
  grace: duration(
    'Grace',
    'So long before the timeout nothing new is begun, and the agents at work are asked to finish.',
  ),
  budget: Type.Optional(BudgetSchema),
  breakers: Type.Optional(BreakersSchema),
})

const ReviewSchema = record('Review', 'An agent that must accept the work before it is taken over.', {
  by: Type.String({ title: 'Reviewer', description: 'The agent that reads the work and gives a verdict.' }),
  prompt: prompt(
    'Review prompt',
    'What the reviewer is asked; how it must answer is added to it. {intent} is replaced by the intent.',
    teamDefaults.reviewPrompt,
  ),
  fallback: Type.Optional(FallbackSchema),
})

const symlinks = choice(
  ['inside', 'outside'],
  'Symbolic links',
  'inside: a symbolic link that leads out of the project is put back. outside: it is taken over, and shown.',
  teamDefaults.symlinks,
)

const taskFields = {
  id: Type.String({
    pattern: ID_PATTERN,
    title: 'Id',
    description: 'The name of the task, unique in the plan; other tasks need it by this name.',
  }),
  title: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: teamLimits.titleLength,
      title: 'Title',
      description: 'What people see while the task runs. The id, if there is none.',
    }),
  ),
  agent: text('Agent', 'The agent that does it: a name under agents. Or a plan.'),
  prompt: prompt(
    'Prompt',
    'What the agent is told. {intent} is replaced by the intent; other braces stay as they are.',
  ),
  needs: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: teamLimits.tasks,
      uniqueItems: true,
      title: 'Needs',
      description: 'Ids of the tasks whose accepted work this one builds on.',
    }),
  ),
  paths: Type.Optional(
    Type.Array(Type.String({ maxLength: teamLimits.pathLength, pattern: PATH_PATTERN }), {
      maxItems: teamLimits.paths,
      title: 'Paths',
      description:
        'Globs of what the task may change, relative to the project. Without it everything; an empty list is nothing.',
      examples: [['src/**', 'README.md']],
    }),
  ),
  symlinks,
  attempts: whole(
    teamLimits.attempts,
    'Attempts',
    'How often this task is tried, the first time included. limits.attempts, if there is none.',
  ),
  timeout: duration('Timeout', 'How long one turn on this task may take.'),
  grace: duration('Grace', 'So long before the timeout of its turn the agent is asked to finish.'),
  priority: choice(
    TASK_PRIORITIES,
    'Priority',
    'Which task goes first when several could start.',
    teamDefaults.priority,
  ),
  approve: Type.Optional(
    Type.Boolean({
      title: 'Approve',
      description:
        'Whether a person is asked before this task starts, also where the plan was approved with the request. Their silence is no approval.',
      default: false,
    }),
  ),
  check: Type.Optional(
    Type.Array(Type.String({ maxLength: teamLimits.wordLength, pattern: WORD_PATTERN }), {
      minItems: 1,
      maxItems: teamLimits.commandWords,
      title: 'Check',
      description:
        'A program and its arguments, run in the folder of the task. The work is taken over only if it exits with 0; otherwise its output is the feedback for the next attempt.',
      examples: [['npm', 'test']],
    }),
  ),
  review: Type.Optional(ReviewSchema),
  budget: Type.Optional(BudgetSchema),
  merge: Type.Optional(MergeSchema),
  fallback: Type.Optional(FallbackSchema),
  salvage: Type.Optional(SalvageSchema),
}

const aboutTask = {
  ...closed,
  title: 'Task',
  description: 'One piece of work for one agent, or for a team of its own.',
}

const NESTED =
  'Tasks of its own, in place of an agent: a team inside the team does them, and their merged work is its result.'

// Plans are nested teamLimits.planDepth deep.
const InnerTaskSchema = Type.Object(taskFields, aboutTask)
const MiddleTaskSchema = Type.Object({ ...taskFields, plan: plan(InnerTaskSchema, NESTED) }, aboutTask)
const TaskSchema = Type.Object({ ...taskFields, plan: plan(MiddleTaskSchema, NESTED) }, aboutTask)

/** `agent`: the schema of one agent. */
export function teamFileSchema(agent: TSchema) {
  return record('Team file', 'A team of agents, what it may use, and its plan.', {
    version: Type.Literal(1, {
      title: 'Version',
      description: 'The version of this format.',
    }),
    name: Type.String({ pattern: NAME_PATTERN, title: 'Name', description: 'The name of the team.' }),
    description: Type.Optional(
      Type.String({
        maxLength: teamLimits.descriptionLength,
        title: 'Description',
        description: 'What the team is for.',
      }),
    ),
    agents: Type.Unsafe<Record<string, AgentFile>>({
      type: 'object',
      propertyNames: { pattern: ID_PATTERN },
      additionalProperties: agent,
      minProperties: 1,
      maxProperties: teamLimits.agents,
      title: 'Agents',
      description: 'The agents of the team by name.',
    }),
    limits: Type.Optional(LimitsSchema),
    approval: choice(
      APPROVALS,
      'Approval',
      'ask: a person approves the plan before work starts. none: work starts at once.',
      teamDefaults.approval,
    ),
    gates: Type.Optional(GatesSchema),
    merge: Type.Optional(MergeSchema),
    symlinks,
    ...folderFields,
    plan: plan(
      TaskSchema,
      'The tasks. Without a plan there must be exactly one agent, which gets the intent as its one task.',
    ),
  })
}

export type TeamFile = Static<ReturnType<typeof teamFileSchema>>
export type TaskFile = Static<typeof InnerTaskSchema> & { readonly plan?: readonly TaskFile[] }
