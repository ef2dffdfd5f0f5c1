// What everything that drives one run works with.
import type { AgentAdapter, Clock, Result, WorkspaceId } from '@parley/core'
import type { RunHandle, UserHandle } from '@parley/kernel'
import type { FollowedPage } from '@parley/trail'
import type { Log, WorkspaceEvent } from '../contract.ts'
import type { Folders } from '../folder/folders.ts'
import type { Machine } from '../machine/machine.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { Setup } from '../team/folder-fields.ts'
import type { PlannedTask, TeamAgent } from '../team/team.ts'
import type { Semaphore } from '../turn/semaphore.ts'
import type { RunFacts, WorkspaceFacts } from './facts.ts'
import type { SetupRun } from './run-adapters.ts'

export interface RunParts {
  readonly run: RunHandle
  readonly principal: UserHandle
  /** Under whose name tasks are approved that nobody is asked about. */
  readonly approver: UserHandle
  readonly facts: RunFacts
  readonly folders: Folders
  readonly clock: Clock
  readonly machine: Machine
  readonly log: Log
  /** Durable entries behind a place on the trail. */
  readonly entries: (after: number) => Promise<Result<FollowedPage>>
  /** `agent`: what the run knows of the agent of this work. */
  readonly adapter: (work: WorkspaceFacts, task: PlannedTask, agent: TeamAgent | undefined) => AgentAdapter
  readonly setup: (workspace: WorkspaceId, setup: Setup) => SetupRun
  readonly token: (workspace: WorkspaceId, epoch: number) => string
  readonly environment: Readonly<Record<string, string>>
  /** Turns at once over all runs. */
  readonly turns: Semaphore
  /** `<agent>#<slot>`, with a slot that no live workspace has. */
  readonly identity: (agent: string) => string
  readonly release: (identity: string) => void
  /** What an agent says or does at its turn, for those who watch. */
  readonly onEvent: (event: WorkspaceEvent) => void
  /** The run is over. `tidy`: nothing of it is left to be cleaned up. */
  readonly onEnd: (tidy: boolean) => void
}

/** The same once the trail is followed. */
export interface RunAtWork extends RunParts {
  /** What the trail says, as far as it is read. */
  readonly projection: RunProjection
  /** Something that a view shows has changed. */
  readonly changed: () => void
  /** Looks what is next. */
  readonly poke: () => void
}
