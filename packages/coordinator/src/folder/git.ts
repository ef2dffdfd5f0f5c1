// The only place that starts the git program: argument arrays and no shell, nothing of the environment's GIT_ variables,
// no hook, filter, pager, prompt, signature or network, a limit on time and on output.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { type CancelTimer, type Clock, ParleyError } from '@parley/core'
import { Semaphore } from '../semaphore.ts'
import { folderLimits, oldestGit } from './limits.ts'

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
  /** There was more than `maxBytes`. */
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
  'worktree.useRelativePaths=false',
]

const identity = {
  GIT_AUTHOR_NAME: 'Parley',
  GIT_AUTHOR_EMAIL: 'parley@localhost',
  GIT_COMMITTER_NAME: 'Parley',
  GIT_COMMITTER_EMAIL: 'parley@localhost',
}

/**
 * Runs git to its end. Throws a ParleyError: `git_missing`, `git_timeout`, `git_output`, `repository_locked` (worth another try)
 * or `git_failed`, whose details hold the complaint.
 */
export async function git(place: GitPlace, args: readonly string[], call: GitCall = {}): Promise<GitAnswer> {
  const release = await atOnce.acquire(NEVER)
  try {
    return await start(place, args, call)
  } finally {
    release!()
  }
}

/** As many as there are processors: more would not be done sooner, and turns that start would have to wait behind them. */
const atOnce = new Semaphore(availableParallelism())
const NEVER = new AbortController().signal

function start(place: GitPlace, args: readonly string[], call: GitCall): Promise<GitAnswer> {
  const config = [...fixedConfig, ...(place.config ?? [])].flatMap(each => ['-c', each])
  const child = spawn('git', [...config, ...args], {
    cwd: place.cwd,
    env: { ...cleanEnvironment(), ...identity, ...place.env, ...call.env },
    stdio: 'pipe',
    windowsHide: true,
  })
  return new Promise((resolve, reject) => new Running(child, place, args, call, resolve, reject))
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

class Running {
  readonly #child: ChildProcess
  readonly #command: string
  readonly #cwd: string
  readonly #call: GitCall
  readonly #clock: Clock
  readonly #reject: (error: ParleyError) => void
  readonly #output: Buffer[] = []
  readonly #complaint: Buffer[] = []
  #bytes = 0
  #complaintBytes = 0
  #cut = false
  #timedOut = false
  #cancel: CancelTimer

  constructor(
    child: ChildProcess,
    place: GitPlace,
    args: readonly string[],
    call: GitCall,
    resolve: (answer: GitAnswer) => void,
    reject: (error: ParleyError) => void,
  ) {
    this.#child = child
    this.#command = `git ${args[0]}`
    this.#cwd = place.cwd
    this.#call = call
    this.#clock = place.clock
    this.#reject = reject
    this.#cancel = place.clock.after(call.timeoutMs ?? folderLimits.gitMs, () => {
      this.#timedOut = true
      this.#stop()
    })
    child.once('error', cause => {
      this.#cancel()
      reject(this.#notStarted(cause))
    })
    child.stdout!.on('data', (chunk: Buffer) => this.#take(chunk))
    child.stderr!.on('data', (chunk: Buffer) => {
      if (this.#complaintBytes < folderLimits.complaintBytes) this.#complaint.push(chunk)
      this.#complaintBytes += chunk.length
    })
    // A program that ends before it has read everything says why in its exit code.
    child.stdin!.on('error', () => {})
    child.stdin!.end(call.input)
    child.once('close', code => {
      this.#cancel()
      this.#closed(code, resolve)
    })
  }

  #take(chunk: Buffer): void {
    const left = (this.#call.maxBytes ?? folderLimits.outputBytes) - this.#bytes
    this.#bytes += Math.min(chunk.length, left)
    if (left > 0) this.#output.push(chunk.subarray(0, left))
    if (chunk.length <= left || this.#cut) return
    this.#cut = true
    this.#stop()
  }

  /** Politely first: a git that is asked to stop takes its lock files away. */
  #stop(): void {
    this.#child.kill('SIGTERM')
    this.#cancel()
    this.#cancel = this.#clock.after(folderLimits.killGraceMs, () => this.#child.kill('SIGKILL'))
  }

  #closed(code: number | null, resolve: (answer: GitAnswer) => void): void {
    const problem = this.#problem(code)
    if (problem !== undefined) this.#reject(problem)
    else resolve({ code: this.#cut ? 0 : code!, stdout: Buffer.concat(this.#output), cut: this.#cut })
  }

  #problem(code: number | null): ParleyError | undefined {
    const { codes = [0], cut = false } = this.#call
    if (this.#timedOut) return this.#error('git_timeout', 'did not end in time', true)
    if (this.#cut) return cut ? undefined : this.#error('git_output', 'printed more than it may')
    return code === null || !codes.includes(code) ? this.#failed(code) : undefined
  }

  #notStarted(cause: Error): ParleyError {
    if ('code' in cause && cause.code === 'ENOENT' && existsSync(this.#cwd)) {
      return new ParleyError(
        'git_missing',
        `The program git was not found. Install git ${oldestGit.major}.${oldestGit.minor} or newer, or put it on the PATH.`,
        { cause },
      )
    }
    return new ParleyError('git_failed', `git could not be started in ${this.#cwd}: ${cause.message}.`, {
      cause,
    })
  }

  #failed(code: number | null): ParleyError {
    const complaint = Buffer.concat(this.#complaint).toString('utf8').trim()
    const [, lock] = /Unable to create '(.+\.lock)': File exists/s.exec(complaint) ?? []
    if (lock !== undefined) {
      return new ParleyError(
        'repository_locked',
        `Another git program seems to be at work: ${lock} exists. Try again when it has ended.`,
        { retryable: true, details: { lock, complaint } },
      )
    }
    const what = code === null ? 'was ended from outside' : `failed with exit code ${code}`
    return this.#error('git_failed', what, false, complaint)
  }

  #error(code: string, what: string, retryable = false, complaint = ''): ParleyError {
    const said = complaint === '' ? '.' : `: ${complaint.slice(0, folderLimits.complaintLength)}`
    return new ParleyError(code, `${this.#command} ${what} in ${this.#cwd}${said}`, {
      retryable,
      details: { command: this.#command, complaint },
    })
  }
}

/** Tries again, with growing waits, while somebody else holds a lock. */
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

/** Refuses a git that is missing or too old. */
export async function requireGit(clock: Clock, cwd: string): Promise<void> {
  const said = (await git({ cwd, clock }, ['version'])).stdout.toString('utf8').trim()
  const [, major, minor] = /(\d+)\.(\d+)/.exec(said)?.map(Number) ?? []
  const enough =
    major !== undefined &&
    minor !== undefined &&
    (major > oldestGit.major || (major === oldestGit.major && minor >= oldestGit.minor))
  if (enough) return
  throw new ParleyError(
    'git_too_old',
    `Found "${said.slice(0, 80)}", and git ${oldestGit.major}.${oldestGit.minor} or newer is needed. Update git.`,
  )
}
