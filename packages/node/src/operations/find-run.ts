// Finding a run by what somebody wrote: as the coordinator does, and those that it does not know, such as the house
// run, by their whole id.
import type { RunId } from '@parley/core'
import type { OperationDeps } from './deps.ts'
import { answered, told } from './spec.ts'

export async function findRun(
  text: string,
  { coordinator, trail }: Pick<OperationDeps, 'coordinator' | 'trail'>,
): Promise<RunId> {
  const known = await told(coordinator.runs.find(text))
  if (known.ok || known.error.code !== 'not_found') return answered(known)
  const summary = (await told(trail.runs())).find(({ run }) => run === text)
  return summary ? summary.run : answered(known)
}
