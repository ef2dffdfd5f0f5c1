// The files of the profile's one Ed25519 key (ALP-ID-02): PKCS#8 PEM, readable by its owner alone, never logged. A new
// key lies in `alp_key.next.pem` until the trail's list of keys names it; from then on it is the key, whatever crashes.
// A lost or damaged key is never replaced: that would be another identity.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { asParleyError, ParleyError } from '@parley/core'
import { newPrivatePem, publicKeyOfPem, publicPem, seedOfPem } from '@parley/keys'
import { machineDisk, writeWholeSync } from '@parley/keys/files'
import { KeyRing, retired } from './keys/key-ring.ts'
import type { TrailKey } from './keys/trail-key.ts'
import { DiskFiles } from './log/disk-files.ts'
import { type Files, readWhole, writeWhole } from './log/files.ts'
import { ed25519Signer, type Signer } from './signing.ts'

const KEY = 'alp_key.pem'
const NEXT = 'alp_key.next.pem'
const PUBLIC = 'alp_key.pub'

const RESTORE =
  'Restore alp/secrets and trail/keys.json of this profile from the same backup. Without a backup this identity is lost: begin another profile with --profile NAME, whose key peers have to pin anew. No key and no entry was changed.'

/** The profile's one key (ALP-ID-02), made on first use. Fails as `KeyFile.signer`, and with `keys_unreadable`. */
export async function profileSigner(profile: string): Promise<Signer> {
  return profileKey(profile).signer(new KeyRing(new DiskFiles(join(profile, 'trail'))).keys)
}

export function profileKey(profile: string): KeyFile {
  const folder = join(profile, 'alp', 'secrets')
  return new KeyFile(new DiskFiles(folder), folder, pem => publish(folder, pem))
}

/** Why the key of a profile would keep its node from starting; undefined where it would not. Nothing is written. */
export function keyProblem(profile: string): ParleyError | undefined {
  const folder = join(profile, 'alp', 'secrets')
  try {
    const { keys } = new KeyRing(new DiskFiles(join(profile, 'trail'), { readOnly: true }))
    const file = new KeyFile(new DiskFiles(folder, { readOnly: true }), folder, () => undefined)
    // A rotation that was cut off: the next start finishes it.
    if (!file.isPrepared(keys)) file.current(keys)
    return undefined
  } catch (thrown) {
    return asParleyError(thrown)
  }
}

export class KeyFile {
  readonly #files: Files
  readonly #folder: string
  readonly #publish: (pem: string) => void

  constructor(files: Files, folder: string, publish: (pem: string) => void) {
    this.#files = files
    this.#folder = folder
    this.#publish = publish
  }

  /**
   * The profile's signer. The key is made only where neither `listed` nor the public file knows of one. Fails with
   * `key_missing`, `key_unusable`, `key_retired`, `key_mismatch`, and then nothing was written.
   */
  async signer(listed: readonly TrailKey[]): Promise<Signer> {
    if (!this.current(listed)) await this.#write(KEY)
    const signer = this.current(listed)!
    this.#publish(pemOf(signer))
    return signer
  }

  /**
   * The key that is there, if `listed` and the public file know it; undefined where none was made. Fails as `signer`.
   */
  current(listed: readonly TrailKey[]): Signer | undefined {
    const newest = listed.at(-1)?.key
    const published = this.#published()
    const pem = this.#read(KEY)
    if (pem === undefined) {
      if (newest === undefined && published === undefined) return undefined
      const knows = newest === undefined ? PUBLIC : 'trail/keys.json'
      throw this.#refused('key_missing', `is not there, but ${knows} says that the profile has one`)
    }
    const signer = this.#signer(KEY, pem)
    if (newest !== undefined && signer.id !== newest) {
      const former = listed.find(({ key }) => key === signer.id)
      if (former?.until) throw retired(former.key, former.until, newest)
      throw this.#refused('key_mismatch', 'is not the newest key that trail/keys.json lists')
    }
    // An interrupted rotation leaves the public file behind the list; any other key in it was never this profile's.
    const behind = newest !== undefined && (published === null || listed.some(({ key }) => key === published))
    if (published !== undefined && published !== signer.id && !behind)
      throw this.#refused('key_mismatch', `does not fit the public key in ${PUBLIC}`)
    return signer
  }

  /** Makes the next key, durably, and says who signs with it. What was left by an earlier attempt goes. */
  async prepare(): Promise<Signer> {
    await this.#write(NEXT)
    return this.#signer(NEXT, this.#read(NEXT)!)
  }

  /** Whether the list's newest key is the prepared one, which then takes its place. False if it cannot be read. */
  isPrepared(listed: readonly TrailKey[]): boolean {
    const pem = this.#read(NEXT)
    try {
      return pem !== undefined && this.#signer(NEXT, pem).id === listed.at(-1)?.key
    } catch {
      return false
    }
  }

  /** The key that was prepared takes the place of the old one, which is gone then. Safe to repeat. */
  async promote(): Promise<void> {
    const pem = this.#read(NEXT)
    // A copy, so that at no time the new key is under neither name.
    if (pem !== undefined) await writeWhole(this.#files, KEY, Buffer.from(pem))
    await this.discard()
    this.#publish(pemOf(this.#signer(KEY, this.#read(KEY)!)))
  }

  async discard(): Promise<void> {
    if (!this.#files.exists(NEXT)) return
    this.#files.remove(NEXT)
    await this.#files.syncFolder('')
  }

  async #write(name: string): Promise<void> {
    await writeWhole(this.#files, name, Buffer.from(newPrivatePem()))
  }

  #read(name: string): string | undefined {
    // Opening a pipe would wait for a writer for good.
    if (statSync(join(this.#folder, name), { throwIfNoEntry: false })?.isFile() === false)
      throw this.#refused('key_unusable', 'is not a regular file', name)
    return readWhole(this.#files, name)?.toString('utf8')
  }

  /** Undefined where there is no public file, null where it names no key. */
  #published(): string | null | undefined {
    const pem = this.#read(PUBLIC)
    return pem === undefined ? undefined : (publicKeyOfPem(pem) ?? null)
  }

  #signer(name: string, pem: string): Signer {
    const seed = seedOfPem(pem)
    if (!seed.ok) throw this.#refused('key_unusable', seed.error.what, name, seed.error.cause)
    const signer = ed25519Signer(seed.value)
    seed.value.fill(0)
    return signer
  }

  #refused(code: string, what: string, name = KEY, cause?: unknown): ParleyError {
    const file = join(this.#folder, name)
    return new ParleyError(code, `The profile's key ${file} ${what}. ${RESTORE}`, {
      details: { file },
      cause,
    })
  }
}

function pemOf({ id }: Signer): string {
  return publicPem(Buffer.from(id, 'base64'))
}

/** The public half is derived, for others to read (mode 0644). */
function publish(folder: string, pem: string): void {
  const file = join(folder, PUBLIC)
  try {
    if (readFileSync(file, 'utf8') === pem) return
  } catch {
    // It is not there yet.
  }
  writeWholeSync(machineDisk, file, Buffer.from(pem), { mode: 0o644 })
}
