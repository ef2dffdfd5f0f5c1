// One run of a program: started as the leader of its own group and session, watched, and ended whole. It returns only
// when nothing of the run is left, or when what is left could not be ended.
import type { Clock } from '@parley/core'
import { agentDefaults } from '../limits.ts'
import { type Ended, endTurn, signal as send } from '../processes.ts'
import type { Exit } from '../programs/messages.ts'
import { type RunningProgram, startElsewhere } from '../programs/program-client.ts'

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
  stdout(bytes: Uint8Array): void
  stderr(bytes: Uint8Array): void
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

export async function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  const { clock, grace, marker } = run
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
  let outputBytes = 0
  let flooded = false
  const within = (take: (bytes: Uint8Array) => void) => (bytes: Uint8Array) => {
    if (flooded) return
    outputBytes += bytes.length
    flooded = outputBytes > run.maxOutput
    if (flooded) stop()
    else take(bytes)
  }
  const program = await startElsewhere(
    { command: run.command, cwd: run.folder, env: run.environment, input: run.input },
    { stdout: within(bytes => run.stdout(bytes)), stderr: within(bytes => run.stderr(bytes)) },
  )
  if ('error' in program) return { cause: 'start', error: Object.assign(new Error(), program.error) }
  const { pid, exited } = program

  let exit: Exit | undefined
  const gone = exited.then(ended => {
    exit = ended
  })
  let timedOut = false
  const cancelTimeout = clock.after(run.timeoutMs, () => {
    timedOut = exit === undefined
    stop()
  })
  const abort = () => stop()
  run.signal.addEventListener('abort', abort, { once: true })
  if (run.signal.aborted) stop()

  await Promise.race([gone, stopped])
  const byItself = exit !== undefined
  if (flooded) program.release()
  const ended = await endTurn({ marker, leader: pid, gone }, { clock, grace }).catch(
    // Without a process table there is the group, and nothing else to go by.
    (): Ended => ({ found: 0, left: [] }),
  )
  if (exit === undefined && !ended.left.includes(pid)) {
    send(-pid, 'SIGKILL')
    send(pid, 'SIGKILL')
    await gone
  }
  await drained(program, clock)
  cancelTimeout()
  run.signal.removeEventListener('abort', abort)
  const [exitCode, signal] = exit ?? [null, null]
  return {
    cause: run.signal.aborted ? 'aborted' : flooded ? 'output_limit' : timedOut ? 'timeout' : 'exit',
    exitCode,
    signal,
    outputBytes,
    leftBehind: byItself ? ended.found : 0,
    left: ended.left,
  }
}

/** What is in the pipes is read; but a process that nobody could end may hold them open for ever. */
async function drained({ closed, release }: RunningProgram, clock: Clock): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(agentDefaults.drainMs, resolve)
  await Promise.race([closed, late])
  cancel()
  release()
}
