// Checks of the second copy of the record (W-TRAIL-26), and of failed work of the storage life cycle.
import { join } from 'node:path'
import { asFailure } from '../failure.ts'
import { SLOW } from '../limits.ts'
import type { TiersView } from '../node/views.ts'
import { moment, plural } from '../render/format.ts'
import { oneLine } from '../render/text.ts'
import { andMore } from '../render/trail.ts'
import { type Finding, ok, problem, RESTART, warning } from './check.ts'
import type { NodeCheck, Scene } from './node.ts'

export async function storage(scene: Scene): Promise<readonly Finding[]> {
  if (!scene.config.ok) return []
  return [await replica(scene, scene.config.value.values.replica), ...faults(scene.running)]
}

async function replica({ probes, paths, running }: Scene, folder: string | undefined): Promise<Finding> {
  const trail = probes.file(join(paths.folder, 'trail'))
  if (folder === undefined) {
    if (!trail) return ok('replica', 'not configured, and nothing is recorded yet')
    return ok(
      'replica',
      'there is no second copy: the record of your runs is lost with this disk. A folder on another device gets one if you name it as `replica` under `trail` in config.yaml.',
    )
  }
  // The dot makes a link resolve.
  const found = probes.file(join(folder, '.'))
  if (!found?.folder)
    return problem(
      'replica',
      `${oneLine(folder)} is missing, so finished runs stay in the log`,
      'Mount the device or create the folder, or name another one as `replica` under `trail` in config.yaml.',
    )
  if (!probes.writable(folder))
    return problem(
      'replica',
      `${oneLine(folder)} cannot be written, so finished runs stay in the log`,
      "Give the node's user write permission.",
    )
  const used = await inUse(folder, running)
  if (used) return used
  if (trail?.device !== undefined && trail.device === found.device)
    return warning(
      'replica',
      `${oneLine(folder)} is on the same disk as the record: both would be lost together`,
      'Name a folder on another device.',
    )
  return ok('replica', oneLine(folder))
}

async function inUse(folder: string, { api, status }: NodeCheck): Promise<Finding | undefined> {
  if (!api || !status) return undefined
  let tiers: TiersView
  try {
    tiers = await api.trail.tiers({}, SLOW)
  } catch (thrown) {
    return warning('replica', `cannot be checked: ${asFailure(thrown).message}`, '`parley trail tiers` tries again.')
  }
  if (tiers.replica?.folder !== folder) return warning('replica', 'the running node does not use it yet', RESTART)
  if (tiers.replica.problem !== undefined)
    return problem('replica', oneLine(tiers.replica.problem), 'The node retries automatically.')
  if (tiers.replica.lacking > 0)
    return warning(
      'replica',
      `lacks ${plural(tiers.replica.lacking, 'file')} of the cold tier`,
      'A node copies them within hours; `parley trail restore` does so at once.',
    )
  return undefined
}

function faults({ status }: NodeCheck): readonly Finding[] {
  const failed = status?.storage?.faults ?? []
  const [first] = failed
  if (!first) return []
  const remedy = `The next attempt is ${moment(first.retry)}; \`parley trail compact\` tries at once. \`parley trail tiers\` lists all.`
  return [warning('storage', `${oneLine(first.message)}${andMore(failed.length, 'problem')}`, remedy)]
}
