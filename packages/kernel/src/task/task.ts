// Tasks and their graphs (W-TASK-01, -02), the transition table (W-TASK-04), and what a submission looks like.
import {
  type CheckpointId,
  type EnvelopeId,
  type GraphId,
  type Static,
  type TaskId,
  type Timestamp,
  Type,
  type WorkspaceId,
} from '@parley/core'
import {
  bodyLimits,
  TASK_PRIORITIES,
  type TaskPriority,
  type TaskStatus,
  type WorkspacePriority,
} from '@parley/trail/events'
import { kernelLimits } from '../limits.ts'

/** W-TASK-17. */
const EstimateSchema = Type.Object(
  {
    tokens: Type.Optional(Type.Integer({ minimum: 0 })),
    wall_time: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    cost: Type.Optional(Type.Number({ minimum: 0 })),
  },
  { additionalProperties: false },
)
type ResourceEstimate = Static<typeof EstimateSchema>

/** Tasks of one submission name each other by `key`; `depends_on` and `parent_task` take keys or existing ids. */
const TaskDraftSchema = Type.Object(
  {
    key: Type.Optional(Type.String({ minLength: 1, maxLength: bodyLimits.nameLength })),
    name: Type.String({ minLength: 1, maxLength: bodyLimits.taskNameLength }),
    description: Type.String({ maxLength: kernelLimits.payloadLength }),
    depends_on: Type.Optional(Type.Array(Type.String(), { maxItems: kernelLimits.dependencies })),
    parent_task: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    priority: Type.Optional(Type.Enum([...TASK_PRIORITIES])),
    resource_estimate: Type.Optional(EstimateSchema),
  },
  { additionalProperties: false },
)
export type TaskDraft = Static<typeof TaskDraftSchema>

export const TaskDraftsSchema = Type.Array(TaskDraftSchema, {
  minItems: 1,
  maxItems: kernelLimits.submittedTasks,
})

/** What the content store keeps: the texts never stand on the trail (W-TASK-20). */
export interface TaskText {
  readonly description: string
  readonly resource_estimate?: ResourceEstimate
}

export interface Task {
  readonly id: TaskId
  readonly graph: GraphId
  /** Name, priority and text change only at the task's gate (W-TASK-01). */
  name: string
  priority: TaskPriority
  readonly dependsOn: readonly TaskId[]
  readonly parentTask: TaskId | null
  text: TaskText
  readonly timestamp: Timestamp
  status: TaskStatus
  workspace: WorkspaceId | null
  readonly history: WorkspaceId[]
  checkpoint: CheckpointId | null
}

export interface GraphCause {
  readonly caused_by: EnvelopeId
  readonly originator: string
}

export interface Graph {
  readonly id: GraphId
  readonly originator: string | undefined
  readonly rootTask: TaskId
  readonly timestamp: Timestamp
  readonly tasks: TaskId[]
}

/** W-TASK-04 without its first row; rows 11 and 14 are A-44. */
export const TASK_TRANSITIONS: { readonly [From in TaskStatus]: readonly TaskStatus[] } = {
  draft: ['pending', 'cancelled'],
  pending: ['assigned', 'cancelled'],
  assigned: ['in_progress', 'failed', 'cancelled'],
  in_progress: ['completed', 'failed', 'cancelled'],
  completed: ['integrated', 'failed', 'cancelled'],
  failed: ['pending', 'cancelled'],
  integrated: [],
  cancelled: [],
}

/** W-TASK-18. */
export const INHERITED_PRIORITY: { readonly [P in TaskPriority]: WorkspacePriority } = {
  normal: 'normal',
  elevated: 'interactive',
  urgent: 'critical',
}
