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

export function confirming(calls: Calls, { terminal, clock, asks, fromInput }: Confirming): Calls {
  let passphrase: string | undefined
  let since = 0
  const keep = (given: string) => {
    passphrase = given
    since = clock.now() / 1000
  }
  const answer: Calls['call'] = async (path, input, more) => {
    for (let attempt = 0; ; attempt++) {
      if (fromInput && passphrase === undefined) keep(firstLine(await terminal.input()))
      // A recent passphrase also serves the next gate of the plan.
      if (!fromInput && clock.now() / 1000 - since > cliLimits.passphraseMs) passphrase = undefined
      try {
        return await calls.call(path, { ...(input as object), passphrase }, more)
      } catch (thrown) {
        const { code } = asFailure(thrown)
        passphrase = undefined
        if (code !== 'passphrase_required' && code !== 'passphrase_wrong') throw thrown
        if (!asks || fromInput || attempt >= cliLimits.passphraseTries) throw thrown
        if (code === 'passphrase_wrong') terminal.err('Wrong passphrase.\n')
        keep(await askPassphrase(terminal, 'Passphrase: '))
      }
    }
  }
  return {
    ...calls,
    call: (path, input, more) => (ANSWERS.has(path) ? answer : calls.call)(path, input, more),
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
