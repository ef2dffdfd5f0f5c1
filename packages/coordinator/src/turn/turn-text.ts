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

/**
 * The end of a text says more than its beginning: whole lines where they are short enough, and in front a line that
 * says how much is missing. Half a character is none, and could not be recorded.
 */
export function tail(text: string): string {
  const most = coordinatorLimits.textLength
  if (text.length <= most) return text.toWellFormed()
  const kept = text.slice(-(most - LEFT_OUT))
  const line = kept.indexOf('\n') + 1
  const end = (line < kept.length / 2 ? kept.slice(line) : kept).toWellFormed()
  return `[… ${(text.length - end.length).toLocaleString('en')} characters before this line are left out.]\n${end}`
}

/** Whether nothing can have been left out of what `tail` has kept. */
export function isWhole(kept: string): boolean {
  return kept.length < (coordinatorLimits.textLength - LEFT_OUT) / 2
}

/** Room for that line. */
const LEFT_OUT = 80

/** An answer as it is kept: whole, unless it is longer than anybody reads. */
export function answerText(text: string): string {
  return text.slice(-coordinatorLimits.answerLength).toWellFormed()
}

export function reasonOf(error: ParleyError): string {
  return error.message.slice(0, coordinatorLimits.reasonLength) || error.code
}

/** With what the process printed, where it is known. */
export function errorText(error: ParleyError): string {
  return withOutput(error.message, error)
}

/** How a check or a setup failed in one line; below it what it printed. */
export function commandFailure(command: string, error: ParleyError): string {
  return withOutput(`${failedCommand(command, error)}.`, error)
}

/** `npm test` failed (exit code 1) */
export function failedCommand(command: string, { code, message, details }: ParleyError): string {
  if (code !== 'exit_nonzero') return message.replace(/\.$/, '')
  const { exitCode, signal } = details
  const how =
    typeof signal === 'string' ? `ended by ${signal}` : exitCode === undefined ? message : `exit code ${exitCode}`
  return `\`${command}\` failed (${how})`
}

function withOutput(head: string, error: ParleyError): string {
  const output = printed(error)
  const room = coordinatorLimits.textLength - head.length - 2
  return output === '' ? tail(head) : `${head}\n\n${output.slice(-Math.max(0, room)).toWellFormed()}`
}

/** Of a process that failed: its answer, then its standard error. */
export function printed({ details }: ParleyError): string {
  const texts = [details.output, details.stderr].filter(each => typeof each === 'string')
  return texts
    .map(trimLines)
    .filter(text => text !== '')
    .join('\n\n')
}

/** The end of what a process printed, for people; a line in front of it stands for the others. */
export function lastLines(text: string): string {
  const lines = text.split('\n')
  const more = lines.length - coordinatorLimits.outputLines
  return more <= 1 ? text : ['[…]', ...lines.slice(more)].join('\n')
}

/** Without empty lines around it; the first line keeps its indentation. */
function trimLines(text: string): string {
  return text.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd()
}
