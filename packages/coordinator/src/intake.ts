// What a request for a run must be, before anything is prepared for it.
import { canonicalize, limits, ParleyError } from '@parley/core'
import type { SolveRequest } from './contract.ts'
import { coordinatorLimits } from './limits.ts'
import { planFor } from './team/team.ts'

/** Why a run cannot be started like this; undefined if it can. */
export function misfit(request: SolveRequest): ParleyError | undefined {
  const { intent, team, context = [], facts = {}, idempotencyKey } = request
  if (intent.trim() === '') return invalid('Say what is to be done: the intent is empty.')
  if (intent.length > coordinatorLimits.intentLength)
    return invalid(`An intent has at most ${coordinatorLimits.intentLength} characters.`)
  if (planFor(team, intent).length === 0) return invalid(`The team ${team.name} has no plan.`)
  if (context.length > limits.runContextParts)
    return invalid(
      `A run is told at most ${limits.runContextParts} pieces of context; these are ${context.length}.`,
    )
  const told = context.reduce((all, { title, text }) => all + title.length + text.length, 0)
  if (told > limits.runContextLength)
    return invalid(
      `The context of a run has at most ${limits.runContextLength} characters; this one has ${told}.`,
    )
  const bytes = bytesOf(facts)
  if (bytes === undefined) return invalid('What a request stores with its run must be JSON.')
  if (bytes > limits.runFactsBytes)
    return invalid(`A request stores at most ${limits.runFactsBytes} bytes with its run; these are ${bytes}.`)
  const { length } = idempotencyKey ?? 'x'
  if (length < 1 || length > coordinatorLimits.keyLength)
    return invalid(`An idempotency key has 1 to ${coordinatorLimits.keyLength} characters.`)
  return undefined
}

function bytesOf(facts: Readonly<Record<string, unknown>>): number | undefined {
  try {
    return Buffer.byteLength(canonicalize(facts))
  } catch {
    return undefined
  }
}

function invalid(message: string): ParleyError {
  return new ParleyError('invalid_argument', message)
}
