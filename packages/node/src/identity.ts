// Who calls. Whoever reaches the socket is the profile's owner, since its file is for the owner only; a request with a token is that turn's
// agent and nothing more, whatever link it came on.
import { userInfo } from 'node:os'
import type { Conducting, WorkspaceDoor } from '@parley/coordinator'
import type { IdentityProvider, Principal } from '@parley/core'

export const OWNER_SCOPE = 'owner'
export const WORKSPACE_SCOPE = 'workspace'

export function ownerPrincipal(): Principal {
  return { id: userName(), kind: 'user', scopes: [OWNER_SCOPE] }
}

function userName(): string {
  try {
    const name = userInfo().username
    if (/^[\x21-\x7e]{1,64}$/.test(name)) return name
  } catch {
    // Containers run users without a name.
  }
  return `uid-${process.getuid?.() ?? 'unknown'}`
}

/** Tokens of turns as identities, and the way from such an identity to the inside of its workspace. */
export class TurnIdentities implements IdentityProvider {
  readonly #conductor: Pick<Conducting, 'door'>
  readonly #doors = new WeakMap<Principal, WorkspaceDoor>()

  constructor(conductor: Pick<Conducting, 'door'>) {
    this.#conductor = conductor
  }

  async byFingerprint(): Promise<undefined> {
    return undefined
  }

  /**
   * Never nothing: a token that does not resolve would leave the link's identity in force (CALL-ACL-06), and on this socket that is the
   * owner. An agent whose turn is over must not become more than it was.
   */
  async byToken(token: string): Promise<Principal> {
    const door = this.#conductor.door(token)
    if (!door.ok) return { id: 'nobody', kind: 'agent', scopes: [WORKSPACE_SCOPE] }
    const principal: Principal = { ...door.value.principal, kind: 'agent', scopes: [WORKSPACE_SCOPE] }
    this.#doors.set(principal, door.value)
    return principal
  }

  doorOf(principal: Principal | undefined): WorkspaceDoor | undefined {
    return principal && this.#doors.get(principal)
  }
}
