// People for tests: accepted by the real registry of the house run, and the house's trail as a list that can be
// compared.
import { type RunId, unwrap } from '@parley/core'
import type { Entry } from '@parley/trail'
import type { Capability } from '@parley/trail/events'
import type { UserHandle } from '../runtime/handle/user-handle.ts'
import { type Fixture, type FixtureOptions, fixture, type Row } from './fixture.ts'

/** A run whose users are those of the house. */
export function withUsers(options: FixtureOptions = {}): Promise<Fixture> {
  return fixture({ users: 'house', ...options })
}

/** Somebody who has logged in and holds these capabilities. */
export async function person(f: Fixture, user: string, ...capabilities: Capability[]): Promise<UserHandle> {
  const handle = unwrap(await f.runtime.users.accept({ user, method: 'password' }))
  for (const capability of capabilities) unwrap(await f.runtime.users.grant(user, capability))
  return handle
}

/** What the house recorded since it was last asked. */
export function houseWatch(f: Fixture): () => Promise<readonly Row[]> {
  const seen = new Map<RunId, number>()
  return async () => {
    const house = f.runtime.house.run
    const entries: readonly Entry[] = await unwrap(await f.runtime.open(house)).entries()
    const added = entries.slice(seen.get(house) ?? 0)
    seen.set(house, entries.length)
    return added.map(entry => f.row(entry))
  }
}

/** What a user was denied. */
export function userDenial(user: string, action: string, capability: string, reason: string, target = 'W'): Row {
  return ['capability_denied', null, user, { user_id: user, capability, action, target, reason }]
}

/** Somebody is not who they say. */
export function unauthenticated(entity: string, context: string, reason: string, source: string): Row {
  return ['authentication_failed', null, 'protocol', { entity, context, reason, source }]
}
