// What an attempt came to, in words.
import type { ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'

export function failureText(attempt: ProjectedWorkspace, projection: RunProjection): string {
  if (attempt.trigger === 'agent_failed' && attempt.reason !== undefined) return attempt.reason
  const conflict = attempt.conflicts.findLast(({ settled }) => settled?.outcome === 'failed')
  if (attempt.trigger === 'conflict_unresolvable' && conflict?.settled) return conflict.settled.resolution
  const ended = wordsOf(attempt, projection)
  if (ended !== undefined) return ended
  const byPerson = endedBy(attempt, projection)
  if (byPerson !== undefined) return byPerson
  const judge = projection.judges(attempt.id).findLast(each => each.checkpoints.length > 0 || each.reason !== undefined)
  const said = judge?.checkpoints.findLast(each => each.final)?.text ?? judge?.reason
  if (said !== undefined && said !== '') return said
  if (attempt.trigger === 'system_shutdown') return 'The run was ended.'
  if (attempt.trigger === 'budget_exceeded') return `It went over its budget: ${attempt.exceeded}.`
  return (attempt.trigger ?? 'failed').replaceAll('_', ' ')
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

function endedBy({ trigger, id, decidedBy, facts }: ProjectedWorkspace, projection: RunProjection): string | undefined {
  if (trigger === 'aborted_by_human') {
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
