// /solve, /runs, /tasks: starting work, watching it, ending it.
import { dirname, isAbsolute } from 'node:path'
import { operation } from '@parley/call'
import {
  type Coordination,
  LISTED_STATES,
  PlanTaskViewSchema,
  RunSummarySchema,
  RunViewSchema,
} from '@parley/coordinator'
import { mapSchema, type RunId, refuse, Type } from '@parley/core'
import { HIGHWAY_PRESETS } from '@parley/kernel'
import { type CallerEnvironment, callerEnvironment, checkedEnvironment } from '../agents/caller-environment.ts'
import type { AgentDirectory } from '../agents/directory.ts'
import { preflight, type Surroundings } from '../agents/preflight.ts'
import { readTeam } from '../agents/team-files.ts'
import { nodeLimits } from '../limits.ts'
import type { Spending } from '../spending/spending.ts'
import { caller } from './caller.ts'
import {
  ABSENCES,
  answered,
  Count,
  closed,
  forOwner,
  Reason,
  RunText,
  refusals,
  streamed,
  told,
  UNREADABLE,
} from './spec.ts'

export interface RunDeps {
  readonly coordinator: Coordination
  readonly agents: AgentDirectory
  /** Where programs are looked for, on the node's own path if a caller does not say, and who is pinned. */
  readonly programs: Surroundings
  readonly spending: Pick<Spending, 'mayStart'>
}

const Environment = Type.Unsafe<CallerEnvironment>({
  ...mapSchema(Type.String()),
  description:
    'The caller’s PATH and the variables that the agents pass on; never stored. A node that starts again uses its own',
})
const Started = Type.Object({ run: Type.String(), warnings: Type.Array(Type.String()) }, closed)
const OfRun = Type.Object({ run: RunText }, closed)

