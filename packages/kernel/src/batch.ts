// One command's entries and objects in trail order, stamped (W-CLOCK-03) and filed (wacp-primitives 0.4).
import {
  type CheckpointId,
  type EntryId,
  formatTimestamp,
  type GateId,
  type IdSource,
  type ObjectId,
  type Ticks,
  type Timestamp,
  type WorkspaceId,
} from '@parley/core'
import { type ContentScope, type EntryDraft, type ProposedEntry, stamp, type TrailObject } from '@parley/trail'
import type { Capability, DeploymentModel, EventBody, EventType, UserState } from '@parley/trail/events'
import type { Evidence } from './checkpoint/checkpoint.ts'
import type { Gate, GateOutcome } from './highway/gate.ts'
import type { Identify } from './integrity/identity.ts'
import type { Proofs } from './integrity/proofs.ts'
import type { ObjectKind } from './objects.ts'
import { type Refusal, type RefusalCode, refusal } from './refusal.ts'
import type { Run } from './run/run.ts'
import type { CapacityProbe } from './workspace/create.ts'
import { ended, isRoot, type Workspace } from './workspace/workspace.ts'

export interface Context {
  /** The first tick that this command may use; the runtime takes as many as there are entries. */
  readonly now: Ticks
  readonly ids: IdSource
  /** The users that are known. A runtime without a registry takes every name that is not reserved (W-USER-07). */
  readonly users?: UserDirectory | undefined
  /** The transport carries signals too, so that each is delivered by an arrival of its own. */
  readonly carriesSignals?: boolean
  /** Makes and checks the proofs of envelopes and checkpoints (W-SEC-07, -09). Without it there are none: level 1. */
  readonly proofs?: Proofs | undefined
  /** Proof of the checkpoint that this command may merge, where an earlier decision lacked it (W-INT-05). */
  readonly evidence?: Evidence | undefined
  /** Assigns agents to workspaces (W-SEC-03). Without it each workspace has an agent of its own. */
  readonly identify?: Identify | undefined
  readonly level?: 1 | 2 | 3 | undefined
  /** Percent by which a report of use may differ from the meter (W-CP-10). */
  readonly resourceTolerance?: number | undefined
  /** Escalations that may wait for one user who is away (W-HWY-21). */
  readonly escalationQueue?: number | undefined
  /** What the machine has left (W-WS-20). Without it there is room for everything. */
  readonly capacity?: CapacityProbe | undefined
  /** What the runtime vouches for (W-SEC-13); `single-runtime` where it is left out. */
  readonly deployment?: DeploymentModel | undefined
}

export interface UserDirectory {
  stateOf(user: string): UserState | undefined
  /** Whether the user holds just this capability; `view_trail_own` is everybody's (W-USER-14). */
  holds(user: string, capability: Capability): boolean
}

export class Batch {
  readonly run: Run
  readonly context: Context
  readonly entries: EntryDraft[] = []
  readonly objects: TrailObject[] = []
  readonly gatesOpened: Gate[] = []
  readonly gatesEnded = new Map<GateId, GateOutcome>()
  /** How many gates wait for whom; counted when the first is opened, and again after one has ended. */
  gateQueues: Map<string, number> | undefined
  /** A checkpoint whose proof the decision needs: it counts for nothing, and is to be made again with that. */
  lacks: CheckpointId | undefined
  readonly #ended = new Set<Workspace>()
  readonly #moved = new Map<Workspace, Workspace>()

  constructor(run: Run, context: Context) {
    this.run = run
    this.context = context
  }

  get at(): Timestamp {
    return formatTimestamp((this.context.now + this.entries.length) as Ticks)
  }

  newId<Id extends string>(prefix: string): Id {
    return this.context.ids.next(prefix) as Id
  }

