// What the node shows of runs, tasks, gates, trails and agents, as its operations declare it.
import type { InputOf, OutputOf } from '@parley/call'
import type { NodeOperations } from '@parley/node'

type Answer<Path extends keyof NodeOperations & string> = OutputOf<NodeOperations, Path>

export type NodeStatus = Answer<'/node/status'>
/** What holds a node up. */
export type MachineView = NonNullable<NodeStatus['machine']>
export type RunSummaryView = Answer<'/runs/list'>['runs'][number]
export type RunView = Answer<'/runs/show'>
export type RunState = RunView['state']
/** One whose record is damaged is listed, and cannot be shown. */
export type ListedState = RunSummaryView['state']
export type PlanTaskView = RunView['tasks'][number]
export type TaskState = PlanTaskView['state']
/** An attempt at a task, or a judgement of one. */
export type StepView = PlanTaskView['steps'][number]
export type UsageView = RunView['usage']
export type GateView = Answer<'/gates/list'>['gates'][number]
export type BudgetView = Answer<'/budgets/list'>['budgets'][number]
/** What the profile has spent today. */
export type TodayView = Answer<'/budget/today'>
/** What can be raised. */
export type BudgetLimit = InputOf<NodeOperations, '/budgets/raise'>['dimension']
export type UserView = Answer<'/users/list'>['users'][number]
export type UserAct = InputOf<NodeOperations, '/users/change'>['act']
export type TrailPage = Answer<'/trail/query'>
export type EntryView = TrailPage['entries'][number]
export type VerifyView = Answer<'/trail/verify'>
export type HeadView = Answer<'/trail/heads'>['heads'][number]
export type ImportView = Answer<'/trail/import'>
export type KeyView = Answer<'/trail/keys'>['keys'][number]
export type TiersView = Answer<'/trail/tiers'>
export type CompactedView = Answer<'/trail/compact'>
export type SnapshotView = Answer<'/trail/snapshot'>
export type RestoreView = Answer<'/trail/restore'>
export type RotationView = Answer<'/trail/rotate-key'>
export type MigrationView = Answer<'/workspaces/migrate'>
export type LeftView = Answer<'/workspaces/left'>['left']
export type SalvageView = Answer<'/workspaces/salvage'>['salvage']
export type ProofView = Answer<'/trail/proof'>
export type AgentView = Answer<'/agents/list'>['agents'][number]
export type WorkspaceStatusView = Answer<'/workspaces/status'>
export type WorkspaceMailView = Answer<'/workspaces/inbox'>['mail'][number]
export type IdentityView = Answer<'/link/identity'>
export type IdentityRotationView = Answer<'/link/rotate-key'>
export type PeersView = Answer<'/peers/list'>
export type PeerView = PeersView['peers'][number]
export type PendingView = Answer<'/peers/pending'>['pending'][number]
export type PongView = Answer<'/link/ping'>
/** What comes of asking a peer: its session, its text as it comes, and at the end the answer. */
export type AskedView = Answer<'/link/ask'>
export type AnswerView = Extract<AskedView, { readonly type: 'answer' }>

export const LISTED_STATES = [
  'waiting',
  'working',
  'done',
  'failed',
  'rejected',
  'aborted',
  'damaged',
] as const satisfies readonly ListedState[]

export function isOver(state: RunState): boolean {
  return state !== 'waiting' && state !== 'working'
}
