// Checks of the deployment model and of the secret that seals or proves content.
import { join } from 'node:path'
import { type Config, KEY_MARK } from '@parley/node'
import { type Finding, ok, type Probes, problem, RESTART, warning } from './check.ts'
import type { Scene } from './node.ts'

const MODELS: { readonly [M in Config['values']['deployment']]: string } = {
  'single-runtime': 'access control and file modes; content is proven, not encrypted',
  'shared-infrastructure': 'content is sealed with one key; a container or machine of its own is up to you',
  'zero-trust': 'content is sealed with a key for each workspace; isolating agents from each other is up to you',
}

export function deployment({ probes, paths, config, running: { status } }: Scene): readonly Finding[] {
  if (!config.ok) return []
  const { deployment: model } = config.value.values
  const text = `${model}: ${MODELS[model]}`
  const running = status?.deployment ?? model
  const kept =
    running === model
      ? ok('deployment', text)
      : warning('deployment', `${text}. The running node uses ${running}`, RESTART)
  return [kept, ...secret(probes, paths, model !== 'single-runtime')]
}

function secret(probes: Probes, paths: Config['paths'], seals: boolean): readonly Finding[] {
  const trail = join(paths.folder, 'trail')
  const found = probes.file(paths.secret)
  if (!found && probes.file(join(trail, KEY_MARK)))
    return [
      problem(
        'secret',
        `${paths.secret} is missing, and the content of the trail is sealed or proven with it`,
        'Restore it from a backup. No other secret works, and no node starts without it.',
      ),
    ]
  if (!found && probes.file(trail))
    return [
      problem(
        'secret',
        `${paths.secret} is missing`,
        'Restore it from a backup before a node starts and makes a new one: proofs made with the old secret cannot be checked with the new one.',
      ),
    ]
  if (!seals || !found) return []
  const beside = found.device !== undefined && found.device === probes.file(trail)?.device
  if (!beside) return [ok('secret', 'not on the disk of the trail')]
  return [
    warning(
      'secret',
      'is on the same disk as the content that it seals: anyone who takes the disk has both',
      `Move it to another device, make ${paths.secret} a link to it, and keep it out of backups of the profile.`,
    ),
  ]
}
