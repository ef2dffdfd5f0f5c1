// The terminal: an interface for tests to fake, and the real one. Only this file uses the streams and signals of the
// process.
import { spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { StringDecoder } from 'node:string_decoder'
import { ReadStream } from 'node:tty'
import type { Environment } from './command.ts'
import { EXIT } from './exit.ts'
import type { Key, Keyboard } from './keyboard.ts'
import { cliLimits } from './limits.ts'
import { coloured, type Paint, plain } from './render/paint.ts'

export interface Terminal {
  /** Infinite if output is not a terminal. */
  readonly columns: number
  readonly rows: number
  /** Output goes to a person, not to a program or a file. */
  readonly seen: boolean
  /** Output can be redrawn in place. */
  readonly live: boolean
  readonly interactive: boolean
  readonly paint: Paint
  /** Results. */
  out(data: string | Uint8Array): void
  err(text: string): void
  /** Resolves when there is room for more output. */
  drained(): Promise<void>
  /** The next line; undefined at the end of input, or when `signal` fires. */
  ask(question: string, signal?: AbortSignal): Promise<string | undefined>
  /** Without echo; undefined at Ctrl-C, too. */
  askSecret(question: string): Promise<string | undefined>
  input(): Promise<string>
  /** Shows a long text with another program, a shell command; false if that cannot be started. */
  page(command: string, text: string): Promise<boolean>
  /** Standard input and output, for a protocol. */
  pipes(): { readonly input: Readable; readonly output: Writable }
  /** Calls `pressed` for each key until it is disposed of: nothing is echoed, and Ctrl-C is a key like others. */
  keys(pressed: (key: Key) => void): Promise<Disposable>
  /** Calls `run` when the terminal has another size. Returns a function that undoes it. */
  onResize(run: () => void): () => void
  /** Calls `run` at Ctrl-C instead of ending the process. Returns a function that undoes it. */
  onInterrupt(run: () => void): () => void
  /** Ends the process at once. */
  leave(code: number): void
}

export function systemTerminal(env: Environment['env'], noColor: boolean): Terminal {
  const { stdout, stderr, stdin } = process
  const capable = env.TERM !== 'dumb'
  const colour = stdout.isTTY === true && capable && !noColor && !env.NO_COLOR
  let keyboard: Keyboard | undefined
  /** Where a person types: standard input, or the terminal itself once a pipe or a file was read to its end. */
  let typed: NodeJS.ReadStream = stdin
  return {
    get columns() {
      const known = positive(stdout.columns) ?? positive(Number(env.COLUMNS))
      // A pipe or a file has no width.
      return known ?? (stdout.isTTY === true ? cliLimits.columns : Number.POSITIVE_INFINITY)
    },
    get rows() {
      return positive(stdout.rows) ?? cliLimits.rows
    },
    seen: stdout.isTTY === true,
    live: stdout.isTTY === true && capable,
    get interactive() {
      return stdout.isTTY === true && typed.isTTY === true
    },
    paint: colour ? coloured : plain,
    out: written => void stdout.write(written),
    err: written => void stderr.write(written),
    drained: () =>
      stdout.writableNeedDrain ? new Promise(resolve => void stdout.once('drain', resolve)) : Promise.resolve(),
    ask: (question, signal) => readLine(question, typed, signal),
    askSecret: async question => {
      keyboard?.pause()
      try {
        return await readSecret(question, typed, stderr)
      } finally {
        keyboard?.resume()
      }
    },
    input: async () => {
      const read = await text(stdin)
      if (stdout.isTTY === true && stdin.isTTY !== true) typed = controllingTerminal() ?? typed
      return read
    },
    page: (command, written) => page(command, written, env),
    pipes: () => ({ input: stdin, output: stdout }),
    async keys(pressed) {
      const { Keyboard } = await import('./keyboard.ts')
      const opened = new Keyboard({ stdin: typed, stdout }, pressed)
      keyboard = opened
      return {
        [Symbol.dispose]() {
          opened[Symbol.dispose]()
          if (keyboard === opened) keyboard = undefined
        },
      }
    },
    onResize(run) {
      stdout.on('resize', run)
      return () => void stdout.off('resize', run)
    },
    onInterrupt(run) {
      process.on('SIGINT', run)
      return () => void process.off('SIGINT', run)
    },
    leave: code => process.exit(code),
  }
}

/** Exit codes of a shell that does not find a program, or may not run it. */
const NOT_RUN = [126, 127]

/** Ctrl-C is the pager's while it runs. The defaults for `less` are those of git. */
function page(command: string, written: string, env: Environment['env']): Promise<boolean> {
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  const child = spawn('sh', ['-c', command], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', LV: '-c', ...env },
  })
  // It may be left before all of it was read.
  child.stdin.on('error', ignore)
  child.stdin.end(written)
  return new Promise(resolve => {
    child.once('error', () => resolve(false))
    child.once('close', code => resolve(!NOT_RUN.includes(code ?? 0)))
  }).finally(() => process.off('SIGINT', ignore)) as Promise<boolean>
}

