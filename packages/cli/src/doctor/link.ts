// Checks of the link (ALP): the key, the list of peers, where the node listens, and waiting strangers.
import { join } from 'node:path'
import type { Config, lookAtLink } from '@parley/node'
import { asFailure } from '../failure.ts'
import type { NodeStatus } from '../node/views.ts'
import { plural } from '../render/format.ts'
import { oneLine } from '../render/text.ts'
import { andMore } from '../render/trail.ts'
import { type Finding, ok, problem, RESTART, warning } from './check.ts'
import type { NodeCheck, Scene } from './node.ts'

type LinkLook = ReturnType<typeof lookAtLink>

const CHECK = 'link'

type Link = NonNullable<NodeStatus['link']>

export async function link(scene: Scene, look: (config: Config) => LinkLook): Promise<readonly Finding[]> {
  const { config, running } = scene
  if (!config.ok) return []
  const status = running.status?.link
  if (!config.value.values.alp)
    return [
      status
        ? warning(CHECK, 'is off in the configuration, but peers can still reach the running node', RESTART)
        : ok(CHECK, 'off, since service.alp is false: no peer can reach this profile'),
    ]
  const seen = look(config.value)
  const missing = keyless(scene, seen)
  if (missing) return [missing]
  if (status === null) return [warning(CHECK, 'it is switched off in the running node', RESTART)]
  if (!status) return [resting(seen)]
  return [await live(running, status, seen, config.value)]
}

/** The first node creates the key; later it must exist. */
function keyless({ probes, paths }: Scene, { key }: LinkLook): Finding | undefined {
  if (probes.file(key)) return undefined
  if (!probes.file(join(paths.folder, 'trail'))) return ok(CHECK, 'no key yet: the first node creates it')
  return problem(
    CHECK,
    `${oneLine(key)} is missing: the profile has no key`,
    'Restore alp/secrets from a backup. The line `key` says whether a node starts without it.',
  )
}

function resting({ peers, problems, pending, plan }: LinkLook): Finding {
  if (problems.length > 0) return unusable(problems)
  const where = plan.tcp ? `on ${placeOf(plan.tcp)}` : 'on this machine only'
  return ok(CHECK, `${plural(peers, 'peer')} pinned; no node is running, one would listen ${where}${waiting(pending)}`)
}

function placeOf({ host, port }: NonNullable<LinkLook['plan']['tcp']>): string {
  return port === 0 ? `a free port of ${host}` : `${host}:${port}`
}

async function live(running: NodeCheck, status: Link, { plan }: LinkLook, { values }: Config): Promise<Finding> {
  const has = (carrier: Link['listening'][number]['carrier']) => status.listening.some(each => each.carrier === carrier)
  const lacking = [
    ...(has('unix') ? [] : ['its Unix socket']),
    ...(plan.tcp && !has('tcp') ? [`TCP (${placeOf(plan.tcp)})`] : []),
    ...(values.alpCallPort !== undefined && !has('call') ? ['the call port'] : []),
  ]
  const told = status.problems > 0 ? await problemsOf(running) : []
  if (lacking.length > 0) {
    const why = told[0] === undefined ? '' : `: ${oneLine(told[0])}`
    return problem(
      CHECK,
      `the node does not listen on ${lacking.join(', ')}${why}`,
      `Free the port, or choose another one (alp.tcp_port, alp.call_port, network.host in config.yaml). ${RESTART}`,
    )
  }
  if (told.length > 0) return unusable(told)
  const at = status.listening.map(each => `${each.carrier} ${oneLine(each.at)}`).join(', ')
  return ok(CHECK, `${plural(status.peers, 'peer')} pinned; listens on ${at}${waiting(status.pending)}`)
}

async function problemsOf({ api }: NodeCheck): Promise<readonly string[]> {
  try {
    return (await api?.peers.list({}))?.problems ?? []
  } catch (thrown) {
    return [`the list of peers cannot be read: ${asFailure(thrown).message}`]
  }
}

function unusable(problems: readonly string[]): Finding {
  const [first = ''] = problems
  return problem(
    CHECK,
    `${oneLine(first)}${andMore(problems.length, 'problem')}`,
    'Fix alp/peers.yaml of the profile in an editor; changes apply at once. `parley peers` shows the pinned peers and what is wrong.',
  )
}

function waiting(pending: number): string {
  if (pending === 0) return ''
  return `; ${plural(pending, 'stranger')} called and got silence: parley peers pending`
}
