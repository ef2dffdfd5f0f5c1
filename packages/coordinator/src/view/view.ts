// What people and programs are shown of a run, the same for all clients: a projection of the trail, with what the turns
// at work are doing now laid over it.
import { machineCodes, type Static, Type } from '@parley/core'
import { GATE_TYPES } from '@parley/trail/events'
import { DOINGS } from '../projection/times.ts'
import { closed, GateViewSchema, MoveViewSchema, SalvageViewSchema, Time } from './people-view.ts'

const Count = Type.Integer({ minimum: 0 })

/** Measured for every turn: `turns`, `wall_ms`, `output_bytes`. The rest is there where the agents' output told it. */
export const UsageViewSchema = closed({
  /** Of agents: a check takes none. */
  turns: Count,
  wall_ms: Count,
  output_bytes: Count,
  tokens_in: Type.Optional(Count),
  tokens_out: Type.Optional(Count),
  tokens_cached: Type.Optional(Count),
  usd: Type.Optional(Type.Number({ minimum: 0 })),
})
export type UsageView = Static<typeof UsageViewSchema>

export const TASK_STATES = [
  'waiting',
  'gated',
  'ready',
  'working',
  'blocked',
  'suspended',
  'migrating',
  'conflicted',
  'reviewing',
  'integrating',
  'done',
  'failed',
  'cancelled',
] as const
export type TaskState = (typeof TASK_STATES)[number]

export const STEP_OUTCOMES = ['working', 'blocked', 'complete', 'failed', 'accepted', 'revise', 'rejected'] as const
export type StepOutcome = (typeof STEP_OUTCOMES)[number]

const PersonSaidSchema = closed({
  by: Type.String(),
  did: Type.Enum(['replied', 'sent_back', 'rejected']),
  /** Of a reply. */
  question: Type.Optional(Type.String()),
  text: Type.Optional(Type.String()),
})
export type PersonSaid = Static<typeof PersonSaidSchema>

/** One workspace on a task: an attempt at it, or a judgement of one. */
export const StepViewSchema = closed({
  kind: Type.Enum(['work', 'check', 'review', 'merge', 'team']),
  agent: Type.String(),
  /** Of a check: the command line. */
  command: Type.Optional(Type.String()),
  /** Which attempt it is, or belongs to. */
  attempt: Count,
  workspace: Type.String(),
  outcome: Type.Enum([...STEP_OUTCOMES]),
  started: Time,
  ended: Type.Optional(Time),
  /** What it said at its end: the answer, the judgement, or why it failed. */
  text: Type.Optional(Type.String()),
  /** What people said about it: replies to its questions, and why they did not let it be merged. */
  people: Type.Optional(Type.Array(PersonSaidSchema)),
  /** What set up its folder before its first turn, and how long that took. */
  setup: Type.Optional(closed({ command: Type.Array(Type.String()), wall_ms: Count })),
  /** Agents that took it over from one another. */
  moves: Type.Optional(Type.Array(MoveViewSchema)),
  /** Conversations of its program, by turn, and whether a turn went on with an earlier one. */
  sessions: Type.Optional(Type.Array(closed({ turn: Count, id: Type.String(), resumed: Type.Boolean() }))),
  usage: UsageViewSchema,
})
export type StepView = Static<typeof StepViewSchema>

export const PlanTaskViewSchema = closed({
  /** The name in the plan. */
  id: Type.String(),
  /** The task whose plan it is part of. */
  parent: Type.Optional(Type.String()),
  title: Type.String(),
  agent: Type.String(),
  state: Type.Enum([...TASK_STATES]),
  needs: Type.Array(Type.String()),
  /** The task whose place it takes if that one fails; one of the two is enough. */
  stands_in_for: Type.Optional(Type.String()),
  /** A person is asked before it starts, whatever was approved with the request. */
  approve: Type.Optional(Type.Literal(true)),
  attempt: Count,
  attempts: Count,
  /** The workspace of the newest attempt. */
  workspace: Type.Optional(Type.String()),
  started: Type.Optional(Time),
  ended: Type.Optional(Time),
  /** What its agent said last, one line. Only while it works. */
  activity: Type.Optional(Type.String()),
  /** Why it failed, waits or was sent back. */
  note: Type.Optional(Type.String()),
  /** It was asked to finish: until when, and why. */
  terminating: Type.Optional(closed({ until: Time, reason: Type.String() })),
  /** What failed work left, where somebody wants it or is asked. */
  salvage: Type.Optional(SalvageViewSchema),
  files: Type.Array(Type.String()),
  /** Every attempt with its judgements, in order. */
  steps: Type.Array(StepViewSchema),
  /** Files that it changed without being allowed to; they were put back. */
  refused: Type.Array(Type.String()),
  /** Links that it made and that lead out of the project; they were put back. */
  refused_links: Type.Optional(Type.Array(Type.String())),
  /** Pipes, sockets and devices that it made; they are not part of the work. */
  dropped: Type.Optional(Type.Array(Type.String())),
  /** Its symbolic links may lead out of the project. */
  symlinks: Type.Optional(Type.Literal('outside')),
  /** Links of its work that do. */
  outside_links: Type.Optional(Type.Array(Type.String())),
  usage: UsageViewSchema,
})
export type PlanTaskView = Static<typeof PlanTaskViewSchema>

