// /trail: the keys that sign the record, and putting a new one in place. The key is the profile's one identity
// (ALP-ID-05): rotating it is rotating that.
import { type Static, Type } from '@parley/core'
import { fingerprint } from '@parley/keys'
import type { TrailKey } from '@parley/trail'
import { object } from '../../object.ts'
import { rotateKey } from '../../profile/key-rotation.ts'
import type { OperationDeps } from '../deps.ts'
import { answerOf, mutation, Nothing, orNull, query } from '../spec.ts'

const KeySchema = object({
  key: Type.String({ description: 'The public key: base64 of its 32 bytes' }),
  fingerprint: Type.String(),
  since: orNull(Type.String(), 'Timestamp; null where nobody noted it'),
  until: orNull(Type.String(), 'Timestamp of the last entry that it may have signed; null for the one in use'),
  /** The key before it has signed that it follows, and it has signed that too. */
  endorsed_by: orNull(Type.String()),
})

export function trailKeyService(deps: OperationDeps) {
  const { trail } = deps
  return {
    '/trail/keys': query({
      description: 'The public keys that have signed the record, the one in use last.',
      input: Nothing,
      output: object({ keys: Type.Array(KeySchema) }),
      handle: () => ({ keys: trail.keys.map(keyView) }),
    }),
    '/trail/rotate-key': mutation({
      description:
        'Puts a new key in place of the one that signs, from the next entry on. The old one endorses it, and stays good for what it has signed. Peers get silence, and give it, until they have pinned the new one.',
      input: Nothing,
      output: object({
        old: KeySchema,
        new: KeySchema,
        /** It is on record in the trail. */
        recorded: Type.Boolean(),
      }),
      refuses: ['not_signed', 'trail_unavailable', 'trail_full'],
      handle: async () => {
        const { old, next, recorded } = await answerOf(rotateKey(deps))
        return { old: keyView(old), new: keyView(next), recorded }
      },
    }),
  }
}

function keyView({ key, since, until, endorsement }: TrailKey): Static<typeof KeySchema> {
  return { key, fingerprint: fingerprint(key), since, until, endorsed_by: endorsement?.from ?? null }
}
