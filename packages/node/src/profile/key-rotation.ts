// Rotations of the key on the record: in the house run, as `authentication_succeeded` of the owner with the method
// `key_rotation`, since the new key is accepted on the word of the old one. The registry of events is closed and has
// none of its own for this.
import type { Coordination } from '@parley/coordinator'
import { type Clock, err, formatTimestamp, ok, type Principal, type Result } from '@parley/core'
import { fingerprint } from '@parley/keys'
import type { Trail, TrailKey } from '@parley/trail'
import { DamagedRuns } from '../damaged-runs.ts'
import type { NodeLink } from '../link/node-link.ts'

export interface RotationParts {
  readonly trail: Trail
  readonly coordinator: Pick<Coordination, 'users'>
  /** Continues with the new key. */
  readonly link: Pick<NodeLink, 'rekey'>
  readonly clock: Clock
  /** Under whose name a rotation is on record. */
  readonly owner: Principal
}

/**
 * Puts a new key in place of the profile's one (ALP-ID-05), on record and in the running link. Refuses as
 * `Trail.rotateKey`.
 */
export async function rotateKey(
  parts: RotationParts,
): Promise<Result<{ readonly old: TrailKey; readonly next: TrailKey; readonly recorded: boolean }>> {
  const { trail, coordinator, link, clock, owner } = parts
  const rotated = await trail.rotateKey(formatTimestamp(clock.now()))
  if (!rotated.ok) return rotated
  const recorded = await recordRotations(trail, coordinator, owner)
  await link.rekey()
  return ok({ old: trail.keys.at(-2)!, next: rotated.value, recorded: recorded.ok })
}

/**
 * Makes up for every rotation that is not on record yet: what a crash kept from it is done at the next start, at worst
 * twice.
 */
export async function recordRotations(
  trail: Pick<Trail, 'unrecordedKeys' | 'recordedKey'>,
  coordinator: Pick<Coordination, 'users'>,
  owner: Principal,
): Promise<Result<void>> {
  for (const { key, endorsement } of trail.unrecordedKeys) {
    // It accepts everybody and records nothing.
    if (coordinator instanceof DamagedRuns) return err(coordinator.error)
    const former = endorsement ? ` ${fingerprint(endorsement.from)}` : ''
    const recorded = await coordinator.users.accept(owner, `key_rotation${former} ${fingerprint(key)}`)
    if (!recorded.ok) return recorded
    // Where the note cannot be written, the next start records it again: the key itself is in place.
    const noted = await trail.recordedKey(key)
    if (!noted.ok) return noted
  }
  return ok(undefined)
}
