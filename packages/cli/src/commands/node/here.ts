// `parley` alone: where you are. It starts nothing, and is right without a node, a team file or a repository.
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Context, command } from '../../command.ts'
import { asFailure, type Failure } from '../../failure.ts'
import { cliLimits } from '../../limits.ts'
import type { NodeClient } from '../../node/client.ts'
import { refuseSlip } from '../../node/no-node.ts'
import { drawing, print } from '../../output.ts'
import { type Here, hereLines } from '../../render/here.ts'
import { TEAM_FILE } from '../words.ts'

export default command({
  about: 'It starts no node and changes nothing.',
  examples: [
    ['parley', 'what waits for you, what is at work, what to do next'],
    ['parley --json', 'the same for a program'],
  ],
  async run(context) {
    if (context.env.PARLEY_TOKEN_FILE) {
      print(context, { workspace: true }, () => ['You are inside a workspace: `parley ws status` shows your task.'])
      return
    }
    await refuseSlip(context.global.profile, context.env)
    const here: Here = { ...placeOf(context.cwd), ...(await atNode(context)) }
    print(context, here, () => hereLines(here, drawing(context)))
  },
})

function placeOf(cwd: string): Pick<Here, 'team_file' | 'repository'> {
  let team: string | null = null
  for (let folder = cwd; ; folder = dirname(folder)) {
    const file = join(folder, TEAM_FILE)
    if (team === null && existsSync(file)) team = file
    if (existsSync(join(folder, '.git'))) return { team_file: team, repository: folder }
    // Without a repository only the folder itself counts, as for `solve`.
    if (dirname(folder) === folder) return { team_file: team === join(cwd, TEAM_FILE) ? team : null, repository: null }
  }
}

const NOTHING = { interrupted: [], waiting: [], at_work: [], last: null, machine: null } as const

async function atNode(context: Context): Promise<Omit<Here, 'team_file' | 'repository'>> {
  try {
    const api = await context.connect({ start: false, anyVersion: true })
    return { node: 'running', interrupted: [], ...(await look(api, context.cwd)) }
  } catch (thrown) {
    const failure: Failure = asFailure(thrown)
    if (failure.code === 'node_not_running' || failure.code === 'UNAVAILABLE')
      return { node: 'not running', ...NOTHING, interrupted: await interruptedHere(context) }
    if (failure.code === 'usage' || failure.code === 'not_found' || failure.code === 'invalid_profile') throw failure
    return { node: 'unreachable', problem: failure.message, ...NOTHING }
  }
}

async function interruptedHere({ global, env }: Context): Promise<readonly string[]> {
  const { chosenPaths, interruptedRuns } = await import('@parley/node/commands')
  const paths = chosenPaths(global.profile, env, homedir())
  return paths.ok ? interruptedRuns(paths.value.folder) : []
}

async function look(
  api: NodeClient,
  folder: string,
): Promise<Pick<Here, 'waiting' | 'at_work' | 'last' | 'machine' | 'http'>> {
  const [{ gates }, { runs: at_work }, { machine, http }] = await Promise.all([
    api.gates.list({}),
    api.runs.list({ states: ['waiting', 'working'], limit: cliLimits.runs }),
    api.node.status({}),
  ])
  // Finished runs have to be read: only where nothing else is to be shown.
  const last = at_work.length > 0 ? undefined : (await api.runs.list({ limit: 1, folder })).runs[0]
  return {
    waiting: gates,
    at_work,
    last: last ?? null,
    machine,
    ...(http && { http: http.at ?? http.problem!.message }),
  }
}
