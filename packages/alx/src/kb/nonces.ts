// Nonces of signed requests that were used, in memory and in a file (ALX-SIG-02, -03). A nonce is remembered until the
// request that carried it has expired: from then on its expiry is what refuses it.
import { appendFile, open, readFile, rename } from 'node:fs/promises'
import { type Ticks, ticksPerSecond } from '@parley/core'
import { kbLimits } from './limits.ts'

/** One line of the file: lower-case agent, nonce, expiry in Unix seconds. */
const LINE = /^(0x[0-9a-f]{40}) ([0-9]{1,78}) ([0-9]{1,20})$/

export class Nonces {
  readonly #file: string | undefined
  readonly #now: () => Ticks
  /** When each may be forgotten, in seconds. */
  readonly #used = new Map<string, number>()
  #writing: Promise<void> = Promise.resolve()
  #lines = 0

  private constructor(file: string | undefined, now: () => Ticks) {
    this.#file = file
    this.#now = now
  }

  /** Without a file, nonces are forgotten when the process ends: for tests. */
  static async open(file: string | undefined, now: () => Ticks): Promise<Nonces> {
    const nonces = new Nonces(file, now)
    if (file !== undefined) await nonces.#load(file)
    return nonces
  }

  /** Takes a nonce, once. What cannot be remembered is not taken. `remember` makes it last. */
  take(agent: string, nonce: string, expiry: number): boolean {
    const use = `${agent.toLowerCase()} ${nonce}`
    if (this.#used.size >= kbLimits.nonces) this.#forget()
    if (this.#used.has(use) || this.#used.size >= kbLimits.nonces) return false
    this.#used.set(use, expiry)
    return true
  }

  /** Resolves when the nonce is on the disk: only then may the request have an effect. */
  remember(agent: string, nonce: string, expiry: number): Promise<void> {
    const file = this.#file
    if (file === undefined) return Promise.resolve()
    // One after the other; a failure is that of the request that met it.
    const written = this.#writing.then(() => this.#write(file, `${agent.toLowerCase()} ${nonce} ${expiry}`))
    this.#writing = written.catch(() => {})
    return written
  }

  get size(): number {
    return this.#used.size
  }

  #forget(): void {
    const now = this.#now() / ticksPerSecond
    for (const [use, expiry] of this.#used) if (expiry <= now) this.#used.delete(use)
  }

  /** A line end comes first as well: what a failed write left of a line must not spoil the next one. */
  async #write(file: string, line: string): Promise<void> {
    if (this.#lines >= kbLimits.nonceLines) await this.#rewrite(file)
    await appendFile(file, `\n${line}\n`, { mode: 0o600, flush: true })
    this.#lines++
  }

  /** A line that a crash cut off belongs to a request that had no effect. */
  async #load(file: string): Promise<void> {
    for (const line of (await textOf(file)).split('\n')) {
      const [, agent, nonce, expiry] = LINE.exec(line) ?? []
      if (agent !== undefined) this.#used.set(`${agent} ${nonce}`, Number(expiry))
    }
    await this.#rewrite(file)
  }

  /** What has expired is not written again. */
  async #rewrite(file: string): Promise<void> {
    this.#forget()
    const kept = [...this.#used].map(([use, expiry]) => `${use} ${expiry}\n`).join('')
    const handle = await open(`${file}.new`, 'w', 0o600)
    try {
      await handle.writeFile(kept)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(`${file}.new`, file)
    this.#lines = this.#used.size
  }
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return ''
    throw thrown
  }
}
