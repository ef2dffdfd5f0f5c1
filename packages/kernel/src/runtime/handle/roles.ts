// What each role sees of an agent's handle (W-ROLE-03, -04). A mistake that depends on the role alone does not compile.
import type { AgentHandle } from './agent.ts'

type Everyone =
  | 'run'
  | 'workspace'
  | 'agent'
  | 'role'
  | 'started'
  | 'failed'
  | 'look'
  | 'readMemory'
  | 'readCheckpoint'
  | 'readArtifact'
  | 'readEnvelope'
  | 'readContext'
  | 'meter'
  | 'remaining'
  | 'query'
  | 'aggregate'
  | 'subscribe'

type Mail = 'send' | 'seal' | 'consume' | 'receive' | 'thread'

type Work = 'emit' | 'complete' | 'escalate' | 'checkpoint' | 'changeCheckpoint'

type Team =
  | 'createWorkspace'
  | 'dispatch'
  | 'directive'
  | 'feedback'
  | 'abort'
  | 'suspend'
  | 'resume'
  | 'migrate'
  | 'terminate'
  | 'grantRight'
  | 'addTasks'
  | 'retryTask'
  | 'cancelTask'
  | 'changeTask'
  | 'removeTask'
  | 'dispatchable'
  | 'unresolvable'
  | 'task'
  | 'graph'
  | 'beginIntegration'
  | 'accept'
  | 'revise'
  | 'reject'
  | 'decideIntegration'
  | 'failIntegration'
  | 'salvage'
  | 'mergeSalvage'
  | 'discardSalvage'
  | 'integration'
  | 'readResult'
  | 'reportConflicts'
  | 'resolveConflict'
  | 'grantVisibility'
  | 'changePriority'
  | 'raiseBudget'

export type Coordinator = Pick<
  AgentHandle,
  | Everyone
  | Mail
  | Team
  | 'emit'
  | 'submitGraph'
  | 'rights'
  | 'revokeRight'
  | 'setAuthority'
  | 'setDelegate'
  | 'revokeVisibility'
  | 'topology'
  | 'batchPriority'
  | 'batchAbort'
  | 'transferOwnership'
  | 'reparent'
  | 'answerGate'
  | 'reportDegraded'
  | 'consult'
  | 'registerType'
>

export type Worker = Pick<AgentHandle, Everyone | Mail | Work | 'blocked' | 'writeMemory' | 'deleteMemory'>

/** Nobody's role lets them write to an observer, but people may: injected mail can be read (W-HWY-17). */
export type Observer = Pick<AgentHandle, Everyone | Work | 'consume' | 'receive'>

export type Delegate = Worker & Pick<AgentHandle, Team>

export type RoleName = string

/** A role that only a taxonomy knows gets a worker's handle; the kernel knows what it may do. */
export type AgentOf<Role extends RoleName, IsDelegate extends boolean = false> = IsDelegate extends true
  ? Delegate
  : Role extends 'observer'
    ? Observer
    : Worker

/** Who merges work into its own: the coordinator, or a delegate (W-INT-12). */
export type Integrator = Coordinator | Delegate
