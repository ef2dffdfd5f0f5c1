// The `function` adapter: a turn is a call of a function in this process, for embedding and for tests.
import { type Clock, ParleyError, SystemClock, type TurnEvent, type TurnInput, type TurnResult } from '@parley/core'
import type { MeteredAdapter } from './metering.ts'
import { aborted, failed, makeAdapter, type Turn, type TurnEnd } from './turn.ts'

/** Text is the answer of a turn that is complete; nothing is an empty answer. */
export type FunctionAnswer = string | undefined | TurnResult

/** Should stop when `input.signal` fires: the turn ends at once, and nothing that it still does is heard. */
export type AgentFunction = (
  input: TurnInput,
  emit: (event: TurnEvent) => void,
) => FunctionAnswer | Promise<FunctionAnswer>

export function functionAdapter(
  name: string,
  run: AgentFunction,
  { clock = new SystemClock() }: { readonly clock?: Clock } = {},
): MeteredAdapter {
  return makeAdapter({ name, kind: 'function', reach: { folder: true }, clock, take: turn => take(turn, run) })
}

async function take(turn: Turn, run: AgentFunction): Promise<TurnEnd> {
  const { input, emit } = turn
  const { signal } = input
  const { promise: stopped, resolve } = Promise.withResolvers<undefined>()
  const stop = () => resolve(undefined)
  signal.addEventListener('abort', stop, { once: true })
  try {
    // `async` catches what a function throws before its first await, too.
    const answer = await Promise.race([(async () => run(input, emit))(), stopped])
    if (signal.aborted) return end(aborted(signal.reason, turn.usage()))
    return end(typeof answer === 'object' ? answer : { outcome: 'complete', text: answer ?? '', usage: turn.usage() })
  } catch (thrown) {
    return end(signal.aborted ? aborted(signal.reason, turn.usage()) : failed(agentError(thrown), turn.usage()))
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function end(result: TurnResult): TurnEnd {
  return { result, outputBytes: result.outcome === 'complete' ? Buffer.byteLength(result.text) : 0 }
}

function agentError(thrown: unknown): ParleyError {
  if (thrown instanceof ParleyError) return thrown
  const message = thrown instanceof Error && thrown.message !== '' ? thrown.message : 'no reason was given'
  return new ParleyError('internal', `The agent's function failed: ${message}`, { cause: thrown })
}