  /** Files an entry under a workspace by record or id; under none once that is terminal (W-TRAIL-08). */
  add<T extends EventType>(
    type: T,
    workspace: Workspace | WorkspaceId | null,
    actor: string,
    body: EventBody<T>,
  ): EntryId {
    const id = this.newId<EntryId>('e')
    const filed = workspace === null || typeof workspace === 'string' ? workspace : this.#filed(workspace)
    const entry = { id, timestamp: this.at, workspace: filed, actor, event_type: type, body: body as EventBody }
    this.entries.push(entry)
    return id
  }

  #filed(workspace: Workspace): WorkspaceId | null {
    return this.isEnded(workspace) ? null : workspace.id
  }

  /** `scope` says whose content it is (W-SEC-13): without one it is the run's, and no agent gets its key. */
  store(kind: ObjectKind, id: string, value: unknown, scope?: ContentScope): void {
    this.objects.push({ id: id as ObjectId, kind, value, ...(scope && { scope }) })
  }

  /** Adds an entry that the trail asked for; its workspace may have ended since it was proposed (W-TRAIL-08). */
  propose(entry: ProposedEntry): void {
    const workspace = entry.workspace && this.run.workspaces.get(entry.workspace)
    const filed = workspace ? this.#filed(workspace) : entry.workspace
    this.entries.push(stamp({ ...entry, workspace: filed }, this.newId<EntryId>('e'), this.at))
  }

  isEnded(workspace: Workspace): boolean {
    return ended(workspace) || this.#ended.has(workspace)
  }

  /** To be called after the entry that makes it terminal was added. */
  markEnded(workspace: Workspace): void {
    this.#ended.add(workspace)
  }

  parentOf(workspace: Workspace): Workspace | null {
    return this.#moved.get(workspace) ?? workspace.parent
  }

  /** To be called after the entry that gives it another parent was added. */
  markMoved(workspace: Workspace, parent: Workspace): void {
    this.#moved.set(workspace, parent)
  }

  /** Records that an agent was denied something, and makes the refusal (W-ROLE-13, W-SEC-12). */
  deny(caller: Workspace, denial: Denial): Refusal {
    const gone = this.isEnded(caller) && { workspace: caller.id }
    return this.#denied(caller, actorOf(caller), null, denial, gone)
  }

  denyOperation(
    caller: Workspace,
    operation: string,
    { reason = 'permission_denied', ...denial }: OperationDenial,
  ): Refusal {
    return this.deny(caller, { capability: `operation:${operation}`, action: operation, reason, ...denial })
  }

  /** The same for a user (W-USER-13): the entry is system-level and its actor is the user. */
  denyUser(user: string, denial: Denial): Refusal {
    return this.#denied(null, user, user, denial, false)
  }

  #denied(
    filed: Workspace | null,
    actor: string,
    user_id: string | null,
    { capability, action, target, reason, message, code = 'permission_denied' }: Denial,
    gone: false | { readonly workspace: WorkspaceId },
  ): Refusal {
    const entry = this.add('capability_denied', filed, actor, {
      user_id,
      capability,
      action,
      ...(target !== undefined && { target }),
      reason,
      ...gone,
      timestamp: this.at,
    })
    return refusal(code, message, { reason, entry })
  }
}

export interface Denial {
  readonly capability: string
  readonly action: string
  readonly target?: string
  readonly reason: EventBody<'capability_denied'>['reason']
  readonly message: string
  readonly code?: RefusalCode
}

type OperationDenial = Omit<Denial, 'capability' | 'action' | 'reason'> & { readonly reason?: Denial['reason'] }

/** Header actor of an agent's acts (0.3): the coordinator is the system. */
export function actorOf(workspace: Workspace): string {
  return isRoot(workspace) ? 'system' : workspace.role
}

/** `body.initiator` of what an agent decided (W-LIFE-05). */
export function initiatorOf(workspace: Workspace): string {
  return isRoot(workspace) ? 'coordinator' : workspace.role
}

/** Clips what a caller wrote to the length that a body takes; half a character would be no JSON text. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text
  const clipped = text.slice(0, length)
  return clipped.isWellFormed() ? clipped : clipped.slice(0, -1)
}
