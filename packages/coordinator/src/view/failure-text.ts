// What an attempt came to, in words.

import { overBudgetText } from '../plan/spending.ts'
import type { ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import { tellingLines } from '../turn/turn-text.ts'

export function failureText(attempt: ProjectedWorkspace, projection: RunProjection): string {
  if (attempt.trigger === 'agent_failed' && attempt.reason !== undefined) return attempt.reason
  const conflict = attempt.conflicts.findLast(({ settled }) => settled?.outcome === 'failed')
  if (attempt.trigger === 'conflict_unresolvable' && conflict?.settled) return conflict.settled.resolution
  const ended = wordsOf(attempt, projection)
  if (ended !== undefined) return ended
  const byPerson = endedBy(attempt, projection)
  if (byPerson !== undefined) return byPerson
  if (attempt.trigger === 'system_shutdown') return endOf(projection)
  // A judge that accepted it is not why it failed.
  const judge = projection.judges(attempt.id).findLast(({ checkpoints, reason }) => {
    const judged = checkpoints.findLast(each => each.final)
    return judged ? judged.verdict !== 'accept' : checkpoints.length > 0 || reason !== undefined
  })
  const said = judge?.checkpoints.findLast(each => each.final)?.text ?? judge?.reason
  if (said !== undefined && said !== '') return judge?.facts?.kind === 'check' ? outputEnd(said) : said
  if (attempt.trigger === 'budget_exceeded')
    return attempt.exceeded ? overBudgetText(attempt.exceeded) : 'Its budget is used up.'
  return (attempt.trigger ?? 'failed').replaceAll('_', ' ')
}

/** Of a check: how it failed, and what of its output tells why. */
function outputEnd(text: string): string {
  const [head = '', ...output] = text.split('\n\n')
  return output.length === 0 ? text : `${head}\n\n${tellingLines(output.join('\n\n'))}`
}

function wordsOf({ trigger, migrations, facts }: ProjectedWorkspace, projection: RunProjection): string | undefined {
  const move = migrations.at(-1)
  if (trigger === 'migration_error') return `${move?.to ?? 'Another agent'} could not take it over.`
  if (trigger !== 'graceful_termination_expired') return undefined
  const why = projection.controls.findLast(
    each => each.kind === 'abort' && each.grace !== undefined && (each.task ?? facts?.task) === facts?.task,
  )
  const said = why?.kind === 'abort' ? ` ${why.by} asked for that: ${why.reason}` : ''
  return sentence(`It was asked to finish, and was not done when its time was over.${said}`)
}

/** Work ends with its run, and for the same reason. */
function endOf({ controls }: RunProjection): string {
  const why = controls.findLast(each => each.kind === 'abort' && each.task === undefined)
  return why?.kind === 'abort' ? `${why.by} ended it: ${why.reason}` : 'The run was ended.'
}

function endedBy({ trigger, id, decidedBy, facts }: ProjectedWorkspace, projection: RunProjection): string | undefined {
  if (trigger === 'aborted_by_human') {
    const withheld = projection.highway.ended('envelope_delivery', id)
    if (withheld?.action === 'reject')
      return sentence(`${withheld.actor} withheld its message${withheld.reason ? `: ${withheld.reason}` : ''}`)
    const why = projection.controls.findLast(each => each.kind === 'abort' && each.task === facts?.task)
    return sentence(`${decidedBy ?? 'A person'} ended it${why?.kind === 'abort' ? `: ${why.reason}` : ''}`)
  }
  if (trigger !== 'gate_rejected_by_human') return undefined
  const end = projection.highway.ended('integration', id)
  const why = end?.reason === undefined ? '' : `: ${end.reason}`
  return sentence(`${end?.actor ?? 'A person'} did not let it be merged${why}`)
}

/** What people write has its own full stop, or none. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
