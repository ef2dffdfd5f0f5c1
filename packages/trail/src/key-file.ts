// The files of the profile's one Ed25519 key (ALP-ID-02): PKCS#8 PEM, readable by its owner alone, never logged. A new key lies beside it
// as `alp_key.next.pem` until the trail's list of keys names it; from then on it is the key, whatever crashes in between.
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError } from '@parley/core'
import { DiskFiles } from './log/disk-files.ts'
import { type Files, readWhole, writeWhole } from './log/files.ts'
import { ed25519Signer, type Signer } from './signing.ts'

const SEED_BYTES = 32
const KEY = 'alp_key.pem'
const NEXT = 'alp_key.next.pem'
const PUBLIC = 'alp_key.pub'

/** The profile's one key (ALP-ID-02), made on first use. */
export async function profileSigner(profile: string): Promise<Signer> {
  return profileKey(profile).signer()
}

export function profileKey(profile: string): KeyFile {
  const folder = join(profile, 'alp', 'secrets')
  return new KeyFile(new DiskFiles(folder), folder, pem => publish(folder, pem))
}

export class KeyFile {
  readonly #files: Files
  /** For messages. */
  readonly #folder: string
  readonly #publish: (pem: string) => void

  constructor(files: Files, folder: string, publish: (pem: string) => void) {
    this.#files = files
    this.#folder = folder
    this.#publish = publish
  }

  /** Who signs with the key, which is made if there is none. Fails with `key_unusable`. */
  async signer(): Promise<Signer> {
    if (!this.#files.exists(KEY)) await this.#write(KEY)
    const pem = this.#read(KEY)!
    const signer = ed25519Signer(this.#seed(KEY, pem))
    this.#publish(publicPem(pem))
    return signer
  }

  /** Makes the next key, durably, and says who signs with it. What was left by an earlier attempt goes. */
  async prepare(): Promise<Signer> {
    await this.#write(NEXT)
    return ed25519Signer(this.#seed(NEXT, this.#read(NEXT)!))
  }

  /** The public key of the one that was prepared, if there is one. */
  prepared(): string | undefined {
    const pem = this.#read(NEXT)
    return pem === undefined ? undefined : ed25519Signer(this.#seed(NEXT, pem)).id
  }

  /** The key that was prepared takes the place of the old one, which is gone then. Safe to repeat. */
  async promote(): Promise<void> {
    const pem = this.#read(NEXT)
    // A copy, so that at no time the new key is under neither name.
    if (pem !== undefined) await writeWhole(this.#files, KEY, Buffer.from(pem))
    await this.discard()
    this.#publish(publicPem(this.#read(KEY)!))
  }

  async discard(): Promise<void> {
    if (!this.#files.exists(NEXT)) return
    this.#files.remove(NEXT)
    await this.#files.syncFolder('')
  }

  async #write(name: string): Promise<void> {
    const { privateKey } = generateKeyPairSync('ed25519')
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
    await writeWhole(this.#files, name, Buffer.from(pem))
  }

  #read(name: string): string | undefined {
    return readWhole(this.#files, name)?.toString('utf8')
  }

  #seed(name: string, pem: string): Buffer {
    let jwk: { crv?: string | undefined; d?: string | undefined }
    try {
      jwk = createPrivateKey(pem).export({ format: 'jwk' })
    } catch (cause) {
      throw this.#unusable(name, 'cannot be read as a private key', cause)
    }
    const seed = Buffer.from(jwk.d ?? '', 'base64url')
    if (jwk.crv !== 'Ed25519' || seed.length !== SEED_BYTES)
      throw this.#unusable(name, 'is not an Ed25519 key')
    return seed
  }

  #unusable(name: string, what: string, cause?: unknown): ParleyError {
    const message = `The profile's key ${join(this.#folder, name)} ${what}; restore it from a backup.`
    return new ParleyError('key_unusable', message, { cause })
  }
}

function publicPem(privatePem: string): string {
  return createPublicKey(privatePem).export({ type: 'spki', format: 'pem' }).toString()
}

/** The public half is derived, for others to read (mode 0644); nothing of ours reads it. */
function publish(folder: string, pem: string): void {
  const file = join(folder, PUBLIC)
  try {
    if (readFileSync(file, 'utf8') === pem) return
  } catch {
    // It is not there yet.
  }
  const temporary = `${file}.tmp`
  writeFileSync(temporary, pem, { flush: true })
  // A mode that is given when a file is made is cut by the umask.
  chmodSync(temporary, 0o644)
  renameSync(temporary, file)
}
