// What people are shown beside runs: gates, what failed work left, limits and users. One schema for all clients.
import { type Static, type TSchema, Type } from '@parley/core'
import { BUDGET_DIMENSIONS, CAPABILITIES, GATE_TYPES, USER_STATES } from '@parley/trail/events'

export const closed = <Members extends Record<string, TSchema>>(members: Members) =>
  Type.Object(members, { additionalProperties: false })
export const Time = Type.String({ description: 'Timestamp, UTC' })
const Amount = Type.Number({ minimum: 0 })

const GateFactSchema = closed({ label: Type.String(), text: Type.String() })
export type GateFact = Static<typeof GateFactSchema>

/** Something that waits for a person. */
export const GateViewSchema = closed({
  /** Of a gate or of an escalation's signal, as on the trail. */
  id: Type.String(),
  run: Type.String(),
  /** `gate`: approve, reject or modify it. `question`: an agent waits for a reply. */
  kind: Type.Enum(['gate', 'question']),
  type: Type.Enum([...GATE_TYPES, 'escalation']),
  /** One line: what is asked. */
  question: Type.String(),
  /** Of a question: its agent goes on without an answer. */
  remark: Type.Optional(Type.Literal(true)),
  /** Of a question: its agent waits for the answer in its turn until then, and goes on without one. */
  goes_on: Type.Optional(Time),
  /** Of the run. */
  intent: Type.Optional(Type.String()),
  /** The task of the plan that it is about. */
  task: Type.Optional(Type.String()),
  workspace: Type.Optional(Type.String()),
  /** Whom it is addressed to. */
  addressee: Type.String(),
  /** `coordinator`: it fell to the coordinator after the timeout; a person's answer still counts until then. */
  waits_for: Type.Enum(['person', 'coordinator']),
  since: Time,
  /** When the fallback acts, and what it does; without it there is no such moment. */
  deadline: Type.Optional(Time),
  fallback: Type.Optional(Type.String()),
  /** What `modify` may change. */
  changes: Type.Array(Type.String()),
  /** How each is typed, in the same order: `priority=…: normal, elevated, urgent`. */
  change_forms: Type.Optional(Type.Array(Type.String())),
  /** What it is about, in words. */
  facts: Type.Optional(Type.Array(GateFactSchema)),
  /** All of it: the task with its prompt, the letter, the conflict with its proposal. */
  subject: Type.Optional(Type.Unknown()),
})
export type GateView = Static<typeof GateViewSchema>

/** One agent after another in the same workspace. */
export const MoveViewSchema = closed({
  from: Type.String(),
  to: Type.String(),
  reason: Type.String(),
  at: Type.String(),
  outcome: Type.Enum(['open', 'completed', 'failed']),
})

/** What failed work left, and what became of it. */
export const SalvageViewSchema = closed({
  /**
   * kept: it can still be taken over. offered: a person is asked. wanted: it waits for its turn. open: it is being
   * judged or settled.
   */
  state: Type.Enum(['kept', 'offered', 'wanted', 'open', 'merged', 'discarded']),
  workspace: Type.String(),
  checkpoint: Type.String(),
  /** Whose work it was. */
  agent: Type.String(),
  files: Type.Array(Type.String()),
  /** Of the checkpoint: git has it as long as it is kept. */
  commit: Type.Optional(Type.String()),
  /** Why nothing was taken over. */
  reason: Type.Optional(Type.String()),
})
export type SalvageView = Static<typeof SalvageViewSchema>

/** All that a person needs to judge it. */
export const LeftViewSchema = closed({
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
})
export type LeftView = Static<typeof LeftViewSchema>

/** One limit of one workspace or task, and how far it is used. */
export const BudgetViewSchema = closed({
  /** The task, or `run` for what holds for all of it. */
  task: Type.String(),
  workspace: Type.Optional(Type.String()),
  dimension: Type.Enum([...BUDGET_DIMENSIONS]),
  limit: Amount,
  used: Amount,
  /** Past the warning's mark. */
  warned: Type.Boolean(),
})
export type BudgetView = Static<typeof BudgetViewSchema>

export const UserViewSchema = closed({
  user: Type.String(),
  state: Type.Enum([...USER_STATES]),
  capabilities: Type.Array(Type.Enum([...CAPABILITIES])),
  /** Gates and questions that are addressed to this user now. */
  waiting: Type.Integer({ minimum: 0 }),
})
export type UserView = Static<typeof UserViewSchema>
