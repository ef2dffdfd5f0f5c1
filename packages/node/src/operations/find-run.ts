// Finding a run by what somebody wrote: as the coordinator does, and those that it does not know, such as the house
// run, by their whole id.
import type { Coordination } from '@parley/coordinator'
import type { Result, RunId } from '@parley/core'
import type { Trail } from '@parley/trail'

export async function findRun(
  text: string,
  coordinator: Pick<Coordination, 'runs'>,
  trail: Trail,
): Promise<Result<RunId>> {
  const known = await coordinator.runs.find(text)
  if (known.ok || known.error.code !== 'not_found') return known
  const summary = (await trail.runs()).find(({ run }) => run === text)
  return summary ? { ok: true, value: summary.run } : known
}
