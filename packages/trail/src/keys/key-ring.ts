// The public keys that have signed this trail (`keys.json`): old entries still verify. The last one is in use.
import { compile, ParleyError, type Static, type Timestamp, Type } from '@parley/core'
import { trailLimits } from '../limits.ts'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import { closed, type TrailKey, TrailKeySchema } from '../shapes.ts'

const FILE = 'keys.json'

const RingSchema = closed({
  version: Type.Literal(2),
  keys: Type.Array(TrailKeySchema, { maxItems: trailLimits.keys }),
  /** Keys whose rotation is not on record in the trail yet. */
  unrecorded: Type.Array(Type.String(), { maxItems: trailLimits.keys }),
})
type Ring = Static<typeof RingSchema>

const shape = compile(RingSchema)
/** How it was written before keys were rotated: the keys alone. */
const plainShape = compile(Type.Array(Type.String({ minLength: 44, maxLength: 44 })))

export class KeyRing {
  readonly #files: Files
  #ring: Ring

  /** Refuses with `keys_unreadable`. */
  constructor(files: Files) {
    this.#files = files
    this.#ring = read(files)
  }

  get keys(): readonly TrailKey[] {
    return this.#ring.keys
  }

  get unrecorded(): readonly string[] {
    return this.#ring.unrecorded
  }

  /**
   * A key that signs from now on. A new one replaces the last without an endorsement: a host's signer, never the
   * profile's own key, which must be the last one (key-file.ts). A former key is refused: what it signs now would count
   * as forged.
   */
  async use(key: string, at: Timestamp, until: Timestamp): Promise<void> {
    const { keys } = this.#ring
    if (keys.at(-1)?.key === key) return
    const known = keys.find(each => each.key === key)
    if (known && known.until !== null) throw retired(key, known.until, keys.at(-1)!.key)
    const others = keys.filter(each => each !== known)
    const before = others.map((each, index) =>
      index === others.length - 1 && !known && each.until === null ? { ...each, until } : each,
    )
    await this.#keep({ ...this.#ring, keys: [...before, known ?? { key, since: at, until: null }] })
  }

  /**
   * Replaces the last key by one that it endorses. After a failure the old key stays, unless that is uncertain:
   * `keys_uncertain` means that nothing may be signed before the list was read again.
   */
  async rotate(next: TrailKey): Promise<void> {
    const old = this.#ring
    const { keys, unrecorded } = old
    if (keys.length >= trailLimits.keys)
      throw new ParleyError('too_many_keys', `A trail has at most ${trailLimits.keys} keys.`)
    const until = next.endorsement?.until ?? null
    const before = keys.map((each, index) => (index === keys.length - 1 ? { ...each, until } : each))
    try {
      await this.#keep({ version: 2, keys: [...before, next], unrecorded: [...unrecorded, next.key] })
    } catch (cause) {
      if (!this.#inPlace(old)) await this.#restore(old)
      throw cause
    }
  }

  /** The new list never took this one's place: a full disk fails before that, and would fail again now. */
  #inPlace(ring: Ring): boolean {
    try {
      return JSON.stringify(read(this.#files)) === JSON.stringify(ring)
    } catch {
      return false
    }
  }

  /** A write that failed may be there all the same, or come back after a power loss: only another write makes sure. */
  async #restore(old: Ring): Promise<void> {
    try {
      await this.#keep(old)
    } catch (cause) {
      const message =
        'The list of keys, trail/keys.json in the profile, could not be written; whether the key was replaced is not certain. Nothing is signed until the node is started again.'
      throw new ParleyError('keys_uncertain', message, { cause })
    }
  }

  async recorded(key: string): Promise<void> {
    await this.#keep({ ...this.#ring, unrecorded: this.#ring.unrecorded.filter(each => each !== key) })
  }

  async #keep(ring: Ring): Promise<void> {
    await writeWhole(this.#files, FILE, Buffer.from(`${JSON.stringify(ring, null, 2)}\n`))
    this.#ring = ring
  }
}

function read(files: Files): Ring {
  const bytes = readWhole(files, FILE)
  if (bytes === undefined) return { version: 2, keys: [], unrecorded: [] }
  let parsed: unknown
  try {
    parsed = JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw unreadable(cause)
  }
  if (plainShape.is(parsed))
    return {
      version: 2,
      keys: parsed.map(key => ({ key, since: null, until: null })),
      unrecorded: [],
    }
  if (!shape.is(parsed)) throw unreadable(undefined)
  return parsed
}

export function retired(key: string, until: Timestamp, current: string): ParleyError {
  const message = `The profile's key ${key} was replaced: it signs nothing after ${until}. Restore the key that is in use now, ${current}, from a backup.`
  return new ParleyError('key_retired', message, { details: { key, until, current } })
}

function unreadable(cause: unknown): ParleyError {
  const message =
    'The list of keys, trail/keys.json in the profile, cannot be read: without it signatures of former keys cannot be told from forged ones. Restore it from a backup.'
  return new ParleyError('keys_unreadable', message, { cause })
}
