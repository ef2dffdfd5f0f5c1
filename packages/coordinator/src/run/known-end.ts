// Runs that end as they begin, because what comes of them is known already. Nobody drives them. A node that starts
// again ends those that a stop has cut off in the same way.
import { err, ok, ParleyError, type Result, refuse } from '@parley/core'
import type { RunHandle, UserHandle } from '@parley/kernel'
import { ask, emptyInbox } from '../ask.ts'
import { coordinatorLimits } from '../limits.ts'
import { controlPayload } from '../projection/control.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { KnownEnd, RunFacts } from './facts.ts'

/** The mail with which a run begins (DESIGN, Runs): what a person asks its coordinator for. */
export function intentMail(intent: string) {
  return { type: 'directive', payload: controlPayload({ parley: 'intent', text: intent }) } as const
}

/** What is too long to be kept is refused, and not cut off. */
export function unfitEnd(ends: KnownEnd): ParleyError | undefined {
  const invalid = (message: string) => new ParleyError('invalid_argument', message)
  const { answerLength, reasonLength, endCodeLength } = coordinatorLimits
  if (ends.outcome === 'complete')
    return ends.text.length > answerLength ? invalid(`An answer has at most ${answerLength} characters.`) : undefined
  if (ends.code === '' || ends.code.length > endCodeLength)
    return invalid(`The code of a failure has 1 to ${endCodeLength} characters.`)
  if (ends.message.trim() !== '' && ends.message.length <= reasonLength) return undefined
  return invalid(`The message of a failure has 1 to ${reasonLength} characters.`)
}

/** Of a run that has just begun with its intent: one more commit, in which the mail is read as well. */
export async function endBegun(run: RunHandle, ends: KnownEnd): Promise<Result<void>> {
  const [read, ended] = await Promise.all([run.coordinator.consume(), say(run, ends)])
  return read.ok ? ended : read
}

/** The same of one that was cut off anywhere before its end. */
export async function endCutOff(
  run: RunHandle,
  principal: UserHandle,
  { intent, ends }: RunFacts & { readonly ends: KnownEnd },
  { controls }: Pick<RunProjection, 'controls'>,
): Promise<Result<void>> {
  await ask(run.coordinator.started())
  if (!controls.some(({ kind }) => kind === 'intent'))
    await ask(principal.inject(run.id, { to: run.coordinator.workspace, ...intentMail(intent) }))
  if (!(await emptyInbox(run.coordinator))) return refuse('invalid_state', `The mail of ${run.id} cannot be read.`)
  return say(run, ends)
}

async function say(run: RunHandle, ends: KnownEnd): Promise<Result<void>> {
  if (ends.outcome === 'complete') return run.close()
  const failed = await run.coordinator.failed(ends.message)
  return failed.ok ? ok(undefined) : err(failed.error)
}
