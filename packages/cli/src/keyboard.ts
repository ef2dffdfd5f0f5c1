// The keyboard, one key at a time: nothing is echoed, and Ctrl-C is a key. The terminal is put back when the process
// ends, whatever ends it.
import { emitKeypressEvents } from 'node:readline'

export interface Key {
  /**
   * A letter or sign, or the name of what types none: `return`, `escape`, `backspace`, `up`, `ctrl-c`. `redraw`: nobody
   * pressed anything, but the terminal was somebody else's meanwhile.
   */
  readonly name: string
  /** What it types. */
  readonly text: string
  /** It came with a paste: text, and never an answer. */
  readonly pasted: boolean
}

/** Terminals that know it mark what is pasted; others ignore it. */
const MARK_PASTES = '\x1b[?2004h'
const MARK_NO_PASTES = '\x1b[?2004l'
/** Their default action ends the process without another word to the terminal. */
const DEADLY = ['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

type Streams = { readonly stdin: NodeJS.ReadStream; readonly stdout: NodeJS.WriteStream }
type Pressed = { readonly name?: string; readonly sequence?: string; readonly ctrl?: boolean; readonly meta?: boolean }

export class Keyboard implements Disposable {
  readonly #streams: Streams
  readonly #listener: (key: Key) => void
  #pasting = false
  #raw = false

  constructor(streams: Streams, listener: (key: Key) => void) {
    this.#streams = streams
    this.#listener = listener
    emitKeypressEvents(streams.stdin)
    this.resume()
  }

  /** The terminal as it was: to ask for a passphrase, or to be stopped (Ctrl-Z). */
  pause(): void {
    if (!this.#raw) return
    const { stdin } = this.#streams
    this.#raw = false
    stdin.off('keypress', this.#pressed)
    stdin.off('end', this.#ended)
    stdin.pause()
    this.#restore()
    process.off('exit', this.#restore)
    for (const signal of DEADLY) process.off(signal, this.#die)
  }

  resume(): void {
    if (this.#raw) return
    const { stdin, stdout } = this.#streams
    this.#raw = true
    process.on('exit', this.#restore)
    for (const signal of DEADLY) process.on(signal, this.#die)
    stdin.setRawMode(true)
    stdout.write(MARK_PASTES)
    stdin.on('keypress', this.#pressed)
    stdin.once('end', this.#ended)
    stdin.resume()
  }

  [Symbol.dispose](): void {
    this.pause()
  }

  readonly #pressed = (typed: string | undefined, pressed: Pressed): void => {
    if (pressed.name === 'paste-start' || pressed.name === 'paste-end') {
      this.#pasting = pressed.name === 'paste-start'
      return
    }
    const key = keyOf(typed, pressed, this.#pasting)
    if (key.name === 'ctrl-z') this.#stop()
    else this.#listener(key)
  }

  readonly #ended = (): void => this.#listener({ name: 'end', text: '', pasted: false })

  readonly #restore = (): void => {
    this.#streams.stdin.setRawMode(false)
    this.#streams.stdout.write(MARK_NO_PASTES)
  }

  readonly #die = (signal: NodeJS.Signals): void => {
    this.pause()
    process.kill(process.pid, signal)
  }

  /** As the terminal itself would: the shell has it until `fg`. */
  #stop(): void {
    this.pause()
    process.once('SIGCONT', () => {
      this.resume()
      this.#listener({ name: 'redraw', text: '', pasted: false })
    })
    process.kill(process.pid, 'SIGTSTP')
  }
}

function keyOf(typed: string | undefined, { name, sequence, ctrl, meta }: Pressed, pasted: boolean): Key {
  const text = !ctrl && !meta && typed !== undefined && isText(typed) ? typed : ''
  const called = text !== '' && text !== ' ' ? text : (name ?? sequence ?? '')
  return { name: ctrl ? `ctrl-${called}` : called, text, pasted }
}

/** Neither a control character nor an escape sequence. */
function isText(typed: string): boolean {
  return typed !== '' && !/\p{Control}/u.test(typed)
}
