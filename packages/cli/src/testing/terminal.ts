// A terminal for tests: remembers what was written, answers questions from a list, and gets Ctrl-C when told.
import { ManualClock } from '@parley/core'
import type { Key } from '../keyboard.ts'
import { cliLimits } from '../limits.ts'
import { plain } from '../render/paint.ts'
import type { Terminal } from '../terminal.ts'

export interface FakeTerminalOptions {
  readonly columns?: number
  readonly rows?: number
  readonly seen?: boolean
  readonly live?: boolean
  readonly interactive?: boolean
  /** Standard input, for a command that reads all of it. */
  readonly input?: string
  /** What is typed at each question: text, the end of input, or Ctrl-C. */
  readonly answers?: readonly (string | undefined | { readonly interrupt: true })[]
  /** Keys that are pressed at each drawing of a prompt, one text after the other: `d`, `nToo much\r`, `\x03`. */
  readonly keys?: readonly string[]
}

export class FakeTerminal implements Terminal {
  readonly columns: number
  readonly rows: number
  readonly seen: boolean
  readonly live: boolean
  readonly interactive: boolean
  readonly paint = plain
  output = ''
  errors = ''
  readonly questions: string[] = []
  readonly paged: string[] = []
  left: number | undefined
  readonly #answers: (string | undefined | { readonly interrupt: true })[]
  readonly #input: string
  readonly #interrupts = new Set<() => void>()
  /** The command's, too. */
  readonly clock = new ManualClock()
  readonly #keys: string[]
  #listener: ((key: Key) => void) | undefined
  #pressing = false

  constructor({
    rows = 24,
    interactive = false,
    live = interactive,
    // As a pipe or a file has none.
    columns = live ? 80 : Number.POSITIVE_INFINITY,
    seen = live || interactive,
    answers = [],
    keys = [],
    input = '',
  }: FakeTerminalOptions = {}) {
    this.columns = columns
    this.rows = rows
    this.seen = seen
    this.live = live
    this.interactive = interactive
    this.#answers = [...answers]
    this.#keys = [...keys]
    this.#input = input
  }

  out(data: string | Uint8Array): void {
    const text = typeof data === 'string' ? data : Buffer.from(data).toString('latin1')
    this.output += text
    if (!/\? help|\? {2}hides this|Esc back|quit/.test(text) || this.#keys.length === 0 || this.#pressing) return
    this.#pressing = true
    setImmediate(() => {
      // Nobody answers what has just come up.
      this.clock.advance(cliLimits.settleMs)
      this.#pressing = false
      this.press(this.#keys.shift() ?? '')
    })
  }

  async keys(pressed: (key: Key) => void): Promise<Disposable> {
    this.#listener = pressed
    return {
      [Symbol.dispose]: () => {
        this.#listener = undefined
      },
    }
  }

  press(keys: string, pasted = false): void {
    for (const typed of keys) {
      const name = NAMES[typed] ?? typed
      this.#listener?.({ name, text: name === typed ? typed : '', pasted })
    }
  }

  onResize(): () => void {
    return () => undefined
  }

  err(text: string): void {
    this.errors += text
  }

  async drained(): Promise<void> {}

  async ask(question: string, signal?: AbortSignal): Promise<string | undefined> {
    this.questions.push(question)
    const answer = this.#answers.shift()
    if (typeof answer !== 'object') return answer
    this.interrupt()
    return signal?.aborted ? undefined : ''
  }

  async askSecret(question: string): Promise<string | undefined> {
    return this.ask(question)
  }

  async input(): Promise<string> {
    return this.#input
  }

  async page(command: string, text: string): Promise<boolean> {
    this.paged.push(command)
    this.output += text
    return true
  }

  pipes(): never {
    throw new Error('a terminal of tests has no pipes')
  }

  onInterrupt(run: () => void): () => void {
    this.#interrupts.add(run)
    return () => this.#interrupts.delete(run)
  }

  interrupt(): void {
    for (const run of this.#interrupts) run()
  }

  get listening(): boolean {
    return this.#interrupts.size > 0 || this.#listener !== undefined
  }

  leave(code: number): void {
    this.left ??= code
  }
}

const NAMES: Readonly<Record<string, string>> = {
  '\r': 'return',
  '\x1b': 'escape',
  '\x03': 'ctrl-c',
  '\x7f': 'backspace',
}

const begin = '\u001b\\['
const synchronised = new RegExp(`${begin}\\?2026[hl]`, 'g')
const steps = new RegExp(`(${begin}\\d*[A-Za-z]|\\n)`)
const order = new RegExp(`^${begin}(\\d*)([A-Za-z])$`)

/** What a terminal of endless height shows after all that was written to it: moves up, clears, and lines. */
export function screenOf(written: string): readonly string[] {
  let rows: string[] = ['']
  let row = 0
  const pieces = written.replaceAll(synchronised, '').split(steps)
  for (const piece of pieces) {
    const move = order.exec(piece)
    if (piece === '\n') {
      row++
      rows[row] ??= ''
    } else if (move?.[2] === 'F') row = Math.max(0, row - Number(move[1] || 1))
    else if (move?.[2] === 'J') rows = [...rows.slice(0, row), '']
    else if (move?.[2] === 'K') continue
    else if (piece !== '') rows[row] = piece
  }
  while (rows.at(-1) === '') rows.pop()
  return rows
}
