// An AskPort on core's RunPort: an inbound ask is a run that the principal `alp:<fingerprint>` starts. What was said before is told to its
// agent first; what the agent says at its work is the text to watch.
import {
  type IdentityProvider,
  ok,
  ParleyError,
  type Principal,
  type RunEnd,
  type RunId,
  type RunPort,
  refuse,
  type TurnContextPart,
} from '@parley/core'
import { linkLimits } from '../limits.ts'
import type { AskEnd, AskMessage, AskPart, AskPort } from './ask-port.ts'

export interface RunAskOptions {
  readonly runs: RunPort
  readonly identities: IdentityProvider
  /** The agent or team that answers; the node's default if absent. */
  readonly team?: string
  /** Whether a turn of the run was cut off before its agent said what it cost. Asked when the run is over. */
  readonly unknownCost: (run: RunId) => boolean
}

export function runAskPort(options: RunAskOptions): AskPort {
  const { runs, identities, team } = options
  return {
    async start({ session, caller, prompt, history, budget, reservation, signal }) {
      const principal = await identities.byFingerprint(caller.fingerprint)
      if (!principal) return refuse('permission_denied', 'The peer is nobody that this node knows.')
      const started = await runs.start({
        principal,
        intent: prompt,
        origin: 'alp',
        ...(team !== undefined && { team }),
        told: toldFirst(history, caller.id),
        context: { session, peer: caller.id, reservation },
        // A session is of one call: asking again by mistake starts nothing.
        idempotencyKey: `alp:${session}`,
        budget,
      })
      return started.ok ? ok(watched(options, started.value.run, principal, signal)) : started
    },
  }
}

/**
 * ALP-ASK-08: what was said before, as pieces of context in its order. Of more than a turn is told the oldest are left
 * out, which the notice says.
 */
function toldFirst(history: readonly AskMessage[], peer: string): readonly TurnContextPart[] {
  const notices = history.filter(({ role }) => role === 'system')
  const said = history.filter(({ role }) => role !== 'system')
  let [room, from] = [linkLimits.toldText, said.length]
  for (const [at, { role, text }] of [...said.entries()].toReversed()) {
    room -= text.length
    if (room < 0) break
    // An answer is told with what it answers.
    if (role === 'user') from = at
  }
  const missing = said.slice(0, from).filter(({ role }) => role === 'user').length
  const told = notices.map(notice =>
    missing > 0 ? { ...notice, text: `${notice.text} ${LEFT_OUT(missing)}` } : notice,
  )
  return [...told, ...said.slice(from)].map(({ role, text }) => ({
    kind: 'memory',
    title: TITLES[role](peer),
    text,
  }))
}

const LEFT_OUT = (turns: number) =>
  `${turns} earlier ${turns === 1 ? 'turn is' : 'turns are'} left out here: together they are too long.`

const TITLES: { readonly [Role in AskMessage['role']]: (peer: string) => string } = {
  system: () => 'What was said before',
  user: peer => `${peer} said`,
  assistant: () => 'You answered',
}

async function* watched(
  { runs, unknownCost }: RunAskOptions,
  run: RunId,
  principal: Principal,
  signal: AbortSignal,
): AsyncGenerator<AskPart> {
  let cancelling: Promise<unknown> | undefined
  const cancel = () => {
    const reason = signal.reason instanceof ParleyError ? signal.reason.message : 'The turn was interrupted.'
    // A refusal changes nothing: the run goes on to its end.
    cancelling ??= runs.cancel(run, { principal, reason }).catch(() => undefined)
  }
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
  try {
    for await (const { text, end } of pages(runs, run, principal)) {
      if (text) yield { type: 'text', text }
      if (end) yield { type: 'end', end: endOf(end, unknownCost(run)) }
    }
  } finally {
    signal.removeEventListener('abort', cancel)
    await cancelling
  }
}

/** Goes on behind the last cursor when the watch breaks and may be taken up again, as long as it gets further. */
async function* pages(runs: RunPort, run: RunId, principal: Principal) {
  let after: number | undefined
  for (;;) {
    const from = after
    try {
      for await (const page of runs.watch(run, { principal, ...(after !== undefined && { after }) })) {
        after = page.cursor
        yield page
        if (page.end) return
      }
      throw new ParleyError('turn_without_end', 'The run ended without saying how.')
    } catch (cause) {
      if (!(cause instanceof ParleyError && cause.retryable) || after === from) throw cause
    }
  }
}

function endOf({ outcome, text, error, usage }: RunEnd, unknownCost: boolean): AskEnd {
  return {
    segments: text === undefined ? [] : [text],
    ...(outcome === 'failed' && { error: error?.message ?? 'the turn failed' }),
    interrupted: outcome === 'cancelled',
    usage,
    ...(unknownCost && { unknownCost }),
  }
}
