// What the node shows of runs, tasks, gates, trails and agents, as its operations declare it.
import type { Input, Output } from './client.ts'

export type DescribedAgent = Output<'/solve/start'>['agents'][number]
export type NodeStatus = Output<'/node/status'>
export type MachineView = NonNullable<NodeStatus['machine']>
export type RunSummaryView = Output<'/runs/list'>['runs'][number]
export type RunView = Output<'/runs/show'>
export type PromptsView = Output<'/runs/prompts'>
export type RunState = RunView['state']
/** A run with a damaged record is listed but cannot be shown. */
export type ListedState = RunSummaryView['state']
export type PlanTaskView = RunView['tasks'][number]
export type TaskState = PlanTaskView['state']
export type StepView = PlanTaskView['steps'][number]
export type UsageView = RunView['usage']
export type WorkView = Output<'/results/show'>
export type AppliedView = Output<'/results/apply'>
export type UndoneView = Output<'/results/undo'>
export type CleanedView = Output<'/results/clean'>['runs'][number]
export type LogItem = Output<'/tasks/follow'>
export type GateView = Output<'/gates/list'>['gates'][number]
/** With the work that is judged at it. */
export type ListedGate = GateView & { readonly work?: WorkView }
export type BudgetView = Output<'/budgets/list'>['budgets'][number]
export type TodayView = Output<'/budget/today'>
export type BudgetLimit = Input<'/budgets/raise'>['dimension']
export type UserView = Output<'/users/list'>['users'][number]
export type TrailPage = Output<'/trail/query'>
export type EntryView = TrailPage['entries'][number]
export type VerifyView = Output<'/trail/verify'>
export type HeadView = Output<'/trail/heads'>['heads'][number]
export type KeyView = Output<'/trail/keys'>['keys'][number]
export type TiersView = Output<'/trail/tiers'>
export type RotationView = Output<'/trail/rotate-key'>
export type LeftView = Output<'/workspaces/left'>['left']
export type SalvageView = Output<'/workspaces/salvage'>['salvage']
export type ProofView = Output<'/trail/proof'>
export type AgentView = Output<'/agents/list'>['agents'][number]
export type IdentityView = Output<'/link/identity'>
export type TokenView = Output<'/tokens/list'>['tokens'][number]
export type PeerView = Output<'/peers/list'>['peers'][number]
export type PendingView = Output<'/peers/pending'>['pending'][number]
/** What comes of asking a peer: its session, its text as it comes, and at the end the answer. */
export type AskedView = Output<'/link/ask'>
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
