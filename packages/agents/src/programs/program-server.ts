// The process that starts programs for a node: agents, checks and git. Starting a process halts the starter while the
// tables of its memory are copied: milliseconds for a node, dozens of times in a run. This one is small.
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { runCollected } from './collected.ts'
import type { Answer, Question, StartedProgram } from './messages.ts'

/** Programs that are watched: what they print goes to the node as it comes. */
const started = new Map<number, ChildProcess>()

process.on('message', async (question: Question) => {
  const { id } = question
  if ('collect' in question) answer({ id, end: await runCollected(question.collect, after) })
  else if ('start' in question) start(id, question.start)
  else release(id)
})
// What a terminal sends to everybody is for the node to decide.
process.on('SIGINT', () => undefined)
// The next node ends the programs of one that is gone; what git has done is done.
process.on('disconnect', () => {
  for (const id of started.keys()) release(id)
})

/** The node may be gone by now. `sent` is called when the channel has taken the answer. */
function answer(message: Answer, sent?: () => void): void {
  if (process.connected) process.send!(message, () => sent?.())
}

function after(milliseconds: number, run: () => void): () => void {
  const timer = setTimeout(run, milliseconds)
  return () => clearTimeout(timer)
}

/** The program leads a group and a session of its own. */
function start(id: number, { command, cwd, env, input }: StartedProgram): void {
  const [file, ...args] = command
  const failed = ({ code, errno, syscall, message }: NodeJS.ErrnoException) =>
    answer({ id, error: { code, errno, syscall, message } })
  let child: ChildProcess
  try {
    const stdin = input === undefined ? 'ignore' : 'pipe'
    child = spawn(file, args, { cwd, env, detached: true, stdio: [stdin, 'pipe', 'pipe'] })
  } catch (cause) {
    failed(cause as NodeJS.ErrnoException)
    return
  }
  if (child.pid === undefined) {
    child.once('error', failed)
    return
  }
  started.set(id, child)
  // A signal that cannot be sent is no reason to fall.
  child.on('error', () => {})
  answer({ id, pid: child.pid })
  relay(child.stdout!, bytes => ({ id, stdout: bytes }))
  relay(child.stderr!, bytes => ({ id, stderr: bytes }))
  // A program need not read its input, or not all of it.
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  child.once('exit', (code, signal) => answer({ id, exit: [code, signal] }))
  child.once('close', () => {
    started.delete(id)
    answer({ id, closed: true })
  })
}

/** A program that prints faster than the node reads has to wait. */
function relay(stream: Readable, message: (bytes: Uint8Array) => Answer): void {
  stream.on('error', () => {})
  stream.on('data', (bytes: Buffer) => {
    stream.pause()
    answer(message(bytes), () => stream.resume())
  })
}

/** Nobody reads on: a program that ignores signals meets a closed pipe. */
function release(id: number): void {
  const child = started.get(id)
  for (const stream of [child?.stdin, child?.stdout, child?.stderr]) stream?.destroy()
  child?.unref()
}
