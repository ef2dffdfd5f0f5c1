// The people that this node knows (W-USER-01 to -06, -12 to -15), kept in the house run. Coordinators of runs at work
// are notified of changes, which change nothing about workspaces by themselves.
import { ok, type Result, type RunId, type WorkspaceId } from '@parley/core'
import { CAPABILITIES, type Capability, type UserState } from '@parley/trail/events'
import type { UserDirectory } from '../batch.ts'
import type { Command } from '../command.ts'
import { waitingFor } from '../highway/escalation.ts'
import type { Run } from '../run/run.ts'
import type { FailedClaim, User, UserChange, UserChanged, UserEvent, UserTransition } from '../user/user.ts'
import { UserHandle, type UserHost } from './handle/user-handle.ts'
import type { Notice, UserTransitionEvent } from './notice.ts'

interface UserRecord {
  readonly user: string
  readonly state: UserState
  /** What was granted; `view_trail_own` is everybody's and stands for itself (W-USER-14). */
  readonly capabilities: readonly Capability[]
}

interface UserReason {
  readonly by?: string
  readonly reason: string
}

export interface UsersHost extends UserHost {
  readonly house: {
    submit<T>(command: Command): Promise<Result<T>>
    read<T>(reader: (state: Run) => T): Promise<T>
  }
  readonly active: readonly RunId[]
  read<T>(run: RunId, reader: (state: Run) => T): Promise<T>
  tell(run: RunId, notice: Notice): void
}

export class Users implements UserDirectory {
  readonly #host: UsersHost
  /** Committed state only, so that a decision of another run never rests on what may still be undone. */
  readonly #known = new Map<string, UserRecord>()

  constructor(host: UsersHost) {
    this.#host = host
  }

  async load(): Promise<void> {
    const users = await this.#host.house.read(state => [...state.users.values()].map(recordOf))
    for (const record of users) this.#known.set(record.user, record)
  }

  /** The authentication boundary vouches for this person; the first time makes them known (W-USER-04). */
  async accept(login: { readonly user: string; readonly method: string }): Promise<Result<UserHandle>> {
    const { user, method } = login
    const done = await this.#change({ type: 'authenticated', user, method })
    return done.ok ? ok(new UserHandle(this.#host, user)) : done
  }

  /** Somebody claimed to be somebody and was not believed (W-SEC-06). Rate limits come before this. */
  reject(claim: FailedClaim): Promise<Result<void>> {
    return this.#host.house.submit({ type: 'authentication_failed', claim })
  }

  readonly suspend = this.#transition('suspend')
  readonly resume = this.#transition('resume')
  readonly block = this.#transition('block')
  /** A suspension from before the block is in force again. */
  readonly unblock = this.#transition('unblock')
  readonly deactivate = this.#transition('deactivate')
  readonly reactivate = this.#transition('reactivate')

  #transition(type: UserTransition) {
    return (user: string, { by = 'system', reason }: UserReason): Promise<Result<UserRecord>> =>
      this.#change({ type, user, by, reason })
  }

  grant(user: string, capability: Capability, by = 'system'): Promise<Result<UserRecord>> {
    return this.#change({ type: 'grant', user, by, capability })
  }

  revoke(
    user: string,
    capability: Capability,
    { by = 'system', reason }: { readonly by?: string; readonly reason?: string } = {},
  ): Promise<Result<UserRecord>> {
    return this.#change({ type: 'revoke', user, by, capability, ...(reason !== undefined && { reason }) })
  }

  list(): readonly UserRecord[] {
    return [...this.#known.values()]
  }

  get(user: string): UserRecord | undefined {
    return this.#known.get(user)
  }

  stateOf(user: string): UserState | undefined {
    return this.#known.get(user)?.state
  }

  holds(user: string, capability: Capability): boolean {
    const record = this.#known.get(user)
    return record !== undefined && (capability === 'view_trail_own' || record.capabilities.includes(capability))
  }

  async #change(change: UserChange): Promise<Result<UserRecord>> {
    const done = await this.#host.house.submit<UserChanged>({ type: 'user', change })
    if (!done.ok) return done
    const { user, changes } = done.value
    const record = await this.#host.house.read(state => recordOf(state.users.get(user)!))
    this.#known.set(user, record)
    const transitions = changes.flatMap(({ event, state }) => (isTransition(event) ? [{ event, state }] : []))
    if (transitions.length > 0)
      for (const run of this.#host.active) await this.#announce(run, record, transitions).catch(() => undefined)
    return ok(record)
  }

  /** W-USER-06, -05. A run that cannot be read now misses the notice; the house's trail has the change. */
  async #announce(
    run: RunId,
    { user, state: now }: UserRecord,
    transitions: readonly { readonly event: UserTransitionEvent; readonly state: UserState }[],
  ): Promise<void> {
    const { root, waiting } = await this.#host.read(run, each => ({
      root: each.root?.id,
      waiting: waitingFor(each, user).map(({ signal, workspace }) => ({ signal, workspace })),
    }))
    if (root === undefined) return
    const to: WorkspaceId = root
    for (const change of transitions) this.#host.tell(run, { kind: 'user', to, user, ...change })
    if (now !== 'active') return
    for (const escalation of waiting)
      this.#host.tell(run, { kind: 'escalation', to, ...escalation, event: 'delivered', addressee: user })
  }
}

function isTransition(event: UserEvent): event is UserTransitionEvent {
  return event.startsWith('user_') && event !== 'user_created'
}

function recordOf({ id, state, capabilities }: User): UserRecord {
  const held = CAPABILITIES.filter(capability => capabilities.has(capability))
  return Object.freeze({ user: id, state, capabilities: Object.freeze(held) })
}
