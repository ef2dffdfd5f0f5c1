// Rotations of the key on the record: in the house run, as `authentication_succeeded` of the owner with the method `key_rotation`, since
// the new key is accepted on the word of the old one. The registry of events is closed and has none of its own for this.
import type { Conducting } from '@parley/coordinator'
import { err, ok, type Principal, type Result } from '@parley/core'
import { fingerprint, type Trail } from '@parley/trail'
import { IdleConductor } from './idle-conductor.ts'

/** Makes up for every rotation that is not on record yet: what a crash kept from it is done at the next start, at worst twice. */
export async function recordRotations(
  trail: Pick<Trail, 'unrecordedKeys' | 'recordedKey'>,
  conductor: Pick<Conducting, 'accept'>,
  owner: Principal,
): Promise<Result<void>> {
  for (const { key, endorsement } of trail.unrecordedKeys) {
    // It accepts everybody and records nothing.
    if (conductor instanceof IdleConductor) return err(conductor.error)
    const former = endorsement ? ` ${fingerprint(endorsement.from)}` : ''
    const recorded = await conductor.accept(owner, `key_rotation${former} ${fingerprint(key)}`)
    if (!recorded.ok) return recorded
    await trail.recordedKey(key)
  }
  return ok(undefined)
}
