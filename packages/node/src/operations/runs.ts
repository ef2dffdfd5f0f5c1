// /solve, /runs, /tasks: starting work, watching it, ending it.
import { homedir } from 'node:os'
import { dirname, isAbsolute } from 'node:path'
import {
  followTurns,
  isOver,
  LISTED_STATES,
  LogItemSchema,
  PlanTaskViewSchema,
  PromptsViewSchema,
  RunSummarySchema,
  RunViewSchema,
} from '@parley/coordinator'
import { type AgentSettings, mapSchema, ok, type RunId, refuse, type Static, Type } from '@parley/core'
import { HIGHWAY_PRESETS } from '@parley/kernel'
import { type CallerEnvironment, callerEnvironment, checkedEnvironment } from '../agents/caller-environment.ts'
import { describeAgent } from '../agents/kinds.ts'
import { loginWarnings, nodeWarnings } from '../agents/node-warnings.ts'
import { outsideDependencies, outsideWarning } from '../agents/outside-dependencies.ts'
import { preflight } from '../agents/preflight.ts'
import { readTeam } from '../agents/team-files.ts'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import {
  ABSENCES,
  ACT,
  answered,
  answerOf,
  Count,
  caller,
  FOUND,
  mutation,
  query,
  Reason,
  RunText,
  streamed,
  subscription,
  TeamText,
  text,
  told,
  UNREADABLE,
} from './spec.ts'

const Environment = Type.Unsafe<CallerEnvironment>({
  ...mapSchema(Type.String()),
  description:
    'The caller’s PATH and the variables that the agents pass on; never stored. A node that starts again uses its own',
})
const Fact = object({ label: Type.String(), text: Type.String() })
/** What a person is shown of an agent of the run before they let it work. */
const Described = object({ name: Type.String(), runs: Type.String(), facts: Type.Array(Fact) })
const Started = object({ run: Type.String(), warnings: Type.Array(Type.String()), agents: Type.Array(Described) })
/** One agent of a team file alone, as the file describes it. */
function oneOf(team: ReturnType<typeof readTeam>, name: string | undefined): ReturnType<typeof readTeam> {
  if (!team.ok || name === undefined) return team
  const { agents } = team.value
  if (!Object.hasOwn(agents, name))
    return refuse('unknown_agent', `The team file has no agent '${name}'. It has ${Object.keys(agents).join(', ')}.`)
  return ok({ ...team.value, agents: { [name]: agents[name]! }, plan: [], warnings: [] })
}

function described([name, agent]: readonly [string, AgentSettings]): Static<typeof Described> {
  const { runs, facts } = describeAgent(agent)
  return { name, runs, facts: facts.map(([label, text]) => ({ label, text })) }
}

const OfRun = object({ run: RunText })

