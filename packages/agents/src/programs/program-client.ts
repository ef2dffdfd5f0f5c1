// This side of the process that starts programs (program-server.ts). It keeps neither process alive when nothing runs.
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Clock, SystemClock } from '@parley/core'
import { type CollectedEnd, type CollectedProgram, runCollected } from './collected.ts'
import type { Answer, Exit, Question, StartError, StartedProgram } from './messages.ts'

export interface ProgramOutput {
  stdout(bytes: Uint8Array): void
  stderr(bytes: Uint8Array): void
}

export interface RunningProgram {
  readonly pid: number
  readonly exited: Promise<Exit>
  /** It has exited, and nobody holds its pipes any more. */
  readonly closed: Promise<void>
  /** Closes this side's pipes, whatever is still in them. */
  release(): void
}

export type StartedOrNot = RunningProgram | { readonly error: StartError }

/** Takes the answers to one question; says whether it was the last one. */
type Take = (answer: Answer) => boolean

class ProgramClient {
  readonly #server: ChildProcess
  readonly #waiting = new Map<number, Take>()
  #ids = 0

  constructor(gone: () => void) {
    const own = import.meta.url
    const file = new URL(`./program-server.${own.endsWith('.ts') ? 'ts' : 'js'}`, own)
    this.#server = fork(fileURLToPath(file), [], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#rest()
    this.#server.on('message', (answer: Answer) => this.#take(answer))
    const ended = (cause: StartError) => {
      gone()
      for (const id of [...this.#waiting.keys()]) this.#lost(id, cause)
    }
    this.#server.once('error', ended)
    this.#server.once('exit', () => ended({ message: 'the process that starts programs has ended' }))
  }

  collect(program: CollectedProgram): Promise<CollectedEnd> {
    return new Promise(resolve => {
      this.#ask({ id: ++this.#ids, collect: program }, answer => {
        if ('end' in answer) resolve(answer.end)
        else if ('error' in answer)
          resolve({ end: 'not_started', code: answer.error.code, message: answer.error.message })
        return true
      })
    })
  }

  start(program: StartedProgram, output: ProgramOutput): Promise<StartedOrNot> {
    const id = ++this.#ids
    const { promise: exited, resolve: exit } = Promise.withResolvers<Exit>()
    const { promise: closed, resolve: close } = Promise.withResolvers<void>()
    const release = () => {
      if (this.#waiting.has(id) && this.#server.connected) this.#server.send({ id, release: true }, () => {})
    }
    let running = false
    return new Promise(resolve => {
      this.#ask({ id, start: program }, answer => {
        if ('pid' in answer) {
          running = true
          resolve({ pid: answer.pid, exited, closed, release })
        } else if ('stdout' in answer) output.stdout(answer.stdout)
        else if ('stderr' in answer) output.stderr(answer.stderr)
        else if ('exit' in answer) exit(answer.exit)
        else if ('error' in answer && !running) resolve({ error: answer.error })
        const over = 'closed' in answer || 'error' in answer
        // Whoever watches ends what is left of a program whose starter is gone.
        if (over) exit([null, 'SIGKILL'])
        if (over) close()
        return over
      })
    })
  }

  #ask(question: Question, take: Take): void {
    const { id } = question
    this.#server.ref()
    this.#server.channel?.ref()
    this.#waiting.set(id, take)
    this.#server.send(question, cause => {
      if (cause) this.#lost(id, cause)
    })
  }

  #lost(id: number, { code, errno, message }: StartError): void {
    this.#take({ id, error: { code, errno, syscall: 'spawn', message } })
  }

  #take(answer: Answer): void {
    if (this.#waiting.get(answer.id)?.(answer)) this.#waiting.delete(answer.id)
    if (this.#waiting.size === 0) this.#rest()
  }

  /** A process that has nothing else to do may end; the other one ends with the channel. */
  #rest(): void {
    this.#server.unref()
    this.#server.channel?.unref()
  }
}

let current: ProgramClient | undefined

function client(): ProgramClient {
  current ??= new ProgramClient(() => {
    current = undefined
  })
  return current
}

/** Runs a program to its end. */
export function collect(program: CollectedProgram, clock: Pick<Clock, 'after'>): Promise<CollectedEnd> {
  // Another process has the machine's time and no other.
  return clock instanceof SystemClock
    ? client().collect(program)
    : runCollected(program, (milliseconds, run) => clock.after(milliseconds, run))
}

/** Starts a program as the leader of a group and session of its own. */
export function startElsewhere(program: StartedProgram, output: ProgramOutput): Promise<StartedOrNot> {
  return client().start(program, output)
}
