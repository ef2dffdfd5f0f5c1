// What a request for a run must be, before anything is prepared for it, and the limits that it sets for its team.
import { canonicalize, limits, ParleyError, type RunRequest } from '@parley/core'
import type { RunSetup } from '../contract.ts'
import { coordinatorLimits } from '../limits.ts'
import type { Limits } from '../team/budget-fields.ts'
import { planFor, type Team } from '../team/team.ts'
import { unfitEnd } from './known-end.ts'

export function misfit(request: RunRequest, setup: RunSetup): ParleyError | undefined {
  const { intent, told = [], context = {}, key, budget = {}, timeoutMs } = request
  if (intent.trim() === '') return invalid('Say what is to be done: the intent is empty.')
  if (intent.length > coordinatorLimits.intentLength)
    return invalid(`An intent has at most ${coordinatorLimits.intentLength} characters.`)
  if (!('ends' in setup) && planFor(setup.team, intent).length === 0)
    return invalid(`The team ${setup.team.name} has no plan.`)
  if (told.length > limits.runContextParts)
    return invalid(`A run is told at most ${limits.runContextParts} pieces of context; these are ${told.length}.`)
  const length = told.reduce((all, { title, text }) => all + title.length + text.length, 0)
  if (length > limits.runContextLength)
    return invalid(`The context of a run has at most ${limits.runContextLength} characters; this one has ${length}.`)
  const bytes = bytesOf(context)
  if (bytes === undefined) return invalid('What a request stores with its run must be JSON.')
  if (bytes > limits.runFactsBytes)
    return invalid(`A request stores at most ${limits.runFactsBytes} bytes with its run; these are ${bytes}.`)
  if (key && (key.text === '' || key.text.length > coordinatorLimits.keyLength))
    return invalid(`An idempotency key has 1 to ${coordinatorLimits.keyLength} characters.`)
  const { tokens, usd } = budget
  if (![tokens, usd, timeoutMs].every(each => each === undefined || (Number.isFinite(each) && each >= 0)))
    return invalid('A budget or a time limit is a number, and not below zero.')
  if (tokens === 0 || usd === 0) return new ParleyError('budget_exceeded', 'Nothing is left to be spent on this run.')
  if (timeoutMs === 0) return invalid('No time is left for this run.')
  return 'ends' in setup ? unfitEnd(setup.ends) : undefined
}

/** The team with the request's own limits where they are narrower. */
export function limited(team: Team, { budget: { tokens, usd } = {}, timeoutMs }: RunRequest): Team {
  const { limits } = team
  const budget: Limits = {
    ...limits.budget,
    ...narrower('token_limit', limits.budget.token_limit, tokens),
    ...narrower('cost_limit', limits.budget.cost_limit, usd),
  }
  const { graceMs, ...rest } = limits
  const time = narrower('timeoutMs', limits.timeoutMs, timeoutMs)
  // Where nothing but the time to finish is left, nobody could begin.
  const fits = graceMs !== undefined && graceMs < (time.timeoutMs ?? 0)
  return { ...team, limits: { ...rest, budget, ...time, ...(fits && { graceMs }) } }
}

function narrower<Name extends string>(name: Name, ...limits: readonly (number | undefined)[]) {
  const least = Math.min(...limits.map(each => each ?? Number.POSITIVE_INFINITY))
  return (Number.isFinite(least) ? { [name]: least } : {}) as { readonly [N in Name]?: number }
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
