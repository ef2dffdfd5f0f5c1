// A child process as the other end of a link: frames on its standard input and output (CALL-TRANS-07).
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { devNull } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { type Clock, SystemClock } from '@parley/core'
import { CallError } from '../error.ts'
import { callDefaults } from '../limits.ts'
import { type DuplexOptions, DuplexTransport } from './duplex.ts'
import type { Transport } from './transport.ts'

const STDOUT = 1

export interface SpawnStdioOptions extends Pick<DuplexOptions, 'identity' | 'maxBody'> {
  readonly cwd?: string
  /** The child's whole environment; that of this process by default. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Where the child's standard error goes: to this process's, or nowhere. */
  readonly stderr?: 'inherit' | 'ignore'
  /** Signals the child; the link ends with it. */
  readonly signal?: AbortSignal
  readonly clock?: Clock
}

/**
 * Starts a program and links to it; rejects with `UNAVAILABLE` if it cannot be started. Closing the link ends the
 * child's input; a child that does not end within seconds is terminated, then killed.
 */
export async function spawnStdio(
  command: string,
  args: readonly string[] = [],
  options: SpawnStdioOptions = {},
): Promise<{ readonly transport: Transport; readonly child: ChildProcess }> {
  const { identity, maxBody, stderr = 'inherit', clock = new SystemClock(), ...rest } = options
  const child = spawn(command, args, { ...rest, stdio: ['pipe', 'pipe', stderr] } as SpawnOptions)
  try {
    await once(child, 'spawn')
  } catch (cause) {
    throw new CallError('UNAVAILABLE', `${command} cannot be started: ${(cause as Error).message}`)
  }
  // A signal that cannot be sent is no reason to fall.
  child.on('error', () => undefined)
  return { child, transport: childTransport(child, clock, { identity, ...(maxBody !== undefined && { maxBody }) }) }
}

/** The link to a child that was started with pipes as its standard input and output. */
export function childTransport(
  child: ChildProcess,
  clock: Clock = new SystemClock(),
  options: Pick<DuplexOptions, 'identity' | 'maxBody'> = {},
): Transport {
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new TypeError('the child needs pipes as its standard input and output')
  stdin.once('close', () => endChild(child, clock))
  return stdioOver(stdout, stdin, options)
}

/** Its input is over: a child that does not take the hint gets a signal, and after that one that it cannot ignore. */
function endChild(child: ChildProcess, clock: Clock): void {
  const signals = ['SIGTERM', 'SIGKILL'] as const
  const next = (step: number) => {
    const signal = signals[step]
    if (signal === undefined || child.exitCode !== null || child.signalCode !== null) return
    const cancel = clock.after(callDefaults.closeGrace, () => {
      child.kill(signal)
      next(step + 1)
    })
    child.once('exit', cancel)
  }
  next(0)
}

/**
 * The child's own end. From here on whatever the program prints, through `console` or `process.stdout`, goes to its
 * standard error, so that it cannot get between frames. Call it once, before anything is printed.
 */
export function stdioTransport(options: Pick<DuplexOptions, 'identity' | 'maxBody'> = {}): Transport {
  // Not process.stdout: that is never closed. Nor does Node.js close the descriptor by itself; its number is taken
  // again at once, so that nothing else gets it.
  const output = new Socket({ fd: STDOUT, readable: false, writable: true })
  output.once('close', () => {
    closeSync(STDOUT)
    openSync(devNull, 'w')
  })
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write
  return stdioOver(process.stdin, output, options)
}

function stdioOver(input: Readable, output: Writable, options: Pick<DuplexOptions, 'identity' | 'maxBody'>): Transport {
  return new DuplexTransport({ input, output }, { ...options, kind: 'stdio' })
}
