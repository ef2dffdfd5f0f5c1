// What people do to runs at work: answer what waits for them, write to agents, stop and change work, raise budgets, and who these people
// are. Part of `Conducting` (contract.ts); the kernel checks state, capability and scope of every act and records it under the person's name.
import { type Principal, type Result, type RunId, type Static, Type } from '@parley/core'
import {
  BUDGET_DIMENSIONS,
  CAPABILITIES,
  type Capability,
  GATE_TYPES,
  USER_STATES,
} from '@parley/trail/events'

const closed = { additionalProperties: false } as const
const Time = Type.String({ description: 'Timestamp, UTC' })
const Amount = Type.Number({ minimum: 0 })

/** Something that waits for a person. */
export const GateViewSchema = Type.Object(
  {
    /** Of a gate or of an escalation's signal, as on the trail. */
    id: Type.String(),
    run: Type.String(),
    /** `gate`: approve, reject or modify it. `question`: an agent waits for a reply. */
    kind: Type.Enum(['gate', 'question']),
    type: Type.Enum([...GATE_TYPES, 'escalation']),
    /** One line: what is asked. */
    question: Type.String(),
    /** The task of the plan that it is about. */
    task: Type.Optional(Type.String()),
    workspace: Type.Optional(Type.String()),
    /** Whom it is addressed to. */
    addressee: Type.String(),
    /** `coordinator`: nobody answered in time, and it fell to the coordinator; a person's answer still counts until then. */
    waits_for: Type.Enum(['person', 'coordinator']),
    since: Time,
    /** When the fallback acts, and what it does; without it there is no such moment. */
    deadline: Type.Optional(Time),
    fallback: Type.Optional(Type.String()),
    /** What `modify` may change. */
    changes: Type.Array(Type.String()),
    /** All of it: the task with its prompt, the letter, the conflict with its proposal. */
    subject: Type.Optional(Type.Unknown()),
  },
  closed,
)
export type GateView = Static<typeof GateViewSchema>

export type GateDecision =
  | { readonly decision: 'approve' | 'reject'; readonly reason?: string }
  | {
      readonly decision: 'modify'
      readonly changes: Readonly<Record<string, unknown>>
      readonly reason?: string
    }

/** `envelope`: words for the agent, which then goes on. `delegate`: the coordinator is to handle it. */
export type QuestionAnswer =
  | { readonly answer: 'envelope'; readonly text: string }
  | { readonly answer: 'abort' | 'delegate' }

export interface Injection {
  /** A task of the plan or a workspace; the coordinator without it. */
  readonly to?: string
  readonly text: string
  /** A registered envelope type; `feedback` for agents, `directive` for the coordinator. */
  readonly type?: string
  readonly priority?: 'normal' | 'urgent' | 'blocking'
}

/** One limit of one workspace or task, and how far it is used. */
export const BudgetViewSchema = Type.Object(
  {
    /** The task, or `run` for what holds for all of it. */
    task: Type.String(),
    workspace: Type.Optional(Type.String()),
    dimension: Type.Enum([...BUDGET_DIMENSIONS]),
    limit: Amount,
    used: Amount,
    /** Past the warning's mark. */
    warned: Type.Boolean(),
  },
  closed,
)
export type BudgetView = Static<typeof BudgetViewSchema>

export const UserViewSchema = Type.Object(
  {
    user: Type.String(),
    state: Type.Enum([...USER_STATES]),
    capabilities: Type.Array(Type.Enum([...CAPABILITIES])),
    /** Gates and questions that are addressed to this user now. */
    waiting: Type.Integer({ minimum: 0 }),
  },
  closed,
)
export type UserView = Static<typeof UserViewSchema>

export type UserAct =
  | {
      readonly act: 'suspend' | 'resume' | 'block' | 'unblock' | 'deactivate' | 'reactivate'
      readonly reason: string
    }
  | { readonly act: 'grant' | 'revoke'; readonly capability: Capability; readonly reason?: string }

/** Refusals have the kernel's codes: `permission_denied`, `invalid_state`, `invalid_argument`, `not_found`; and `ambiguous` for short ids. */
export interface HighwayConducting {
  /** Everything that waits for a person, the oldest first; of one run, if one is named. */
  gates(run?: RunId): Promise<readonly GateView[]>
  /** The same as it is now, and again after every change. */
  watchGates(signal?: AbortSignal): AsyncIterable<readonly GateView[]>
  /** A gate by its id or a unique beginning of it, or by its run: then every task of its plan that waits is answered, each by itself. */
  respond(
    gate: string,
    answer: GateDecision & { readonly principal: Principal },
  ): Promise<Result<{ readonly run: RunId; readonly gates: readonly string[] }>>
  /** A question by its id, by a unique beginning of it, or by its run if there is just one. */
  reply(
    question: string,
    answer: QuestionAnswer & { readonly principal: Principal },
  ): Promise<Result<{ readonly run: RunId }>>
  inject(
    run: RunId,
    injection: Injection & { readonly principal: Principal },
  ): Promise<Result<{ readonly envelope: string }>>
  /** One task's work is paused; mail for it is held. Without a task: all work of the run. */
  suspend(
    run: RunId,
    by: { readonly principal: Principal; readonly reason: string; readonly task?: string },
  ): Promise<Result<void>>
  resume(run: RunId, by: { readonly principal: Principal; readonly task?: string }): Promise<Result<void>>
  /** Ends the work on one task, or the whole run. */
  abort(
    run: RunId,
    by: {
      readonly principal: Principal
      readonly reason: string
      readonly task?: string
      /** Milliseconds to finish in (W-TERM-01): agents are told, and what is not done then is ended. */
      readonly grace?: number
    },
  ): Promise<Result<void>>
  budgets(run: RunId): Promise<Result<readonly BudgetView[]>>
  /** A higher limit for a task's work, or for the run. */
  raiseBudget(
    run: RunId,
    raise: {
      readonly principal: Principal
      readonly task?: string
      readonly dimension: string
      readonly limit: number
    },
  ): Promise<Result<void>>
  users(): Promise<readonly UserView[]>
  /** A person that the authentication boundary has accepted; known from then on. */
  accept(principal: Principal, method: string): Promise<Result<void>>
  changeUser(user: string, act: UserAct & { readonly principal: Principal }): Promise<Result<void>>
}
