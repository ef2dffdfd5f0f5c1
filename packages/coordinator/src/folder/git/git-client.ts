// This side of the process that starts git programs (git-server.ts). It keeps neither process alive when git is idle.
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { GitEnd, GitProcess } from './git-process.ts'

interface Answer {
  readonly id: number
  readonly end: GitEnd
}

class GitClient {
  readonly #server: ChildProcess
  readonly #waiting = new Map<number, (end: GitEnd) => void>()
  #ids = 0

  constructor(gone: () => void) {
    const own = import.meta.url
    const file = new URL(`./git-server.${own.endsWith('.ts') ? 'ts' : 'js'}`, own)
    this.#server = fork(fileURLToPath(file), [], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#rest()
    this.#server.on('message', ({ id, end }: Answer) => this.#settle(id, end))
    const ended = (why: string, code?: string) => {
      gone()
      for (const id of [...this.#waiting.keys()]) this.#settle(id, { end: 'not_started', code, message: why })
    }
    this.#server.once('error', (cause: NodeJS.ErrnoException) => ended(cause.message, cause.code))
    this.#server.once('exit', () => ended('the process that starts git has ended'))
  }

  run(program: GitProcess): Promise<GitEnd> {
    const id = ++this.#ids
    this.#server.ref()
    this.#server.channel?.ref()
    return new Promise(resolve => {
      this.#waiting.set(id, resolve)
      this.#server.send({ id, program }, cause => {
        if (cause) this.#settle(id, { end: 'not_started', code: undefined, message: cause.message })
      })
    })
  }

  #settle(id: number, end: GitEnd): void {
    this.#waiting.get(id)?.(end)
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#rest()
  }

  /** A process that has nothing else to do may end; the other one ends with the channel. */
  #rest(): void {
    this.#server.unref()
    this.#server.channel?.unref()
  }
}

let current: GitClient | undefined

export function runElsewhere(program: GitProcess): Promise<GitEnd> {
  current ??= new GitClient(() => {
    current = undefined
  })
  return current.run(program)
}
