// One ask of a peer as a stream: its session, its text as it comes, its answer. A reader that leaves before the end
// cancels the turn at the peer, which then has a while to say what it cost.
import type { TurnBudget } from '@parley/core'
import type { LinkClient, Target } from '@parley/link'
import type { AskedValue } from '../operations/link.ts'
import { refusalOf } from './failure.ts'
import { Handover } from './handover.ts'

export interface Asker {
  /** Its id in the peer list. */
  readonly peer: string
  readonly client: LinkClient
  readonly target: Target
  readonly failed: (what: string, cause: unknown) => void
}

/** Throws a refusal: those of the link, or `peer_refused`. */
export async function* asked(
  asker: Asker,
  prompt: string,
  options: { readonly budget?: TurnBudget; readonly timeoutMs?: number },
  signal: AbortSignal,
): AsyncGenerator<AskedValue> {
  const { client, target } = asker
  const hangUp = new AbortController()
  const values = new Handover<AskedValue>()
  let session = ''
  const said = client
    .ask(target, prompt, {
      ...options,
      signal: hangUp.signal,
      onText: text => values.push({ type: 'text', text }),
      onSession: told => {
        // Told again with every sign of life.
        if (session !== '') return
        session = told
        void values.push({ type: 'session', session })
      },
    })
    .finally(() => values.end())
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
    if (!answer.ok) throw refusalOf(asker.peer, answer.error)
    const { sessionId, tokensIn, tokensOut, cost, ...rest } = answer.value
    yield { type: 'answer', ...rest, session: sessionId, tokens_in: tokensIn, tokens_out: tokensOut, usd: cost }
  } finally {
    if (!over) {
      values.abandon()
      // The reader has left: nobody waits for this.
      void client.giveUp({ target, session, hangUp, said }).catch(cause => asker.failed('cancelling an ask', cause))
    }
  }
}