export function runService({ config, coordinator, agents, programs, spending }: OperationDeps) {
  const found = async (run: string) => await answerOf(coordinator.runs.find(run))
  return {
    '/solve/start': mutation({
      description:
        'Starts a run that solves an intent, with a team file, a named agent, or the default one. Answers when the run is on the trail.',
      input: object({
        intent: text(nodeLimits.intentLength),
        project: text(nodeLimits.pathLength, 'Absolute path'),
        team: Type.Optional(TeamText),
        agent: Type.Optional(
          Type.String({ minLength: 1, maxLength: 64, description: 'Alone; with a team file, one of its agents' }),
        ),
        approved: Type.Boolean({
          description: 'The caller approves the plan with this request: nobody is asked about its tasks',
        }),
        attended: Type.Optional(
          Type.Boolean({
            description: 'Somebody is asked about the plan now: it waits for the answer, and no fallback starts it',
          }),
        ),
        gates: Type.Optional(
          Type.Enum([...HIGHWAY_PRESETS], { description: 'Goes before what the team says about gates' }),
        ),
        parent: Type.Optional(RunText),
        force: Type.Optional(Type.Boolean({ description: 'Start it although a breaker is open' })),
        /** Kept in memory for this run only. */
        environment: Type.Optional(Environment),
      }),
      output: Started,
      refuses: [
        ...ABSENCES,
        'invalid_team',
        'invalid_argument',
        'invalid_project',
        'unknown_agent',
        'no_agent',
        'invalid_agent',
        'budget_exceeded',
        'ledger_unavailable',
        'overloaded',
        'too_many_runs',
        'machine_fault',
        'breaker_open',
        'unavailable',
        'trail_unavailable',
        'trail_damaged',
      ],
      handle: async (input, { identity, signal }) => {
        const {
          intent,
          project,
          team: given,
          agent,
          approved,
          attended,
          environment: sent,
          gates,
          parent,
          force,
        } = input
        if (!isAbsolute(project)) answered(refuse('invalid_argument', `${project} is no absolute path.`))
        const team = answered(
          given
            ? oneOf(readTeam(given.text, { file: given.file, base: dirname(given.file) }), agent)
            : await agents.team(agent, sent?.PATH),
        )
        answered(preflight(team, intent, { ...programs, path: sent?.PATH ?? programs.path }))
        // ALP-BUD-01: a run whose turns would all be refused is not begun.
        answered(spending.mayStart())
        const environment =
          sent && callerEnvironment(answered(checkedEnvironment(sent)), Object.values(team.agents), team.setup)
        const setup = {
          team,
          project,
          approved,
          attended,
          gates: gates && { preset: gates, gates: {} },
          // Of a run of another profile nothing is known here.
          parent: parent as RunId | undefined,
          force,
          environment,
          caller: signal,
        }
        const request = { principal: caller(identity), intent, origin: 'cli' }
        const { run } = await answerOf(coordinator.start(request, setup))
        const inFile = team.warnings.map(({ line, message }) => `line ${line}: ${message}`)
        const around = { ...(sent ?? process.env), HOME: homedir() }
        const warnings = [
          ...inFile,
          ...nodeWarnings(team, config.values.turns),
          ...loginWarnings(team, intent, around),
          ...outsideDependencies(project).map(outsideWarning),
        ]
        return { run, warnings, agents: Object.entries(team.agents).map(described) }
      },
    }),
    '/runs/list': query({
      description:
        'Runs, the newest first. One whose record is damaged is listed as such, with its id and when it began.',
      input: object({
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
        states: Type.Optional(Type.Array(Type.Enum([...LISTED_STATES]), { maxItems: LISTED_STATES.length })),
        folder: Type.Optional(
          text(
            nodeLimits.pathLength,
            'Absolute path: only runs of the project that this folder is in, and damaged ones',
          ),
        ),
      }),
      output: object({ runs: Type.Array(RunSummarySchema) }),
      refuses: ['trail_unavailable', 'trail_damaged'],
      handle: async filter => ({ runs: await told(coordinator.runs.list(filter)) }),
    }),
    '/runs/show': query({
      description: 'One run with its tasks, as it is now.',
      input: OfRun,
      output: RunViewSchema,
      refuses: [...FOUND, 'unavailable', ...UNREADABLE],
      handle: async ({ run }) => {
        const view = await answerOf(coordinator.views.view(await found(run)))
        const applied = isOver(view.state) ? await told(coordinator.applies.list(view.run as RunId)) : []
        return { ...view, ...(applied.length > 0 && { applied }) }
      },
    }),
    '/runs/prompts': query({
      description:
        'What the agents of a run were told, turn by turn, as it was written for them. The newest, as far as there is room.',
      input: OfRun,
      output: PromptsViewSchema,
      refuses: [...FOUND, 'unavailable', ...UNREADABLE],
      handle: async ({ run }) => await answerOf(coordinator.views.prompts(await found(run))),
    }),
    '/runs/follow': subscription({
      description: 'One run as it is, again after each change, and a last time when it is over.',
      input: OfRun,
      output: RunViewSchema,
      refuses: [...FOUND, 'unavailable', ...UNREADABLE],
      async *handle({ run }, { signal }) {
        yield* streamed(coordinator.views.follow(await found(run), signal))
      },
    }),
    '/runs/abort': mutation({
      description:
        'Ends a run, or the work on one of its tasks: turns are stopped and nothing more is started. With grace, agents are told and may finish first.',
      input: object({
        run: RunText,
        task: Type.Optional(text(160)),
        reason: Type.Optional(Reason),
        grace: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: nodeLimits.graceMs,
            description: 'Milliseconds to finish in',
          }),
        ),
      }),
      output: OfRun,
      refuses: ACT,
      handle: async ({ run: text, reason = 'no reason given', ...how }, { identity }) => {
        const run = await found(text)
        await answerOf(coordinator.interventions.abort(run, { ...how, principal: caller(identity), reason }))
        return { run }
      },
    }),
    '/tasks/follow': subscription({
      description:
        'What the agents of a run, or of one task, do and say while they work: what turns at work have said so far, the newest of it, then what comes. Ends with the task or the run.',
      input: object({
        run: RunText,
        task: Type.Optional(text(160)),
        now: Type.Optional(Type.Boolean({ description: 'End with what was said so far' })),
      }),
      output: LogItemSchema,
      refuses: [...FOUND, 'unavailable', ...UNREADABLE],
      async *handle({ run: text, task, now }, { signal }) {
        const run = await found(text)
        const { tasks } = await answerOf(coordinator.views.view(run))
        if (task !== undefined && !tasks.some(({ id }) => id === task))
          answered(refuse('not_found', `There is no task ${task} in ${run}.`))
        yield* streamed(followTurns(coordinator, run, { task, now }, signal))
      },
    }),
    '/tasks/list': query({
      description: 'The tasks of a run in the order of its plan.',
      input: OfRun,
      output: object({ run: Type.String(), tasks: Type.Array(PlanTaskViewSchema), cursor: Count }),
      refuses: [...FOUND, 'unavailable', ...UNREADABLE],
      handle: async ({ run }) => {
        const view = await answerOf(coordinator.views.view(await found(run)))
        return { run: view.run, tasks: view.tasks, cursor: view.cursor }
      },
    }),
  }
}
