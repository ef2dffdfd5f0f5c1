// An AskPort for tests: what a turn does is a function, and every request is kept.
import { err, ok, type ParleyError } from '@parley/core'
import type { AskEnd, AskPart, AskPort, AskRequest } from '../service/ask-port.ts'

export type Script = (request: AskRequest) => AsyncGenerator<AskPart>

/** The end of a turn that said this. */
export function end(text: string, more: Partial<AskEnd> = {}): AskPart {
  return { type: 'end', end: { segments: text === '' ? [] : [text], interrupted: false, usage: {}, ...more } }
}

export class ScriptedPort implements AskPort {
  readonly requests: AskRequest[] = []
  refusal: ParleyError | undefined
  script: Script

  constructor(
    script: Script = async function* ({ prompt }) {
      yield { type: 'text', text: 'Hel' }
      yield { type: 'text', text: 'lo ✅' }
      yield end(`You said: ${prompt}`, { usage: { tokensIn: 10, tokensOut: 5, usd: 0.25 } })
    },
  ) {
    this.script = script
  }

  async start(request: AskRequest) {
    this.requests.push(request)
    return this.refusal ? err(this.refusal) : ok(this.script(request))
  }
}

/** A turn that goes on until it is interrupted, then says what it had cost. */
export const endless: Script = async function* ({ signal }) {
  yield { type: 'text', text: 'thinking' }
  await aborted(signal)
  yield end('', { interrupted: true, usage: { tokensIn: 3, tokensOut: 1, usd: 0.125 } })
}

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}