export function runService({ coordinator, agents, programs, spending }: RunDeps) {
  const found = async (run: string) => answered(await told(coordinator.runs.find(run)))
  return {
    '/solve/start': operation(
      {
        name: '/solve/start',
        opType: 'mutation',
        description:
          'Starts a run that solves an intent, with a team file, a named agent, or the default one. Answers when the run is on the trail.',
        inputSchema: Type.Object(
          {
            intent: Type.String({ minLength: 1, maxLength: nodeLimits.intentLength }),
            project: Type.String({
              minLength: 1,
              maxLength: nodeLimits.pathLength,
              description: 'Absolute path',
            }),
            team: Type.Optional(
              Type.Object(
                {
                  text: Type.String({ maxLength: nodeLimits.teamText }),
                  file: Type.String({
                    minLength: 1,
                    maxLength: nodeLimits.pathLength,
                    description: 'Absolute path',
                  }),
                },
                closed,
              ),
            ),
            agent: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
            approved: Type.Boolean({
              description: 'The caller approves the plan with this request: nobody is asked about its tasks',
            }),
            gates: Type.Optional(
              Type.Enum([...HIGHWAY_PRESETS], { description: 'Goes before what the team says about gates' }),
            ),
            parent: Type.Optional(RunText),
            force: Type.Optional(Type.Boolean({ description: 'Start it although a breaker is open' })),
            /** Kept in memory for this run only. */
            environment: Type.Optional(Environment),
          },
          closed,
        ),
        outputSchema: Started,
        accessControl: forOwner,
        errorSchemas: [
          ...ABSENCES,
          ...refusals(
            'invalid_team',
            'invalid_argument',
            'invalid_project',
            'unknown_agent',
            'no_agent',
            'invalid_agent',
            'budget_exceeded',
            'ledger_unavailable',
            'overloaded',
            'machine_fault',
            'breaker_open',
            'unavailable',
            'trail_unavailable',
            'trail_damaged',
          ),
        ],
      },
      async (input, { identity }) => {
        const { intent, project, team: given, agent, approved, environment: sent, gates, parent, force } = input
        if (!isAbsolute(project)) answered(refuse('invalid_argument', `${project} is no absolute path.`))
        if (given && agent !== undefined)
          answered(refuse('invalid_argument', 'A run has a team file or an agent, not both.'))
        const team = answered(
          given
            ? readTeam(given.text, { file: given.file, base: dirname(given.file) })
            : await agents.team(agent, sent?.PATH),
        )
        answered(preflight(team, intent, { ...programs, path: sent?.PATH ?? programs.path }))
        // ALP-BUD-01: a run whose turns would all be refused is not begun.
        answered(spending.mayStart())
        const environment = sent && callerEnvironment(answered(checkedEnvironment(sent)), Object.values(team.agents))
        const setup = {
          team,
          project,
          approved,
          gates: gates && { preset: gates, gates: {} },
          // Of a run of another profile nothing is known here.
          parent: parent as RunId | undefined,
          force,
          environment,
        }
        const request = { principal: caller(identity), intent, origin: 'cli' }
        const { run } = answered(await told(coordinator.start(request, setup)))
        return { run, warnings: team.warnings.map(({ line, message }) => `line ${line}: ${message}`) }
      },
    ),
    '/runs/list': operation(
      {
        name: '/runs/list',
        opType: 'query',
        description:
          'Runs, the newest first. One whose record is damaged is told as such, with its id and when it began.',
        inputSchema: Type.Object(
          {
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
            states: Type.Optional(Type.Array(Type.Enum([...LISTED_STATES]), { maxItems: LISTED_STATES.length })),
          },
          closed,
        ),
        outputSchema: Type.Object({ runs: Type.Array(RunSummarySchema) }, closed),
        accessControl: forOwner,
        errorSchemas: refusals('trail_unavailable', 'trail_damaged'),
      },
      async filter => ({ runs: [...(await told(coordinator.runs.list(filter)))] }),
    ),
    '/runs/show': operation(
      {
        name: '/runs/show',
        opType: 'query',
        description: 'One run with its tasks, as it is now.',
        inputSchema: OfRun,
        outputSchema: RunViewSchema,
        accessControl: forOwner,
        errorSchemas: refusals('not_found', 'ambiguous', 'unavailable', ...UNREADABLE),
      },
      async ({ run }) => answered(await told(coordinator.views.view(await found(run)))),
    ),
    '/runs/follow': operation(
      {
        name: '/runs/follow',
        opType: 'subscription',
        description: 'One run as it is, again after each change, and a last time when it is over.',
        inputSchema: OfRun,
        outputSchema: RunViewSchema,
        accessControl: forOwner,
        errorSchemas: refusals('not_found', 'ambiguous', 'unavailable', ...UNREADABLE),
      },
      async function* ({ run }, { signal }) {
        yield* streamed(coordinator.views.follow(await found(run), signal))
      },
    ),
    '/runs/abort': operation(
      {
        name: '/runs/abort',
        opType: 'mutation',
        description:
          'Ends a run, or the work on one of its tasks: turns are stopped and nothing more is started. With grace, agents are told and may finish first.',
        inputSchema: Type.Object(
          {
            run: RunText,
            task: Type.Optional(Type.String({ minLength: 1, maxLength: 160 })),
            reason: Type.Optional(Reason),
            grace: Type.Optional(
              Type.Integer({
                minimum: 1,
                maximum: nodeLimits.graceMs,
                description: 'Milliseconds to finish in',
              }),
            ),
          },
          closed,
        ),
        outputSchema: OfRun,
        accessControl: forOwner,
        errorSchemas: refusals(
          'not_found',
          'ambiguous',
          'invalid_state',
          'invalid_argument',
          'permission_denied',
          'trail_unavailable',
          'trail_damaged',
        ),
      },
      async ({ run: text, task, reason = 'no reason given', grace }, { identity }) => {
        const run = await found(text)
        const by = {
          principal: caller(identity),
          reason,
          ...(task !== undefined && { task }),
          ...(grace !== undefined && { grace }),
        }
        answered(await told(coordinator.interventions.abort(run, by)))
        return { run }
      },
    ),
    '/tasks/list': operation(
      {
        name: '/tasks/list',
        opType: 'query',
        description: 'The tasks of a run in the order of its plan.',
        inputSchema: OfRun,
        outputSchema: Type.Object({ run: Type.String(), tasks: Type.Array(PlanTaskViewSchema), cursor: Count }, closed),
        accessControl: forOwner,
        errorSchemas: refusals('not_found', 'ambiguous', 'unavailable', ...UNREADABLE),
      },
      async ({ run }) => {
        const view = answered(await told(coordinator.views.view(await found(run))))
        return { run: view.run, tasks: view.tasks, cursor: view.cursor }
      },
    ),
  }
}
