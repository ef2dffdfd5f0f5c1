// The people of a profile. The kernel's users check and record every act; this decides what a new user may do, and that
// somebody can always let others in.
import { ok, type Principal, type Result, refuse } from '@parley/core'
import type { Runtime } from '@parley/kernel'
import { CAPABILITIES, type Capability } from '@parley/trail/events'
import type { GateView, UserView } from '../view/people-view.ts'
import type { By } from './acts.ts'

/** What it takes to tell the coordinator of one's own run something (W-HWY-17). */
const WISH = 'inject_directive'

type UserAct =
  | {
      readonly act: 'suspend' | 'resume' | 'block' | 'unblock' | 'deactivate' | 'reactivate'
      readonly reason: string
    }
  | { readonly act: 'grant' | 'revoke'; readonly capability: Capability; readonly reason?: string | undefined }

export class Users {
  readonly #users: Runtime['users']
  /** Everything that waits for somebody. */
  readonly #waiting: () => Promise<readonly GateView[]>

  constructor(users: Runtime['users'], waiting: () => Promise<readonly GateView[]>) {
    this.#users = users
    this.#waiting = waiting
  }

  async list(): Promise<readonly UserView[]> {
    const waiting = await this.#waiting()
    return this.#users.list().map(({ user, state, capabilities }) => ({
      user,
      state,
      capabilities: [...capabilities],
      waiting: waiting.filter(({ addressee }) => addressee === user).length,
    }))
  }

  /** As the record says it; undefined for somebody who is not known. */
  stateOf(user: string): UserView['state'] | undefined {
    return this.#users.stateOf(user)
  }

  /** A person that the authentication boundary has accepted; known from then on. */
  async accept(principal: Principal, method: string): Promise<Result<void>> {
    const users = this.#users
    const before = users.get(principal.id)
    const accepted = await users.accept({ user: principal.id, method })
    if (!accepted.ok) return accepted
    // Whoever owns the profile answers for all of it, from the first day on; what is taken away later stays so.
    if (before !== undefined || !principal.scopes.includes('owner')) return ok(undefined)
    for (const capability of CAPABILITIES) {
      const granted = await users.grant(principal.id, capability)
      if (!granted.ok) return granted
    }
    return ok(undefined)
  }

  /**
   * Makes the principal of a run, authenticated by the caller, a known user. One who does not own the profile may only
   * state wishes in runs of their own. `approves`: may approve tasks as well.
   */
  async admit(principal: Principal, method: string): Promise<Result<{ readonly approves: boolean }>> {
    const users = this.#users
    const { id } = principal
    if (users.get(id) === undefined) {
      const accepted = await this.accept(principal, method)
      const granted = accepted.ok && !users.holds(id, WISH) ? await users.grant(id, WISH) : accepted
      if (!granted.ok) return granted
    }
    const may = (own: Capability, any: Capability) => users.holds(id, own) || users.holds(id, any)
    const state = users.stateOf(id)
    if (state !== 'active') return refuse('permission_denied', `${id} may not start runs: ${state}.`)
    if (!may(WISH, 'inject_directive_any'))
      return refuse('permission_denied', `${id} may not start runs without the capability '${WISH}'.`)
    return ok({ approves: may('create_workspace', 'create_workspace_any') })
  }

  async change(user: string, { principal, ...act }: UserAct & By): Promise<Result<void>> {
    if (this.#locksOut(user, act))
      return refuse(
        'invalid_state',
        `${user} is the last who can change users. Give somebody else 'deactivate_user' first.`,
      )
    const changed = await changeOf(this.#users, user, act, principal.id)
    return changed.ok ? ok(undefined) : changed
  }

  /** Somebody must stay who can let others in again. */
  #locksOut(user: string, act: UserAct): boolean {
    const takes =
      act.act === 'revoke' ? act.capability === 'deactivate_user' : ['suspend', 'block', 'deactivate'].includes(act.act)
    const known = this.#users.list()
    const others = known.filter(
      each => each.user !== user && each.state === 'active' && each.capabilities.includes('deactivate_user'),
    )
    return takes && others.length === 0 && known.some(each => each.user === user)
  }
}

/** States are changed under the person's name; capabilities are the system's to give (W-USER-15). */
function changeOf(users: Runtime['users'], user: string, act: UserAct, by: string): Promise<Result<unknown>> {
  switch (act.act) {
    case 'grant':
      return users.grant(user, act.capability)
    case 'revoke':
      return users.revoke(user, act.capability, { ...(act.reason !== undefined && { reason: act.reason }) })
    default:
      return users[act.act](user, { by, reason: act.reason })
  }
}
