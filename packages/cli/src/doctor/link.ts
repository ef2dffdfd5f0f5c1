// Checks of the link (ALP): whether there is a key, whether the list of peers can be used, where the node listens, and
// who waits to be let in. Clocks of others cannot be seen from here: `parley ping` tells.
import { join } from 'node:path'
import type { Result } from '@parley/core'
import type { Config, lookAtLink, ProfilePaths } from '@parley/node'
import { asFailure } from '../failure.ts'
import type { NodeStatus } from '../node/views.ts'
import { plural } from '../render/format.ts'
import { oneLine } from '../render/text.ts'
import { type Finding, ok, type Probes, problem, warning } from './check.ts'
import type { NodeCheck } from './node.ts'

type LinkLook = ReturnType<typeof lookAtLink>

const CHECK = 'link'
const RESTART = 'When its runs can pause: parley down, then parley up.'

type Link = NonNullable<NodeStatus['link']>

/** Nothing where the configuration cannot be read: that is told elsewhere. */
export async function link(
  probes: Probes,
  paths: ProfilePaths,
  config: Result<Config>,
  running: NodeCheck,
  look: (config: Config) => LinkLook,
): Promise<readonly Finding[]> {
  if (!config.ok) return []
  // A node of another version may say nothing of it.
  const status = running.status?.link
  if (!config.value.values.alp)
    return [
      status
        ? warning(CHECK, 'is off in the configuration, but peers can still reach the running node', RESTART)
        : ok(CHECK, 'off, since service.alp is false: no peer can reach this profile'),
    ]
  const seen = look(config.value)
  const missing = keyless(probes, paths, seen)
  if (missing) return [missing]
  if (status === null) return [warning(CHECK, 'it is switched off in the running node', RESTART)]
  if (!status) return [resting(seen)]
  return [await live(running, status, seen, config.value)]
}

/** The key is made when a profile is first used; one that is gone later is another matter. */
function keyless(probes: Probes, paths: ProfilePaths, { key }: LinkLook): Finding | undefined {
  if (probes.file(key)) return undefined
  if (!probes.file(join(paths.folder, 'trail'))) return ok(CHECK, 'no key yet: the first node creates it')
  return problem(
    CHECK,
    `${oneLine(key)} is missing: the profile has no key`,
    'Restore alp/secrets from a backup. The line `key` says whether a node starts without it.',
  )
}

function resting({ peers, problems, pending, plan }: LinkLook): Finding {
  const [first] = problems
  if (first !== undefined) return unusable(problems)
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

function unusable([first = '', ...rest]: readonly string[]): Finding {
  const more = rest.length > 0 ? ` (and ${plural(rest.length, 'more problem')})` : ''
  return problem(
    CHECK,
    `${oneLine(first)}${more}`,
    'Fix alp/peers.yaml of the profile in an editor; changes apply at once. `parley peers` shows the pinned peers and what is wrong.',
  )
}

function waiting(pending: number): string {
  if (pending === 0) return ''
  return `; ${plural(pending, 'stranger')} called and got silence: parley peers pending`
}
