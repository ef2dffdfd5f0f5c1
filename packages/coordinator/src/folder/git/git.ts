// The only place that starts git: no shell, none of the environment's GIT_ variables, no hook, filter, pager, prompt,
// signature or network; limits on time and output.
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { type CollectedEnd, collect } from '@parley/agents'
import { type Clock, ParleyError } from '@parley/core'
import { Semaphore } from '../../turn/semaphore.ts'
import { folderLimits, oldestGit } from '../limits.ts'

export interface GitPlace {
  readonly cwd: string
  readonly clock: Clock
  readonly env?: Readonly<Record<string, string>>
  /** `key=value`, besides the ones that always hold. */
  readonly config?: readonly string[]
}

export interface GitCall {
  readonly input?: string | Buffer
  readonly env?: Readonly<Record<string, string>>
  /** Exit codes that are answers; else only 0 is one. */
  readonly codes?: readonly number[]
  readonly timeoutMs?: number
  readonly maxBytes?: number
  /** Output beyond `maxBytes` is left out; else it is an error. */
  readonly cut?: boolean
}

export interface GitAnswer {
  readonly code: number
  readonly stdout: Buffer
  readonly cut: boolean
}

/** What no configuration of the user may change: programs that git would start, and how bytes are kept. */
const fixedConfig = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.autocrlf=false',
  'core.safecrlf=false',
  'core.trustctime=true',
  'core.checkStat=default',
  'core.untrackedCache=false',
  'core.splitIndex=false',
  'core.askPass=',
  'core.pager=cat',
  'core.fsync=committed,reference',
  'core.fsyncMethod=batch',
  'index.sparse=false',
  'commit.gpgSign=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'protocol.allow=never',
  'credential.helper=',
  'submodule.recurse=false',
]

export const identity = {
  GIT_AUTHOR_NAME: 'Parley',
  GIT_AUTHOR_EMAIL: 'parley@localhost',
  GIT_COMMITTER_NAME: 'Parley',
  GIT_COMMITTER_EMAIL: 'parley@localhost',
}

/** Throws `git_missing`, `git_timeout`, `git_output`, `repository_locked` (worth another try) or `git_failed`. */
export async function git(place: GitPlace, args: readonly string[], call: GitCall = {}): Promise<GitAnswer> {
  const release = await atOnce.acquire(NEVER)
  try {
    return await start(place, args, call)
  } finally {
    release!()
  }
}

/** One for each processor: more would not be done sooner, and would make the turns that start wait. */
const atOnce = new Semaphore(availableParallelism())
const NEVER = new AbortController().signal

async function start(place: GitPlace, args: readonly string[], call: GitCall): Promise<GitAnswer> {
  const config = [...fixedConfig, ...(place.config ?? [])].flatMap(each => ['-c', each])
  const program = {
    command: ['git', ...config, ...args] as const,
    cwd: place.cwd,
    env: { ...cleanEnvironment(), ...identity, ...place.env, ...call.env },
    input: call.input,
    timeoutMs: call.timeoutMs ?? folderLimits.gitMs,
    graceMs: folderLimits.killGraceMs,
    maxBytes: call.maxBytes ?? folderLimits.outputBytes,
    complaintBytes: folderLimits.complaintBytes,
  }
  return answerOf(await collect(program, place.clock), place, args, call)
}

function cleanEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !name.toUpperCase().startsWith('GIT_'))
  return {
    ...(Object.fromEntries(kept) as Record<string, string>),
    LC_ALL: 'C',
    LANGUAGE: '',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
  }
}

function answerOf(end: CollectedEnd, { cwd }: GitPlace, args: readonly string[], call: GitCall): GitAnswer {
  const command = `git ${args[0]}`
  const error = (code: string, what: string, retryable = false, complaint = '') => {
    const said = complaint === '' ? '.' : `: ${complaint.slice(0, folderLimits.complaintLength)}`
    const details = { command, complaint }
    return new ParleyError(code, `${command} ${what} in ${cwd}${said}`, { retryable, details })
  }
  if (end.end === 'not_started') throw notStarted(end, cwd)
  if (end.end === 'timeout') throw error('git_timeout', 'did not end in time', true)
  const { code, cut, complaint } = end
  const stdout = Buffer.from(end.stdout.buffer, end.stdout.byteOffset, end.stdout.byteLength)
  if (cut) {
    if (call.cut) return { code: 0, stdout, cut }
    throw error('git_output', 'printed more than it may')
  }
  if (code !== null && (call.codes ?? [0]).includes(code)) return { code, stdout, cut }
  const [, lock] = /Unable to create '(.+\.lock)': File exists/s.exec(complaint) ?? []
  if (lock !== undefined) {
    const message = `Another git program seems to be at work: ${lock} exists. Try again when it has ended.`
    throw new ParleyError('repository_locked', message, { retryable: true, details: { lock, complaint } })
  }
  const what = code === null ? 'was ended from outside' : `failed with exit code ${code}`
  throw error('git_failed', what, false, complaint)
}

function notStarted({ code, message }: Extract<CollectedEnd, { end: 'not_started' }>, cwd: string): ParleyError {
  if (code !== 'ENOENT' || !existsSync(cwd))
    return new ParleyError('git_failed', `git could not be started in ${cwd}: ${message}.`, {
      details: { system: code, syscall: 'spawn git' },
    })
  return new ParleyError(
    'git_missing',
    `The program git was not found. Install git ${oldestGit.major}.${oldestGit.minor} or newer, or put it on the PATH.`,
  )
}

export async function whileLocked<T>(clock: Clock, attempt: () => Promise<T>): Promise<T> {
  let wait: number = folderLimits.lockFirstMs
  for (let tried = 1; ; tried++) {
    try {
      return await attempt()
    } catch (error) {
      const locked = error instanceof ParleyError && error.code === 'repository_locked'
      if (!locked || tried === folderLimits.lockAttempts) throw error
    }
    await new Promise<void>(resolve => clock.after(wait, resolve))
    wait = Math.min(wait * 2, folderLimits.lockMostMs)
  }
}

export async function requireGit(clock: Clock, cwd: string): Promise<void> {
  const said = (await git({ cwd, clock }, ['version'])).stdout.toString('utf8').trim()
  const [, major = 0, minor = 0] = /(\d{1,9})\.(\d{1,9})/.exec(said)?.map(Number) ?? []
  if (major > oldestGit.major || (major === oldestGit.major && minor >= oldestGit.minor)) return
  throw new ParleyError(
    'git_too_old',
    `Found "${said.slice(0, 80)}", and git ${oldestGit.major}.${oldestGit.minor} or newer is needed. Update git.`,
  )
}
