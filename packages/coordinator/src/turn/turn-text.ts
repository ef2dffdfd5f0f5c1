// Short texts about turns: for the trail, for views, for other agents.
import type { ParleyError, Usage } from '@parley/core'
import { given } from '../given.ts'
import { coordinatorLimits } from '../limits.ts'
import type { TurnRecord } from '../projection/projected.ts'

type Told = Pick<TurnRecord, 'tokens_in' | 'tokens_out' | 'tokens_cached' | 'usd'>

export function told({ tokensIn, tokensOut, tokensCached, usd }: Usage): Told {
  return given({ tokens_in: tokensIn, tokens_out: tokensOut, tokens_cached: tokensCached, usd })
}

export function lastLine(text: string): string | undefined {
  const lines = text.split('\n').map(each => each.trim())
  return lines.findLast(each => each !== '')?.slice(0, coordinatorLimits.activityLength)
}

/** The end of a text says more than its beginning. Half a character is none, and could not be recorded. */
export function tail(text: string): string {
  return text.slice(-coordinatorLimits.textLength).toWellFormed()
}

/** An answer as it is kept: whole, unless it is longer than anybody reads. */
export function answerText(text: string): string {
  return text.slice(-coordinatorLimits.answerLength).toWellFormed()
}

export function reasonOf(error: ParleyError): string {
  return error.message.slice(0, coordinatorLimits.reasonLength) || error.code
}

/** With what the process printed, where it is known. */
export function errorText({ message, details }: ParleyError): string {
  const printed = [details.output, details.stderr].filter(each => typeof each === 'string' && each.trim() !== '')
  return tail([message, ...printed].join('\n\n'))
}
