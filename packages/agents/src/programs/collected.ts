// Runs one program to its end and collects what it prints, with output and time bounded. It imports nothing of this
// project, to keep the process that loads it small (program-server.ts).
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'

export interface CollectedProgram {
  readonly command: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly input?: string | Uint8Array | undefined
  readonly timeoutMs: number
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly graceMs: number
  readonly maxBytes: number
  /** Bytes of standard error that are kept. */
  readonly complaintBytes: number
}

export type CollectedEnd =
  | { readonly end: 'not_started'; readonly code: string | undefined; readonly message: string }
  | { readonly end: 'timeout' }
  | {
      readonly end: 'closed'
      /** Null if a signal ended it. */
      readonly code: number | null
      readonly stdout: Uint8Array
      readonly complaint: string
      readonly cut: boolean
    }

type After = (milliseconds: number, run: () => void) => () => void

export function runCollected(program: CollectedProgram, after: After): Promise<CollectedEnd> {
  const { cwd, env, input, timeoutMs, graceMs, maxBytes } = program
  const [file, ...args] = program.command
  let child: ChildProcessWithoutNullStreams
  try {
    child = spawn(file, args, { cwd, env, stdio: 'pipe', windowsHide: true })
  } catch (cause) {
    return Promise.resolve(notStarted(cause as NodeJS.ErrnoException))
  }
  // Where the machine has no more files to give, the process has no pipes: it only says why.
  if (!child.stdout) return new Promise(resolve => child.once('error', cause => resolve(notStarted(cause))))
  const output: Buffer[] = []
  const complaint: Buffer[] = []
  let bytes = 0
  let complaintBytes = 0
  let cut = false
  let timedOut = false
  /** Politely first: a git that is asked to stop takes its lock files away. */
  const stop = () => {
    child.kill('SIGTERM')
    cancel()
    cancel = after(graceMs, () => child.kill('SIGKILL'))
  }
  let cancel = after(timeoutMs, () => {
    timedOut = true
    stop()
  })
  child.stdout.on('data', (chunk: Buffer) => {
    const left = maxBytes - bytes
    bytes += Math.min(chunk.length, left)
    if (left > 0) output.push(chunk.subarray(0, left))
    if (chunk.length <= left || cut) return
    cut = true
    stop()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    if (complaintBytes < program.complaintBytes) complaint.push(chunk)
    complaintBytes += chunk.length
  })
  // A program that ends before it has read everything says why in its exit code.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return new Promise(resolve => {
    child.once('error', cause => {
      cancel()
      resolve(notStarted(cause))
    })
    child.once('close', code => {
      cancel()
      if (timedOut) resolve({ end: 'timeout' })
      else {
        const said = Buffer.concat(complaint).toString('utf8').trim()
        resolve({ end: 'closed', code, stdout: Buffer.concat(output), complaint: said, cut })
      }
    })
  })
}

function notStarted({ code, message }: NodeJS.ErrnoException): CollectedEnd {
  return { end: 'not_started', code, message }
}
