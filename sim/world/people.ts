// Where a person stands in a world, by its own records or by the host's directory.
import type { Standing } from '../checks/standing.ts'
import type { RunModel } from '../model/model.ts'
import { type Config, HOST_DIRECTORY } from './config.ts'

/** Nothing where a world lets anyone do anything. */
export function standingOf(
  user: string,
  people: Config['people'],
  models: ReadonlyMap<string, RunModel>,
): Standing | undefined {
  if (people === 'anyone') return undefined
  if (people === 'host')
    return {
      state: HOST_DIRECTORY.stateOf(user),
      holds: capability => HOST_DIRECTORY.holds(user, capability),
      version: 'always',
    }
  const house = [...models.values()].findLast(run => run.house && run.root && !run.ended)
  const known = house?.users.get(user)
  const capabilities = new Set(known?.capabilities)
  return {
    state: known?.state,
    holds: capability => capabilities.has(capability),
    version: `${house?.id} ${known?.changes}`,
  }
}
