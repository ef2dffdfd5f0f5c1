// The time of a turn, for adapters whose agents do not watch it themselves.
import type { Clock } from './clock.ts'
import type { AgentAdapter, TurnInput } from './contracts/agent.ts'
import type { ParleyError } from './error.ts'

type Turn = ReturnType<AgentAdapter['takeTurn']>

/** The turn, ended with `late` where it takes longer. */
export async function takeTurnWithin(
  { clock, timeoutMs, late }: { readonly clock: Clock; readonly timeoutMs: number; readonly late: ParleyError },
  input: TurnInput,
  take: (limited: TurnInput) => Turn,
): Turn {
  const over = new AbortController()
  const cancel = clock.after(timeoutMs, () => over.abort(late), { background: true })
  try {
    const result = await take({ ...input, signal: AbortSignal.any([input.signal, over.signal]) })
    const cutOff = result.outcome === 'failed' && over.signal.aborted && !input.signal.aborted
    return cutOff ? { ...result, error: late } : result
  } finally {
    cancel()
  }
}
