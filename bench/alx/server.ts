// The server of a side: a process of its own, which says how it is asked, and ends with the benchmark.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { RequestShape } from './request.ts'

export interface Ready {
  /** What was installed; shown beside the name. */
  readonly version?: string
  readonly requests: Readonly<Record<string, RequestShape>>
}

/** What a server's process says first. */
export interface Started {
  readonly ready: Ready
}

/** What it is asked for later. `next`: one more event on the run that is watched. */
export type Command = 'memory' | 'next'

export interface Memory {
  /** Bytes after a collection of the heap. */
  readonly memory: number
}

export class Server {
  readonly ready: Ready
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, ready: Ready) {
    this.#child = child
    this.ready = ready
  }

  /** Rejects where the process ends before it is ready. */
  static async start(file: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = process.env) {
    const child = fork(file, args, { env, execArgv: [...process.execArgv, '--expose-gc'] })
    const { ready } = await Promise.race([
      once(child, 'message').then(([message]) => message as Started),
      once(child, 'exit').then(([code, signal]) => {
        throw new Error(`${file} ended with ${signal ?? `code ${code}`} before it was ready`)
      }),
    ])
    return new Server(child, ready)
  }

  async memory(): Promise<number> {
    const answered = once(this.#child, 'message')
    this.#child.send('memory' satisfies Command)
    const [{ memory }] = (await answered) as [Memory]
    return memory
  }

  next(): void {
    this.#child.send('next' satisfies Command)
  }

  stop(): Promise<void> {
    return ended(this.#child)
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  if (child.connected) child.disconnect()
  await exit
}
