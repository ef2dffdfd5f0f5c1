// Checks of the node and of the record: is one running, of this version, and is what it keeps as it was written.
import { basename, join } from 'node:path'
import type { ParleyError, Result, Ticks } from '@parley/core'
import type { Config } from '@parley/node'
import { asFailure } from '../failure.ts'
import { SLOW } from '../limits.ts'
import type { NodeClient } from '../node/client.ts'
import type { NodeStatus } from '../node/views.ts'
import { between, duration, plural } from '../render/format.ts'
import { oneLine } from '../render/text.ts'
import { type Finding, ok, type Probes, problem, RESTART, warning } from './check.ts'
import { faultRemedy } from './profile.ts'

export interface NodeCheck {
  readonly finding: Finding
  readonly api?: NodeClient
  readonly status?: NodeStatus
}

/** What the checks know when they have looked for a node. */
export interface Scene {
  readonly probes: Probes
  readonly paths: Config['paths']
  /** Checks that need it report nothing if it cannot be read: another check does. */
  readonly config: Result<Config>
  readonly running: NodeCheck
}

const FOREGROUND =
  '`parley up` runs one in the foreground, where its messages can be read; logs/node.log has the older ones.'

export async function node(connect: () => Promise<NodeClient>, version: string): Promise<NodeCheck> {
  let api: NodeClient
  try {
    api = await connect()
  } catch (thrown) {
    const { code, message, next, details } = asFailure(thrown)
    if (code === 'node_not_running' && details.pid !== undefined)
      return {
        finding: problem(
          'node',
          `process ${details.pid} no longer listens, but has not ended`,
          `A node takes up to ten seconds to stop. If it takes longer, \`kill -KILL ${details.pid}\` ends it; its runs continue with the next node.`,
        ),
      }
    if (code === 'node_not_running') return { finding: ok('node', 'not running; commands start one when they need it') }
    // It holds the profile: no other node can start.
    const holds = details.pid !== undefined && code === 'node_unreachable'
    return { finding: problem('node', message, holds ? next.join(' ') : FOREGROUND) }
  }
  try {
    const status = await api.node.status({})
    const { pid, runs } = status
    const busy = runs.working + runs.waiting
    const text = `process ${pid}, Parley ${status.version}, ${plural(busy, 'run')} in progress`
    if (status.version === version) return { finding: ok('node', text), api, status }
    const remedy = `This command is ${version}. ${RESTART} The runs continue.`
    return { finding: problem('node', text, remedy), api, status }
  } catch (thrown) {
    const { message } = asFailure(thrown)
    return {
      finding: problem('node', `is running, but does not answer: ${message}`, 'See logs/node.log in the profile.'),
      api,
    }
  }
}

const CLOSED = 'No node starts until this is fixed. Keep everything else in the profile as it is, and make no new key.'
const KEEP =
  "Do not change the profile's folder; compare it with a backup or an export. `parley trail verify` shows the first finding of each run, with --json all of them."

/** `look` finds what would keep the next node from opening the record, even while one runs. */
export async function trail({ probes, paths, running }: Scene, look: () => ParleyError | undefined): Promise<Finding> {
  const { api, status, finding } = running
  const closed = look()
  if (closed) return problem('record', oneLine(closed.message), CLOSED)
  const [damage] = status?.damage ?? []
  if (damage) return problem('record', damage.message, KEEP)
  if (!api) {
    if (!probes.file(join(paths.folder, 'trail'))) return ok('record', 'nothing recorded yet')
    if (finding.state === 'problem') return ok('record', 'not verified, since the node does not answer')
    return ok('record', 'not verified, since no node is running; `parley trail verify` starts one and verifies it')
  }
  try {
    const { sound, runs, unreadable } = await api.trail.verify({}, SLOW)
    const entries = runs.reduce((sum, each) => sum + each.entries, 0)
    const lost = sound ? await lostRun(api, probes, paths, new Set<string>(runs.map(({ run }) => run))) : undefined
    if (lost !== undefined) return problem('record', lost, KEEP)
    if (sound) return ok('record', `sound: ${plural(entries, 'entry', 'entries')} in ${plural(runs.length, 'run')}`)
    const first = runs.flatMap(({ findings }) => findings)[0]?.message ?? `${unreadable[0]} cannot be read`
    return problem('record', first, KEEP)
  } catch (thrown) {
    return problem('record', `cannot be verified: ${asFailure(thrown).message}`, KEEP)
  }
}

/** A record that was put back to an older copy is sound by itself; the folders of later runs tell. */
async function lostRun(api: NodeClient, probes: Probes, paths: Config['paths'], known: ReadonlySet<string>) {
  const folders = probes.folders(join(paths.folder, 'runs')).filter(each => !known.has(basename(each)))
  // One that is being prepared is on no record yet.
  for (const folder of folders.filter(each => !probes.file(join(each, 'open')))) {
    const run = basename(folder)
    try {
      await api.runs.show({ run })
    } catch (thrown) {
      if (asFailure(thrown).code === 'not_found')
        return `does not know ${run}, whose folder is in the profile: it may be an older copy of itself`
    }
  }
  return undefined
}

/** A running node supervises its turns. */
export function leftovers({ probes, paths, running }: Scene): Finding {
  const turns = probes.turns(paths.socket)
  if (turns.length === 0) return ok('processes', 'no turn is running')
  const text = `${plural(turns.length, 'process', 'processes')} of turns (${turns.slice(0, 5).join(', ')}${turns.length > 5 ? ', …' : ''})`
  if (running.api) return ok('processes', `${text}, supervised by a node`)
  return warning(
    'processes',
    `${text}, and no node supervises them`,
    'The next node ends them and repeats their turns: parley up',
  )
}

export function machine({ status }: NodeCheck, now: Ticks): readonly Finding[] {
  if (!status) return []
  const held = status.machine
  if (!held) return [ok('machine', 'no fault is holding up the node')]
  const lasted = duration(between(held.since, undefined, now) ?? 0)
  return [
    problem(
      'machine',
      `has held up the node for ${lasted}: ${held.code} at ${oneLine(held.where)}`,
      `${faultRemedy(held.code)} Until then no turn starts and nothing counts as failed; the node checks by itself and continues.`,
    ),
  ]
}

export function versions(probes: Probes, version: string): Finding {
  return ok('Parley', `${version} on ${probes.platform}`)
}
