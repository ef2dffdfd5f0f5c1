// /workspaces/migrate, /workspaces/left, /workspaces/salvage, /trail/proof: work that changes hands, what failed work
// left, and the proof of one recorded act.
import { operation } from '@parley/call'
import { type Coordination, LeftViewSchema, SalvageViewSchema, soloTeam } from '@parley/coordinator'
import { type EntryId, Type } from '@parley/core'
import type { AgentDirectory } from '../agents/directory.ts'
import { preflight, type Surroundings } from '../agents/preflight.ts'
import { nodeLimits } from '../limits.ts'
import type { AnswerPassphrase } from '../profile/passphrase.ts'
import { caller } from './caller.ts'
import { PASSPHRASE_REFUSALS, Passphrase } from './gates.ts'
import { ABSENCES, answered, Count, closed, forOwner, Reason, RunText, refusals, told, UNREADABLE } from './spec.ts'

export interface MovingWorkDeps {
  readonly coordinator: Coordination
  readonly agents: AgentDirectory
  readonly programs: Surroundings
  /** What failed work left may be offered as a question: judging it is an answer. */
  readonly passphrase: Pick<AnswerPassphrase, 'check'>
}

const Task = Type.String({ minLength: 1, maxLength: 160, description: 'A task of the plan, or a workspace' })
const Checkpoint = Type.String({ minLength: 1, maxLength: 160 })
const REFUSALS = refusals(
  'not_found',
  'ambiguous',
  'invalid_state',
  'invalid_argument',
  'permission_denied',
  'rejected',
  'trail_unavailable',
  'trail_damaged',
)

const Step = { status: Type.Enum(['verified', 'failed', 'missing', 'none']), detail: Type.String() }
const Maybe = Type.Union([Type.String(), Type.Null()])

const ProofSchema = Type.Object(
  {
    run: Type.String(),
    entry: Type.String(),
    seq: Count,
    event_type: Type.String(),
    workspace: Maybe,
    actor: Type.String(),
    party: Type.Enum(['agent', 'coordinator', 'human', 'runtime']),
    identity: Type.Object({ ...Step, name: Maybe, run: Maybe, entry: Maybe }, closed),
    message: Type.Object(Step, closed),
    link: Type.Object({ ...Step, hash: Type.String(), previous: Maybe }, closed),
    signature: Type.Object({ ...Step, signer: Maybe }, closed),
    complete: Type.Boolean(),
  },
  closed,
)

export function movingWorkService({ coordinator, agents, programs, passphrase: confirmed }: MovingWorkDeps) {
  const found = async (run: string) => answered(await told(coordinator.runs.find(run)))
  /** An agent that this node has, for runs whose team does not. */
  const brought = async (name: string) => {
    const team = await agents.team(name)
    return team.ok ? team.value.agents[name] : undefined
  }
  return {
    '/workspaces/migrate': operation(
      {
        name: '/workspaces/migrate',
        opType: 'mutation',
        description: 'Another agent goes on with a task from what was kept last. Answers when it has taken over.',
        inputSchema: Type.Object(
          {
            run: RunText,
            task: Task,
            to: Type.String({
              minLength: 1,
              maxLength: 64,
              description: 'An agent of the team, or of this node',
            }),
            reason: Type.Optional(Reason),
          },
          closed,
        ),
        outputSchema: Type.Object(
          { run: Type.String(), workspace: Type.String(), from: Type.String(), to: Type.String() },
          closed,
        ),
        accessControl: forOwner,
        errorSchemas: [...REFUSALS, ...ABSENCES, ...refusals('unknown_agent', 'invalid_agent')],
      },
      async ({ run: text, task, to, reason = 'no reason given' }, { identity }) => {
        const run = await found(text)
        const agent = await brought(to)
        const by = { principal: caller(identity), task, to, reason }
        // Whoever is not in the team is looked at before it is let in.
        const own = await told(coordinator.migrations.hasAgent(run, to))
        if (agent && !own) answered(preflight(soloTeam(to, agent), 'x', programs))
        const moved = await told(coordinator.migrations.migrate(run, { ...by, ...(agent && { agent }) }))
        return { run, ...answered(moved) }
      },
    ),
    '/workspaces/left': operation(
      {
        name: '/workspaces/left',
        opType: 'query',
        description: 'What a failed task left: files, changes, and whether they fit what was merged meanwhile.',
        inputSchema: Type.Object({ run: RunText, task: Task, checkpoint: Type.Optional(Checkpoint) }, closed),
        outputSchema: Type.Object({ run: Type.String(), left: LeftViewSchema }, closed),
        accessControl: forOwner,
        errorSchemas: [...REFUSALS, ...refusals('nothing_to_salvage')],
      },
      async ({ run: text, task, checkpoint }) => {
        const run = await found(text)
        const which = { task, ...(checkpoint !== undefined && { checkpoint }) }
        return { run, left: answered(await told(coordinator.salvages.left(run, which))) }
      },
    ),
    '/workspaces/salvage': operation(
      {
        name: '/workspaces/salvage',
        opType: 'mutation',
        description: 'The caller has judged what a failed task left: it is taken over, or let go.',
        inputSchema: Type.Object(
          {
            run: RunText,
            task: Task,
            take: Type.Boolean(),
            checkpoint: Type.Optional(Checkpoint),
            reason: Type.Optional(Reason),
            passphrase: Type.Optional(Passphrase),
          },
          closed,
        ),
        outputSchema: Type.Object({ run: Type.String(), salvage: SalvageViewSchema }, closed),
        accessControl: forOwner,
        errorSchemas: [...REFUSALS, ...refusals('nothing_to_salvage', ...PASSPHRASE_REFUSALS)],
      },
      async ({ run: text, passphrase, ...judged }, { identity }) => {
        answered(await confirmed.check(passphrase))
        const run = await found(text)
        const by = { principal: caller(identity), ...judged }
        return { run, salvage: answered(await told(coordinator.salvages.decide(run, by))) }
      },
    ),
    '/trail/proof': operation(
      {
        name: '/trail/proof',
        opType: 'query',
        description: 'Everything that proves one recorded act, checked anew: who, what, its place, its signature.',
        inputSchema: Type.Object(
          {
            run: RunText,
            entry: Type.Union([
              Type.Integer({ minimum: 1, maximum: nodeLimits.seq }),
              Type.String({ minLength: 1, maxLength: 64 }),
            ]),
          },
          closed,
        ),
        outputSchema: ProofSchema,
        accessControl: forOwner,
        errorSchemas: refusals('not_found', 'ambiguous', ...UNREADABLE),
      },
      async ({ run: text, entry }) => {
        const run = await found(text)
        return answered(await told(coordinator.records.proof(run, entry as EntryId | number)))
      },
    ),
  }
}
