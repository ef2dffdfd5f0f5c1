// Why there is no node to talk to: a mistyped profile, an invalid configuration, a lost key, a hanging process.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { CallError } from '@parley/call'
import { type Clock, ParleyError } from '@parley/core'
import type { Environment } from '../command.ts'
import { Failure } from '../failure.ts'
import { cliLimits } from '../limits.ts'
import { suggest } from '../line/words.ts'

/** A named profile that does not exist is probably mistyped: reading commands do not create it. */
export async function refuseSlip(flag: string | undefined, env: Environment['env']): Promise<void> {
  if (flag === undefined && !env.PARLEY_PROFILE) return
  const paths = await pathsOf(flag, env)
  if (!paths || paths.profile === 'default' || existsSync(paths.folder)) return
  const known = existsSync(paths.home)
    ? readdirSync(paths.home, { withFileTypes: true })
        .filter(each => each.isDirectory())
        .map(each => each.name)
    : []
  const near = suggest(paths.profile, known)
  throw new Failure('not_found', `There is no profile '${paths.profile}'.`, {
    why: near === undefined ? `${paths.folder} does not exist.` : `Did you mean '${near}'?`,
    next: '`parley solve`, `parley run` and `parley up` create a new one.',
    details: { profile: paths.profile, profiles: known },
  })
}

async function pathsOf(flag: string | undefined, env: Environment['env']) {
  const { chosenPaths } = await import('@parley/node/commands')
  const paths = chosenPaths(flag, env, homedir())
  return paths.ok ? paths.value : undefined
}

/** A better error if the cause is visible from here. */
export async function explained(
  error: ParleyError,
  flag: string | undefined,
  env: Environment['env'],
): Promise<ParleyError> {
  const { readNodeFile } = await import('@parley/node/commands')
  if (error.code === 'node_start_failed') {
    // The whole node: only where it has failed to start.
    const { keyProblem, loadConfig } = await import('@parley/node')
    const config = loadConfig({ flags: { profile: flag }, env })
    if (!config.ok) return config.error
    const lost = keyProblem(config.value.paths.folder)
    if (lost) return lost
    const { code } = (error.cause ?? {}) as NodeJS.ErrnoException
    if (code !== undefined && CLOSED.has(code)) return unwritable(error, code)
  }
  const paths = await pathsOf(flag, env)
  const pid = paths && readNodeFile(paths.nodeFile)?.pid
  // It no longer listens but has not ended, which somebody who stopped it wants to know.
  if (error.code === 'node_not_running' && pid !== undefined && isLeftNode(pid))
    return new ParleyError(error.code, error.message, {
      retryable: true,
      details: { ...error.details, pid },
      cause: error,
    })
  return paths && pid !== undefined && isThere(pid) && silent(error) ? unanswered(paths, pid, error) : error
}

const CLOSED: ReadonlySet<string> = new Set(['EACCES', 'EPERM'])

function unwritable(error: ParleyError, code: string): Failure {
  const { path } = error.cause as NodeJS.ErrnoException
  return new Failure('profile_unusable', `${path ?? 'The profile'} cannot be written, so no node starts.`, {
    why: `The system says ${code}.`,
    next: '`parley doctor` says how to fix it; PARLEY_HOME sets another place.',
    details: { ...error.details, ...(path !== undefined && { path }), system: code },
    cause: error,
  })
}

/** A node that was stopped (SIGSTOP, Ctrl-Z) is reported at once. */
export async function refuseStopped(flag: string | undefined, env: Environment['env']): Promise<void> {
  const { readNodeFile } = await import('@parley/node/commands')
  const paths = await pathsOf(flag, env)
  const pid = paths && readNodeFile(paths.nodeFile)?.pid
  if (paths && pid !== undefined && isStopped(pid)) throw unanswered(paths, pid, undefined)
}

function unanswered(
  { profile, log }: { readonly profile: string; readonly log: string },
  pid: number,
  cause: ParleyError | undefined,
): Failure {
  const stopped = isStopped(pid)
  return new Failure('node_unreachable', `The node of profile '${profile}' (process ${pid}) does not answer.`, {
    why: `The process exists, but it ${stopped ? 'was stopped' : 'is stopped or hangs'}. Nothing was executed.`,
    next: [
      `\`kill -CONT ${pid}\` wakes it${stopped ? '' : ' if it was stopped'}.`,
      `\`kill ${pid}\` asks it to end. Its runs continue with the next node.`,
    ],
    details: { ...cause?.details, pid, log },
    ...(cause && { cause }),
  })
}

function silent({ code, cause }: ParleyError): boolean {
  if (code === 'node_start_failed') return true
  return code === 'node_unreachable' && cause instanceof CallError && cause.code === 'TIMEOUT'
}

export async function endedInTime(pid: number, clock: Clock): Promise<boolean> {
  for (let waited = 0; !hasEnded(pid); waited += cliLimits.downLookMs) {
    if (waited >= cliLimits.downMs) return false
    await new Promise<void>(resolve => clock.after(cliLimits.downLookMs, resolve))
  }
  return true
}

/** What the system shows of a process; nothing outside Linux. The state follows the name, which may hold brackets. */
function seen(pid: number): { readonly state: string | undefined; readonly command: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return { state: stat[stat.lastIndexOf(')') + 2], command: readFileSync(`/proc/${pid}/cmdline`, 'utf8') }
  } catch {
    return undefined
  }
}

function isStopped(pid: number): boolean {
  const process = seen(pid)
  return process?.state === 'T' && process.command.includes('node')
}

/** By now the number may belong to any process: it counts only if the system shows a node. */
function isLeftNode(pid: number): boolean {
  return !hasEnded(pid) && /node|parley/.test(seen(pid)?.command ?? '')
}

/** A zombie has ended, too. */
function hasEnded(pid: number): boolean {
  return !isThere(pid) || seen(pid)?.state === 'Z'
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
