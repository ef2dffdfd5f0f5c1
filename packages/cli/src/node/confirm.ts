// The passphrase that answers may require: asked for when the node wants it, or read from standard input. It is never
// an argument, and it is soon forgotten.
import type { Clock } from '@parley/core'
import type { FlagSpec } from '../command.ts'
import { asFailure, Failure } from '../failure.ts'
import { cliLimits } from '../limits.ts'
import type { Terminal } from '../terminal.ts'
import type { Calls, NodePath } from './client.ts'

export const PASSPHRASE_FLAG = {
  'passphrase-stdin': { summary: 'Read the passphrase from standard input, if answers require one (gates.confirm)' },
} as const satisfies Readonly<Record<string, FlagSpec>>

export interface Confirming {
  readonly terminal: Terminal
  readonly clock: Clock
  readonly asks: boolean
  readonly fromInput: boolean
}

const ANSWERS: ReadonlySet<string> = new Set<NodePath>([
  '/gates/respond',
  '/escalations/respond',
  '/workspaces/salvage',
])

export function confirming(calls: Calls, options: Confirming): Calls {
  const known = new KnownPassphrase(options)
  return {
    ...calls,
    call: (path, input, more) =>
      ANSWERS.has(path)
        ? known.use(passphrase => calls.call(path, { ...(input as object), passphrase }, more))
        : calls.call(path, input, more),
  }
}

class KnownPassphrase {
  readonly #options: Confirming
  #passphrase: string | undefined
  #since = 0

  constructor(options: Confirming) {
    this.#options = options
  }

  async use<T>(act: (passphrase: string | undefined) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const passphrase = await this.#recent()
      try {
        return await act(passphrase)
      } catch (thrown) {
        const { code } = asFailure(thrown)
        this.#passphrase = undefined
        if (code !== 'passphrase_required' && code !== 'passphrase_wrong') throw thrown
        const { asks, fromInput, terminal } = this.#options
        if (!asks || fromInput || attempt >= cliLimits.passphraseTries) throw thrown
        if (code === 'passphrase_wrong') terminal.err('Wrong passphrase.\n')
        this.#keep(await askPassphrase(terminal, 'Passphrase: '))
      }
    }
  }

  /** A recent passphrase also serves the next gate of the plan. */
  async #recent(): Promise<string | undefined> {
    const { fromInput, terminal, clock } = this.#options
    if (fromInput && this.#passphrase === undefined) this.#keep(firstLine(await terminal.input()))
    if (!fromInput && clock.now() / 1000 - this.#since > cliLimits.passphraseMs) this.#passphrase = undefined
    return this.#passphrase
  }

  #keep(passphrase: string): void {
    this.#passphrase = passphrase
    this.#since = this.#options.clock.now() / 1000
  }
}

export function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? ''
}

export async function askPassphrase(terminal: Terminal, question: string): Promise<string> {
  const typed = await terminal.askSecret(question)
  if (typed !== undefined) return typed
  throw new Failure('interrupted', 'No passphrase was given. Nothing was changed.')
}