/** Undefined where the process has none, as under a service manager. */
function controllingTerminal(): NodeJS.ReadStream | undefined {
  try {
    const opened = new ReadStream(openSync('/dev/tty', 'r'))
    // As standard input does it: nobody waits for keys that nobody reads.
    opened.on('pause', () => opened.unref())
    opened.on('resume', () => opened.ref())
    return opened
  } catch {
    return undefined
  }
}

/** A signal that Ctrl-C fires, and the end of the block. */
export function interruption(terminal: Terminal): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  const takeBack = terminal.onInterrupt(() => controller.abort())
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      takeBack()
      controller.abort()
    },
  }
}

/** In the terminal's own line mode, so that Ctrl-C stays a signal. */
function readLine(question: string, input: NodeJS.ReadStream, signal?: AbortSignal): Promise<string | undefined> {
  if (signal?.aborted) return Promise.resolve(undefined)
  process.stdout.write(question)
  const reader = createInterface({ input, terminal: false })
  return new Promise(resolve => {
    const done = (line: string | undefined) => {
      // First, since closing the reader comes back here.
      resolve(line)
      signal?.removeEventListener('abort', cancel)
      reader.close()
      input.pause()
    }
    const cancel = () => done(undefined)
    signal?.addEventListener('abort', cancel, { once: true })
    reader.once('line', line => done(line))
    reader.once('close', () => done(undefined))
  })
}

export interface SecretInput {
  setRawMode(raw: boolean): unknown
  on(event: 'data', listener: (data: Buffer) => void): unknown
  once(event: 'end', listener: () => void): unknown
  off(event: 'data', listener: (data: Buffer) => void): unknown
  off(event: 'end', listener: () => void): unknown
  resume(): unknown
  pause(): unknown
}

/** In raw mode nothing is echoed, and lines, deletion, Ctrl-C and Ctrl-D are up to us. */
export function readSecret(
  question: string,
  input: SecretInput,
  output: { write(text: string): unknown },
): Promise<string | undefined> {
  output.write(question)
  input.setRawMode(true)
  const decoder = new StringDecoder('utf8')
  let typed: string[] = []
  return new Promise(resolve => {
    const done = (secret: string | undefined) => {
      input.off('data', read)
      input.off('end', ended)
      input.setRawMode(false)
      input.pause()
      output.write('\n')
      resolve(secret)
    }
    const ended = () => done(undefined)
    const read = (data: Buffer) => {
      for (const letter of decoder.write(data)) {
        if (letter === '\r' || letter === '\n') return done(typed.join(''))
        if (letter === '\u0003' || (letter === '\u0004' && typed.length === 0)) return done(undefined)
        if (letter === '\u007f' || letter === '\b') typed = typed.slice(0, -1)
        else if (letter === '\u0015') typed = []
        else if (letter >= ' ' && typed.length < cliLimits.passphraseLength) typed.push(letter)
      }
    }
    input.on('data', read)
    input.once('end', ended)
    input.resume()
  })
}

/** A reader that closes the pipe (`parley runs | head`) ends the command quietly. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    // For example a full disk. The command may have succeeded, but its output is lost.
    process.stderr.write(`parley: Cannot write the output (${error.code ?? error.message}).\n`)
    process.exit(EXIT.refused)
  })
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && Number.isInteger(value) && value > 0 ? value : undefined
}
