// The passphrase that a person's answers can require (`gates.confirm`). The configuration holds its salted scrypt hash
// and nothing else; the passphrase itself is neither logged nor kept, and nothing of it is on the trail.
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { type Clock, formatTimestamp, ok, type Result, refuse, type Ticks, ticksPerMillisecond } from '@parley/core'
import { nodeLimits, nodeTimes } from '../limits.ts'

/** About 0.1 s and 32 MiB for each attempt. */
const COST = { N: 32_768, r: 8, p: 1 }
/** What a hash that somebody else wrote may cost at most. */
const MOST = { N: 131_072, r: 16, p: 4 }
const HASH_BYTES = 32
const SALT_BYTES = 16

/** `scrypt:N:r:p:salt:hash`, the last two in base64url. */
export const PASSPHRASE_HASH = '^scrypt:[0-9]{1,6}:[0-9]{1,2}:[0-9]:[A-Za-z0-9_-]{22}:[A-Za-z0-9_-]{43}$'

export async function hashPassphrase(passphrase: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const hash = await derive(passphrase, salt, COST)
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join(':')
}

/** Whether a line is such a hash, with a cost that can be paid. */
export function isPassphraseHash(line: string): boolean {
  if (!new RegExp(PASSPHRASE_HASH).test(line)) return false
  const { N, r, p } = costOf(line)
  return N > 1 && Number.isInteger(Math.log2(N)) && N <= MOST.N && r >= 1 && r <= MOST.r && p >= 1 && p <= MOST.p
}

async function fits(passphrase: string, line: string): Promise<boolean> {
  const [, , , , salt = '', hash = ''] = line.split(':')
  const derived = await derive(passphrase, Buffer.from(salt, 'base64url'), costOf(line))
  return timingSafeEqual(derived, Buffer.from(hash, 'base64url'))
}

function costOf(line: string): typeof COST {
  const [, N, r, p] = line.split(':').map(Number)
  return { N: N!, r: r!, p: p! }
}

function derive(passphrase: string, salt: Buffer, cost: typeof COST): Promise<Buffer> {
  const options: ScryptOptions = { ...cost, maxmem: 256 * cost.N * cost.r }
  // Two ways of typing the same letter are the same letter.
  const text = passphrase.normalize('NFC')
  return new Promise((resolve, reject) =>
    scrypt(text, salt, HASH_BYTES, options, (error, key) => (error ? reject(error) : resolve(key))),
  )
}

export interface PassphraseOptions {
  /** As config.yaml had it when the node started; later edits of the file count from the next start on. */
  readonly hash: string | undefined
  readonly clock: Clock
  /** Keeps the hash, or removes it. */
  readonly store: (hash: string | undefined) => Result<void>
  readonly warn: (message: string) => void
}

export class AnswerPassphrase {
  readonly #options: PassphraseOptions
  #hash: string | undefined
  /** When wrong ones were tried, or some whose result is not there yet. */
  #attempts: number[] = []

  constructor(options: PassphraseOptions) {
    this.#options = options
    this.#hash = options.hash
  }

  get required(): boolean {
    return this.#hash !== undefined
  }

  /** Refusals: `passphrase_required`, `passphrase_wrong`, `passphrase_locked` (details: `retry_at`). */
  async check(passphrase: string | undefined): Promise<Result<void>> {
    const hash = this.#hash
    if (hash === undefined) return ok(undefined)
    if (passphrase === undefined || passphrase === '')
      return refuse(
        'passphrase_required',
        'Answers need the passphrase of this profile (gates.confirm in config.yaml).',
      )
    const now = this.#options.clock.now() / ticksPerMillisecond
    this.#attempts = this.#attempts.filter(at => now - at < nodeTimes.passphraseWindow)
    if (this.#attempts.length >= nodeLimits.passphraseAttempts) return this.#locked()
    // Counted before it is tried: many at once are as many attempts.
    this.#attempts.push(now)
    if (await fits(passphrase, hash)) {
      this.#attempts = []
      return ok(undefined)
    }
    this.#options.warn('a wrong passphrase came with the answer to a gate')
    return refuse('passphrase_wrong', 'This is not the passphrase of this profile. Nothing was answered.')
  }

  /**
   * `next`: undefined, and answers need none any more. Refuses as `check` for the present one, with `invalid_argument`,
   * or as `store`.
   */
  async change(next: string | undefined, present: string | undefined): Promise<Result<void>> {
    const checked = await this.check(present)
    if (!checked.ok) return checked
    const { passphraseLeast: least, passphraseMost: most } = nodeLimits
    if (next !== undefined && (next.length < least || next.length > most))
      return refuse('invalid_argument', `A passphrase has ${least} to ${most} characters.`)
    const hash = next === undefined ? undefined : await hashPassphrase(next)
    const stored = this.#options.store(hash)
    if (stored.ok) this.#hash = hash
    return stored
  }

  #locked(): Result<never> {
    const at = (this.#attempts[0]! + nodeTimes.passphraseWindow) * ticksPerMillisecond
    const retry = formatTimestamp(Math.ceil(at) as Ticks)
    const message = `${nodeLimits.passphraseAttempts} wrong passphrases were given: no more are tried before ${retry}. Nothing was answered.`
    return refuse('passphrase_locked', message, { retryable: true, details: { retry_at: retry } })
  }
}
