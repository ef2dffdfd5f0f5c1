// What people do to work that cannot stay as it is: give it to another agent, let it come to an end, save what failed work left. Part of
// `Conducting` (contract.ts). The kernel has these acts for coordinators only: a person asks the coordinator, on record under their name.
import { type EntryId, type Principal, type Result, type RunId, type Static, Type } from '@parley/core'
import type { ProofReport } from '@parley/kernel'
import type { TeamAgent } from './team/team.ts'

const closed = { additionalProperties: false } as const

/** One agent after another in the same workspace. */
export const MoveViewSchema = Type.Object(
  {
    from: Type.String(),
    to: Type.String(),
    reason: Type.String(),
    at: Type.String(),
    outcome: Type.Enum(['open', 'completed', 'failed']),
  },
  closed,
)

export const SALVAGE_STATES = ['offered', 'wanted', 'open', 'merged', 'discarded'] as const

/** What failed work left, and what became of it. */
export const SalvageViewSchema = Type.Object(
  {
    /** offered: a person is asked. wanted: it waits for its turn. open: it is being judged or settled. */
    state: Type.Enum([...SALVAGE_STATES]),
    workspace: Type.String(),
    checkpoint: Type.String(),
    /** Whose work it was. */
    agent: Type.String(),
    files: Type.Array(Type.String()),
    /** Why nothing was taken over. */
    reason: Type.Optional(Type.String()),
  },
  closed,
)
export type SalvageView = Static<typeof SalvageViewSchema>

/** All that a person needs to judge it. */
export const LeftViewSchema = Type.Object(
  {
    task: Type.String(),
    workspace: Type.String(),
    agent: Type.String(),
    checkpoint: Type.String(),
    /** Whether its agent called it finished; the rest is as it stood when it was kept. */
    final: Type.Boolean(),
    /** Why the work failed. */
    failure: Type.String(),
    /** What its agent said about it. */
    text: Type.String(),
    files: Type.Array(Type.String()),
    diff: Type.String(),
    /** Files that do not fit what was merged meanwhile. */
    conflicts: Type.Array(Type.String()),
  },
  closed,
)
export type LeftView = Static<typeof LeftViewSchema>

type By = { readonly principal: Principal }

/** Refusals: `not_found`, `unknown_agent`, `invalid_state`, `invalid_argument`, `permission_denied`, `nothing_to_salvage`, and those of the kernel. */
export interface SuccessionConducting {
  /** Whether a run has an agent of that name itself. */
  hasAgent(run: RunId, name: string): Promise<boolean>
  /** Everything that proves one recorded act (W-SEC-17); by the id of its entry or by its `seq`. */
  proof(run: RunId, entry: EntryId | number): Promise<Result<ProofReport>>
  /** Another agent goes on with a task from what was kept last; `agent` is used where the team has none of that name. */
  migrate(
    run: RunId,
    by: By & {
      readonly task: string
      readonly to: string
      readonly reason: string
      readonly agent?: TeamAgent
    },
  ): Promise<Result<{ readonly workspace: string; readonly from: string; readonly to: string }>>
  /** What a failed task left; by default of its newest attempt that left something. */
  left(run: RunId, which: { readonly task: string; readonly checkpoint?: string }): Promise<Result<LeftView>>
  /** A person's judgement of it. Answers where it stands then. */
  salvage(
    run: RunId,
    by: By & {
      readonly task: string
      readonly take: boolean
      readonly checkpoint?: string
      readonly reason?: string
    },
  ): Promise<Result<SalvageView>>
}
