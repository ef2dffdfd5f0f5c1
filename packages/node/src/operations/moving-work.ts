// /workspaces/migrate, /workspaces/left, /workspaces/salvage, /trail/proof: work that changes hands, what failed work
// left, and the proof of one recorded act.
import { LeftViewSchema, SalvageViewSchema, soloTeam } from '@parley/coordinator'
import { type EntryId, Type } from '@parley/core'
import { preflight } from '../agents/preflight.ts'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { PASSPHRASE_REFUSALS, Passphrase } from './gates.ts'
import {
  ABSENCES,
  ACT,
  answered,
  answerOf,
  Count,
  caller,
  FOUND,
  mutation,
  orNull,
  query,
  Reason,
  RunText,
  Task,
  text,
  told,
  UNREADABLE,
} from './spec.ts'

const Checkpoint = text(160)
const REFUSALS = [...ACT, 'rejected'] as const

const Step = { status: Type.Enum(['verified', 'failed', 'missing', 'none']), detail: Type.String() }
const Maybe = orNull(Type.String())

const ProofSchema = object({
  run: Type.String(),
  entry: Type.String(),
  seq: Count,
  event_type: Type.String(),
  workspace: Maybe,
  actor: Type.String(),
  party: Type.Enum(['agent', 'coordinator', 'human', 'runtime']),
  identity: object({ ...Step, name: Maybe, run: Maybe, entry: Maybe }),
  message: object(Step),
  link: object({ ...Step, hash: Type.String(), previous: Maybe }),
  signature: object({ ...Step, signer: Maybe }),
  complete: Type.Boolean(),
})

export function movingWorkService({ coordinator, agents, programs, passphrase: confirmed }: OperationDeps) {
  const found = async (run: string) => await answerOf(coordinator.runs.find(run))
  /** An agent that this node has, for runs whose team does not. */
  const brought = async (name: string) => {
    const team = await agents.team(name)
    return team.ok ? team.value.agents[name] : undefined
  }
  return {
    '/workspaces/migrate': mutation({
      description: 'Another agent continues a task from its last checkpoint. Answers when it has taken over.',
      input: object({
        run: RunText,
        task: Task,
        to: text(64, 'An agent of the team, or of this node'),
        reason: Type.Optional(Reason),
      }),
      output: object({ run: Type.String(), workspace: Type.String(), from: Type.String(), to: Type.String() }),
      refuses: [...REFUSALS, ...ABSENCES, 'unknown_agent', 'invalid_agent'],
      handle: async ({ run: text, task, to, reason = 'no reason given' }, { identity }) => {
        const run = await found(text)
        const agent = await brought(to)
        const by = { principal: caller(identity), task, to, reason, ...(agent && { agent }) }
        // An agent from outside the team is checked first.
        const own = await told(coordinator.migrations.hasAgent(run, to))
        if (agent && !own) answered(preflight(soloTeam(to, agent), 'x', programs))
        return { run, ...(await answerOf(coordinator.migrations.migrate(run, by))) }
      },
    }),
    '/workspaces/left': query({
      description: 'What a failed task left: files, changes, and whether they fit what was merged meanwhile.',
      input: object({ run: RunText, task: Task, checkpoint: Type.Optional(Checkpoint) }),
      output: object({ run: Type.String(), left: LeftViewSchema }),
      refuses: [...REFUSALS, 'nothing_to_salvage', 'no_files'],
      handle: async ({ run: text, ...which }) => {
        const run = await found(text)
        return { run, left: await answerOf(coordinator.salvages.left(run, which)) }
      },
    }),
    '/workspaces/salvage': mutation({
      description: 'The caller has judged what a failed task left: it is taken over, or let go.',
      input: object({
        run: RunText,
        task: Task,
        take: Type.Boolean(),
        checkpoint: Type.Optional(Checkpoint),
        reason: Type.Optional(Reason),
        passphrase: Type.Optional(Passphrase),
      }),
      output: object({ run: Type.String(), salvage: SalvageViewSchema }),
      refuses: [...REFUSALS, 'nothing_to_salvage', 'no_files', ...PASSPHRASE_REFUSALS],
      handle: async ({ run: text, passphrase, ...judged }, { identity }) => {
        answered(await confirmed.check(passphrase))
        const run = await found(text)
        const by = { principal: caller(identity), ...judged }
        return { run, salvage: await answerOf(coordinator.salvages.decide(run, by)) }
      },
    }),
    '/trail/proof': query({
      description: 'Everything that proves one recorded act, checked anew: who, what, its place, its signature.',
      input: object({
        run: RunText,
        entry: Type.Union([Type.Integer({ minimum: 1, maximum: nodeLimits.seq }), text(64)]),
      }),
      output: ProofSchema,
      refuses: [...FOUND, ...UNREADABLE],
      handle: async ({ run: text, entry }) => {
        const run = await found(text)
        return await answerOf(coordinator.records.proof(run, entry as EntryId | number))
      },
    }),
  }
}
