// Starting a node in the background: a process of its own that outlives its starter, with its output in the
// profile's log.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { TOKEN_FILE, TURN_MARKER } from '@parley/agents'
import type { Environment, ProfilePaths } from './profile/paths.ts'

export interface SpawnedNode {
  readonly pid: number | undefined
  /** The exit code once it has ended; `null` if a signal ended it or it could not be started. */
  ended(): { readonly code: number | null } | undefined
  /** It is not needed: somebody else's node was there first. */
  end(): void
}

const own = import.meta.url
/** Beside this file, built or not. */
export const MAIN_FILE = fileURLToPath(new URL(`./main.${own.endsWith('.ts') ? 'ts' : 'js'}`, own))

/** Throws where the log cannot be opened. The folder must be prepared. */
export function spawnNode(paths: ProfilePaths, env: Environment, entry: string = MAIN_FILE): SpawnedNode {
  const log = openSync(paths.log, 'a', 0o600)
  let child: ChildProcess
  try {
    child = spawn(process.execPath, [...runtimeArguments(), entry, '--profile', paths.profile], {
      detached: true,
      stdio: ['ignore', log, log],
      // A folder that somebody works in must not be held by a process that they do not see.
      cwd: paths.folder,
      env: nodeEnvironment(paths, env),
    })
  } finally {
    closeSync(log)
  }
  let ended: { readonly code: number | null } | undefined
  child.once('error', () => {
    ended ??= { code: null }
  })
  child.once('exit', code => {
    ended ??= { code }
  })
  child.unref()
  return { pid: child.pid, ended: () => ended, end: () => void child.kill('SIGTERM') }
}

/** What a turn's process has of its turn. */
const OF_A_TURN = [
  TURN_MARKER,
  TOKEN_FILE,
  'PARLEY_SOCKET',
  'PARLEY_RUN',
  'PARLEY_WORKSPACE',
  'PARLEY_TASK',
  'PARLEY_TASK_ID',
  'PARLEY_AGENT',
  'PARLEY_PROJECT',
]

/** A node is nobody's turn: the marker of one would have it ended with that turn, and its token is not the node's. */
function nodeEnvironment({ home, profile }: ProfilePaths, env: Environment): Environment {
  const rest = Object.fromEntries(Object.entries(env).filter(([name]) => !OF_A_TURN.includes(name)))
  const told = { PARLEY_HOME: home, PARLEY_PROFILE: profile, PARLEY_STARTED: 'on-demand' }
  // glibc gives each of a dozen threads an arena, and what a start has freed stays in them. Agents do not inherit this.
  return { MALLOC_ARENA_MAX: '2', ...rest, ...told }
}

/** How packages are resolved; nothing else of this process's own options is meant for it. */
export function runtimeArguments(): string[] {
  const kept: string[] = []
  for (const [index, argument] of process.execArgv.entries()) {
    if (/^(?:--conditions=|-C=)/.test(argument)) kept.push(argument)
    else if (argument === '--conditions' || argument === '-C') kept.push(argument, process.execArgv[index + 1] ?? '')
  }
  return [...kept, '--disable-warning=ExperimentalWarning']
}