/** What holds the node up: a fault of the machine, which is no fault of the work. */
export const MachineViewSchema = closed({
  code: Type.Enum([...machineCodes]),
  /** The file or folder that was used. */
  where: Type.String(),
  since: Time,
  message: Type.String(),
})
export type MachineView = Static<typeof MachineViewSchema>

export const RUN_STATES = ['waiting', 'working', 'done', 'failed', 'rejected', 'aborted'] as const
export type RunState = (typeof RUN_STATES)[number]

/** What a list tells of a run: one whose record is damaged has no view, and is listed all the same. */
export const LISTED_STATES = [...RUN_STATES, 'damaged'] as const
export type ListedState = (typeof LISTED_STATES)[number]

export const RunSummarySchema = closed({
  run: Type.String(),
  intent: Type.String(),
  team: Type.String(),
  /** Empty for a run whose agents work without files. */
  project: Type.String(),
  principal: Type.String(),
  state: Type.Enum([...LISTED_STATES]),
  started: Time,
  ended: Type.Optional(Time),
  tasks_done: Count,
  tasks_total: Count,
  usage: UsageViewSchema,
  /** It comes from elsewhere: whose key has sealed the file, and since when it is here. */
  imported: Type.Optional(closed({ from: Type.String(), at: Time })),
  /** Milliseconds up to `since`: agents worked, or nothing went on until a person answered or a slot was free. */
  times: Type.Optional(
    closed({ working: Count, person: Count, slot: Count, other: Count, doing: Type.Enum([...DOINGS]), since: Time }),
  ),
  /** What a person has to answer: how much, and the oldest question. `alone`: nothing else is at work meanwhile. */
  waits: Type.Optional(closed({ things: Count, question: Type.String(), alone: Type.Boolean() })),
  /** It is not over, and waits for the machine. */
  machine: Type.Optional(MachineViewSchema),
})
export type RunSummaryView = Static<typeof RunSummarySchema>

/** What the folders of these agents, and of checks of their work, hold beside the project's files. */
export const FurnishingViewSchema = closed({
  agents: Type.Array(Type.String()),
  /** A program and its arguments. */
  setup: Type.Optional(Type.Array(Type.String())),
  /** Globs of ignored files. */
  carry: Type.Optional(Type.Array(Type.String())),
})
export type FurnishingView = Static<typeof FurnishingViewSchema>

export const APPLY_WAYS = ['squash', 'merge', 'patch'] as const
/** How the result of a project that is no repository is applied. */
export const COPY = 'copy'

/** A result that was taken over into a branch of the user's. */
const ApplicationViewSchema = closed({
  by: Type.String(),
  at: Time,
  how: Type.Enum([...APPLY_WAYS, COPY]),
  folder: Type.String(),
  branch: Type.Optional(Type.String()),
  commit: Type.String(),
  /** When it was taken back. */
  undone: Type.Optional(Time),
})
export type ApplicationView = Static<typeof ApplicationViewSchema>

export const RunViewSchema = closed({
  ...RunSummarySchema.properties,
  state: Type.Enum([...RUN_STATES]),
  tasks: Type.Array(PlanTaskViewSchema),
  /** What runs in folders before anybody works there, and what is copied into them; undefined for neither. */
  folders: Type.Optional(Type.Array(FurnishingViewSchema)),
  /** What a person is asked before, on the way. */
  asks_before: Type.Optional(Type.Array(Type.Enum([...GATE_TYPES]))),
  /** What waits for a person. */
  gates: Type.Array(GateViewSchema),
  /** Why it did not come to a good end. */
  reason: Type.Optional(Type.String()),
  /** What is integrated so far. */
  result: Type.Optional(
    closed({
      commit: Type.String(),
      base: Type.String(),
      /** Of a git project, once the run has ended. */
      branch: Type.Optional(Type.String()),
      /** Of any other project: a folder with the result. */
      folder: Type.Optional(Type.String()),
      files: Type.Array(Type.String()),
      /** Which of them the run deleted, where there are any. */
      deleted: Type.Optional(Type.Array(Type.String())),
    }),
  ),
  /** Where the result was applied, the oldest first; of a run that is over, where somebody did. */
  applied: Type.Optional(Type.Array(ApplicationViewSchema)),
  /** Why nobody can tell what the run changed; there is no `result` then. */
  result_unknown: Type.Optional(Type.String()),
  warnings: Type.Array(Type.String()),
  /** `seq` of the newest entry that this shows. */
  cursor: Count,
})
export type RunView = Static<typeof RunViewSchema>

/** Nothing goes on with what is damaged. */
export function isOver(state: ListedState): boolean {
  return state !== 'waiting' && state !== 'working'
}
