// Who calls. A caller on the socket is the profile's owner, since only the owner can open its file; a request with a
// token is that turn's agent and nothing more, whatever link it came on.
import { userInfo } from 'node:os'
import type { AgentVerbs, Coordination } from '@parley/coordinator'
import { type IdentityProvider, invariant, type Principal } from '@parley/core'

export const OWNER_SCOPE = 'owner'
export const WORKSPACE_SCOPE = 'workspace'

export function ownerPrincipal(): Principal {
  const name = userName()
  const id = /^[\x21-\x7e]{1,64}$/.test(name) ? name : `uid-${process.getuid?.() ?? 'unknown'}`
  return { id, kind: 'user', scopes: [OWNER_SCOPE] }
}

/** Empty for a user without a name, as containers run them. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return ''
  }
}

/** Tokens of turns as identities, and the way from such an identity to the inside of its workspace. */
export class TurnIdentities implements IdentityProvider {
  readonly #coordinator: Pick<Coordination, 'verbs'>
  readonly #verbs = new WeakMap<Principal, AgentVerbs>()

  constructor(coordinator: Pick<Coordination, 'verbs'>) {
    this.#coordinator = coordinator
  }

  async byFingerprint(): Promise<undefined> {
    return undefined
  }

  /**
   * Never nothing: a token that does not resolve would leave the link's identity in force (CALL-ACL-06), and on this
   * socket that is the owner. An agent whose turn is over must not become more than it was.
   */
  async byToken(token: string): Promise<Principal> {
    const verbs = this.#coordinator.verbs(token)
    if (!verbs.ok) return { id: 'nobody', kind: 'agent', scopes: [WORKSPACE_SCOPE] }
    const principal: Principal = { ...verbs.value.principal, kind: 'agent', scopes: [WORKSPACE_SCOPE] }
    this.#verbs.set(principal, verbs.value)
    return principal
  }

  verbsOf(principal: Principal | undefined): AgentVerbs | undefined {
    const verbs = principal && this.#verbs.get(principal)
    invariant(!verbs || principal?.kind === 'agent', 'what a token opens is opened for an agent, never for the owner')
    return verbs
  }
}
