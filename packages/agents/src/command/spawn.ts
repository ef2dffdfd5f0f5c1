// One run of a program: started as the leader of its own group and session, watched, and ended whole. It returns only
// when nothing of the run is left, or when what is left could not be ended.

import { type ChildProcess, spawn } from 'node:child_process'
import type { Clock } from '@parley/core'
import { agentDefaults } from '../limits.ts'
import { type Ended, endTurn, signal as send } from '../processes.ts'

export interface ProgramRun {
  readonly command: readonly [string, ...string[]]
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  /** Standard input; empty by default. */
  readonly input?: string
  readonly marker: string
  readonly clock: Clock
  readonly grace: number
  readonly timeoutMs: number
  readonly maxOutput: number
  readonly signal: AbortSignal
  stdout(bytes: Buffer): void
  stderr(bytes: Buffer): void
}

/** Why the run is over. Abort goes before everything, a limit before how the program took it. */
export type RunCause = 'exit' | 'timeout' | 'output_limit' | 'aborted'

export type ProgramEnd =
  /** The operating system could not start it. */
  | { readonly cause: 'start'; readonly error: NodeJS.ErrnoException }
  | {
      readonly cause: RunCause
      readonly exitCode: number | null
      readonly signal: NodeJS.Signals | null
      readonly outputBytes: number
      /** Processes that were still there when the program had ended by itself. */
      readonly leftBehind: number
      /** Processes that could not be ended. */
      readonly left: readonly number[]
    }

/** Starting a process blocks for milliseconds, so only one starts in each turn of the event loop. */
let starting: Promise<void> = Promise.resolve()

function mayStart(): Promise<void> {
  const mine = starting
  starting = mine.then(() => new Promise(resolve => setImmediate(resolve)))
  return mine
}

export async function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  const [program, ...args] = run.command
  await mayStart()
  let child: ChildProcess
  try {
    child = spawn(program, args, {
      cwd: run.folder,
      env: run.environment,
      detached: true,
      stdio: [run.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
  } catch (error) {
    return { cause: 'start', error: error as NodeJS.ErrnoException }
  }
  const { pid } = child
  if (pid === undefined) return { cause: 'start', error: await failure(child) }
  return watch(child, pid, run)
}

function failure(child: ChildProcess): Promise<NodeJS.ErrnoException> {
  return new Promise(resolve => child.once('error', resolve))
}

async function watch(child: ChildProcess, pid: number, run: ProgramRun): Promise<ProgramEnd> {
  let exit: readonly [number | null, NodeJS.Signals | null] | undefined
  const exited = new Promise<void>(resolve => {
    child.once('exit', (code, name) => {
      exit = [code, name]
      resolve()
    })
  })
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()))
  // A signal that cannot be sent is no reason to fall.
  child.on('error', () => {})

  let timedOut = false
  let flooded = false
  const { promise: stopped, resolve } = Promise.withResolvers<void>()
  const stop = () => resolve()
  const cancelTimeout = run.clock.after(run.timeoutMs, () => {
    timedOut = exit === undefined
    stop()
  })
  run.signal.addEventListener('abort', stop, { once: true })
  if (run.signal.aborted) stop()

  let outputBytes = 0
  for (const [stream, take] of [
    [child.stdout!, run.stdout],
    [child.stderr!, run.stderr],
  ] as const) {
    stream.on('error', () => {})
    stream.on('data', (bytes: Buffer) => {
      if (flooded) return
      outputBytes += bytes.length
      if (outputBytes <= run.maxOutput) {
        take(bytes)
        return
      }
      flooded = true
      // Nobody reads on: a program that ignores the signals meets a closed pipe.
      child.stdout!.destroy()
      child.stderr!.destroy()
      stop()
    })
  }
  // A program need not read its input, or not all of it.
  child.stdin?.on('error', () => {})
  child.stdin?.end(run.input)

  await Promise.race([exited, stopped])
  const byItself = exit !== undefined
  const { clock, grace, marker } = run
  const ended = await endTurn({ marker, leader: pid, gone: exited }, { clock, grace }).catch(
    // Without a process table there is the group, and nothing else to go by.
    (): Ended => ({ found: 0, left: [] }),
  )
  if (exit === undefined && !ended.left.includes(pid)) {
    send(-pid, 'SIGKILL')
    child.kill('SIGKILL')
    await exited
  }
  await drained(child, closed, clock)
  cancelTimeout()
  run.signal.removeEventListener('abort', stop)
  const [exitCode, name] = exit ?? [null, null]
  return {
    cause: run.signal.aborted ? 'aborted' : flooded ? 'output_limit' : timedOut ? 'timeout' : 'exit',
    exitCode,
    signal: name,
    outputBytes,
    leftBehind: byItself ? ended.found : 0,
    left: ended.left,
  }
}

/** What is in the pipes is read; but a process that nobody could end may hold them open for ever. */
async function drained(child: ChildProcess, closed: Promise<void>, clock: Clock): Promise<void> {
  let cancel = () => {}
  const late = new Promise<void>(resolve => {
    cancel = clock.after(agentDefaults.drainMs, resolve)
  })
  await Promise.race([closed, late])
  cancel()
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
}
