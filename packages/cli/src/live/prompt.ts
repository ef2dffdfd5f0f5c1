// A question on a terminal: one key per answer, and words only where an answer needs some. It draws itself as lines and
// is told keys; what owns the screen does the rest.
import type { Key } from '../keyboard.ts'
import { cliLimits } from '../limits.ts'
import type { Drawing } from '../render/tasks.ts'
import { cut, harmless, widthOf, wrap } from '../render/text.ts'

export interface Option<T> {
  readonly key: string
  readonly label: string
  /** What it does, for the help. */
  readonly help: string
  /** The answer, or the words that it takes. */
  readonly gives: { readonly answer: T } | Typing<T>
}

interface Typing<T> {
  /** A line, and lines that explain it. */
  readonly asks: string | readonly [string, ...string[]]
  readonly answers: (text: string) => { readonly answer: T } | { readonly refused: string }
}

/** What a key came to: an answer, or only another picture. */
export type Outcome<T> = { readonly answer: T } | undefined

export class Prompt<T> {
  readonly #options: () => readonly Option<T>[]
  /** As they were drawn last: a key means what the person saw. */
  #shown: readonly Option<T>[]
  readonly #about: (drawing: Drawing) => readonly string[]
  #typing: { readonly typing: Typing<T>; text: string } | undefined
  #helps = false
  #hint: string | undefined

  /** `about`: the question and what belongs to it; both are asked at each drawing. */
  constructor(about: (drawing: Drawing) => readonly string[], options: () => readonly Option<T>[]) {
    this.#about = about
    this.#options = options
    this.#shown = options()
  }

  /** Somebody may have meant what was on the screen before. */
  tooEarly(): void {
    this.#hint = 'This has just come up: press the key again.'
  }

  /** The answer was not accepted: what was typed stays, to be put right. */
  refuse(why: string): void {
    this.#hint = why
  }

  press(key: Key): Outcome<T> {
    this.#hint = undefined
    if (this.#typing) return this.#type(this.#typing, key)
    // What is pasted is not meant as keys.
    if (key.pasted) return undefined
    if (key.name === '?') {
      this.#helps = !this.#helps
      return undefined
    }
    const option = this.#shown.find(each => each.key === key.name)
    if (!option) {
      this.#hint = `${nameOf(key)} does nothing here; ? shows the keys.`
      return undefined
    }
    if ('answer' in option.gives) return option.gives
    this.#typing = { typing: option.gives, text: '' }
    return undefined
  }

  /** At most `height` lines; the keys and what is typed always stay, the text before them gives way. */
  lines(drawing: Drawing, height: number): readonly string[] {
    const { paint, width } = drawing
    this.#shown = this.#options()
    const hint = this.#hint === undefined ? [] : wrap(this.#hint, width).map(line => paint('warning', line))
    const below = this.#typing ? this.#typed(drawing, hint) : [...hint, ...this.#keys(drawing)]
    const about = this.#about(drawing)
    const room = Math.max(1, height - below.length)
    if (about.length <= room) return [...about, ...below]
    const kept = about.slice(0, room - 1)
    return [
      ...kept,
      paint('quiet', cut(`… ${about.length - kept.length} more lines; d shows everything`, width)),
      ...below,
    ]
  }

  #keys({ paint, width }: Drawing): readonly string[] {
    const help = { key: '?', label: 'help', help: 'hides this' }
    const all = [...this.#shown, help]
    if (this.#helps)
      return all.flatMap(each =>
        wrap(each.help, Math.max(cliLimits.leastColumns, width - 5)).map(
          (line, index) => `  ${index === 0 ? paint('active', each.key) : ' '}  ${line}`,
        ),
      )
    const rows: string[] = []
    let row = ''
    let taken = 0
    for (const { key, label } of all) {
      const size = key.length + 1 + widthOf(label)
      if (taken > 0 && taken + 3 + size > width) {
        rows.push(row)
        row = ''
        taken = 0
      }
      row += `${taken > 0 ? '   ' : ''}${paint('active', key)} ${label}`
      taken += (taken > 0 ? 3 : 0) + size
    }
    return [...rows, row]
  }

  #typed({ paint, width }: Drawing, hint: readonly string[]): readonly string[] {
    const { typing, text } = this.#typing!
    return [
      ...[typing.asks].flat().flatMap(line => wrap(line, width)),
      ...wrap(`> ${text}█`, width),
      ...hint,
      paint('quiet', cut('Enter sends it   Esc back', width)),
    ]
  }

  #type(state: { readonly typing: Typing<T>; text: string }, { name, text, pasted }: Key): Outcome<T> {
    if (pasted) state.text += text === '' && name === 'return' ? ' ' : text
    else if (name === 'return' || name === 'enter') {
      const said = state.typing.answers(state.text.trim())
      if ('answer' in said) return said
      this.refuse(said.refused)
    } else if (name === 'escape' || name === 'ctrl-c') this.#typing = undefined
    else if (name === 'backspace') state.text = [...state.text].slice(0, -1).join('')
    else if (name === 'ctrl-u') state.text = ''
    else if (name === 'ctrl-w') state.text = state.text.replace(/\S+\s*$/, '')
    else state.text += text
    state.text = harmless(state.text).slice(0, cliLimits.typedLength)
    return undefined
  }

  get typing(): boolean {
    return this.#typing !== undefined
  }
}

function nameOf({ name, text }: Key): string {
  if (text === ' ') return 'Space'
  const known: Readonly<Record<string, string>> = { return: 'Enter', escape: 'Esc' }
  return text === '' ? (known[name] ?? 'That key') : `'${text}'`
}
