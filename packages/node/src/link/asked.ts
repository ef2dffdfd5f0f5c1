// One ask of a peer as a stream: its session, its text as it comes, its answer. Whoever leaves before the end has the
// turn cancelled at the peer, which then has a while to say what it cost.
import type { Clock } from '@parley/core'
import { type Answer, ask, giveUp, type LinkClient, type Target } from '@parley/link'
import { refusalOf } from './failure.ts'
import { Handover } from './handover.ts'

export interface AskInput {
  readonly peer: string
  readonly prompt: string
  readonly budget?: { readonly usd?: number; readonly tokens?: number }
  /** Milliseconds for each message of the peer. */
  readonly timeoutMs?: number
}

export type AskValue =
  | { readonly type: 'session'; readonly session: string }
  | { readonly type: 'text'; readonly text: string }
  | ({ readonly type: 'answer' } & AnswerView)

export interface AnswerView {
  readonly text: string
  readonly session: string
  readonly tokens_in: number
  readonly tokens_out: number
  readonly usd: number
  readonly interrupted: boolean
  readonly failed: boolean
}

export interface Asker {
  readonly client: LinkClient
  readonly clock: Clock
  readonly target: Target
  readonly failed: (what: string, cause: unknown) => void
}

/** Throws a refusal: those of the link, or `peer_refused`. */
export async function* asked(asker: Asker, input: AskInput, signal: AbortSignal): AsyncGenerator<AskValue> {
  const { client, clock, target } = asker
  const hangUp = new AbortController()
  const values = new Handover<AskValue>()
  let session = ''
  const { budget, timeoutMs } = input
  const said = ask(client, clock, target, input.prompt, {
    signal: hangUp.signal,
    onText: text => values.push({ type: 'text', text }),
    onSession: told => {
      // Told again with every sign of life.
      if (session !== '') return
      session = told
      void values.push({ type: 'session', session })
    },
    ...(budget && { budget }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  }).finally(() => values.end())
  let over = false
  try {
    for (;;) {
      const value = await values.next(signal)
      if (value === undefined) break
      yield value
    }
    if (signal.aborted) return
    const answer = await said
    over = true
    if (!answer.ok) throw refusalOf(input.peer, answer.error)
    yield { type: 'answer', ...answerView(answer.value) }
  } finally {
    if (!over) {
      values.abandon()
      // Not waited for: whoever left does not.
      void giveUp({ client, clock, target, session, hangUp, said }).catch(cause =>
        asker.failed('cancelling an ask', cause),
      )
    }
  }
}

function answerView({ text, sessionId, tokensIn, tokensOut, cost, ...end }: Answer): AnswerView {
  return { text, session: sessionId, tokens_in: tokensIn, tokens_out: tokensOut, usd: cost, ...end }
}
