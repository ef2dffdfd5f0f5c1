// The key of a profile and its list of former keys as one: opened after any crash, and rotated so that a crash between
// two steps leaves either the old key in use or the new one. The list (`trail/keys.json`) decides.
import type { Timestamp } from '@parley/core'
import type { KeyFile } from '../key-file.ts'
import type { Signer } from '../signing.ts'
import type { KeyRing } from './key-ring.ts'
import { endorse, type TrailKey, type Trust, trustOf } from './trail-key.ts'

/** What a trail needs of the keeper of its keys. */
export interface TrailKeys {
  readonly keys: readonly TrailKey[]
  /** Keys whose rotation is not on record yet. */
  readonly unrecorded: readonly string[]
  trust(): Trust
  /** Puts a new key in place of `old`, which signed nothing behind `until`. Called while nothing is being signed. */
  rotate(old: Signer, at: Timestamp, until: Timestamp): Promise<Signer>
  recorded(key: string): Promise<void>
}

export class ProfileKeys implements TrailKeys {
  readonly #file: KeyFile
  readonly #ring: KeyRing

  private constructor(file: KeyFile, ring: KeyRing) {
    this.#file = file
    this.#ring = ring
  }

  /** `until`: the greatest timestamp on record. Fails as `KeyFile.signer`. */
  static async open(
    file: KeyFile,
    ring: KeyRing,
    at: Timestamp,
    until: Timestamp,
  ): Promise<{ readonly keys: ProfileKeys; readonly signer: Signer }> {
    if (file.isPrepared(ring.keys)) await file.promote()
    const signer = await file.signer(ring.keys)
    // Not before the key is known to be right: what lies there may be all that is left of it.
    await file.discard()
    await ring.use(signer.id, at, until)
    return { keys: new ProfileKeys(file, ring), signer }
  }

  get keys(): readonly TrailKey[] {
    return this.#ring.keys
  }

  get unrecorded(): readonly string[] {
    return this.#ring.unrecorded
  }

  trust(): Trust {
    return trustOf(this.#ring.keys)
  }

  async rotate(old: Signer, at: Timestamp, until: Timestamp): Promise<Signer> {
    const next = await this.#file.prepare()
    const endorsement = endorse(old, next, at, until)
    await this.#ring.rotate({ key: next.id, since: at, until: null, endorsement })
    // From here on the new key counts. Where the rest fails, opening the profile makes up for it.
    await this.#file.promote().catch(() => undefined)
    return next
  }

  recorded(key: string): Promise<void> {
    return this.#ring.recorded(key)
  }
}
