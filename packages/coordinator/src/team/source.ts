// From text to values that know where they stand. The parser of the yaml package is driven token by token: what it builds
// recursively must not be deep, what it reports must not be endless, and what aliases add up to is counted.
import { Composer, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, type ParsedNode, Parser } from 'yaml'
import { teamLimits } from './limits.ts'
import type { Finding, Path } from './problem.ts'
import { didYouMean, quote } from './words.ts'

export type Scalar = string | number | boolean | null

/** A value of the file; `at` is where it starts. Values that aliases repeat are one and the same object. */
export type Located =
  | { readonly kind: 'scalar'; readonly at: number; readonly value: Scalar }
  | { readonly kind: 'list'; readonly at: number; readonly items: readonly Located[] }
  | { readonly kind: 'map'; readonly at: number; readonly entries: readonly Entry[] }

export interface Entry {
  readonly key: string
  readonly at: number
  readonly value: Located
}

export interface Source {
  readonly lines: LineCounter
  /** Undefined where the text is no YAML, and `findings` say why. */
  readonly root: Located | undefined
  readonly findings: readonly Finding[]
}

export function readSource(text: string): Source {
  const lines = countLines(text)
  const failed = (finding: Finding): Source => ({ lines, root: undefined, findings: [finding] })
  const bytes = Buffer.byteLength(text)
  if (bytes > teamLimits.fileBytes)
    return failed(tooLarge(`has ${bytes} bytes`, `${teamLimits.fileBytes} bytes`))

  const parser = new Parser()
  const tokens = []
  let lexemes = 0
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token)
    if (++lexemes > teamLimits.fileTokens)
      return failed(tooLarge('has too many values', `${teamLimits.fileTokens} tokens of YAML`))
    if (parser.stack.length > teamLimits.fileDepth) return failed(tooDeep(parser.offset))
  }
  for (const token of parser.end()) tokens.push(token)

  // The composer's own search for equal keys is quadratic.
  const composer = new Composer({ schema: 'core', stringKeys: true, uniqueKeys: false, prettyErrors: false })
  const [document, second] = composer.compose(tokens, true, text.length)
  const findings = [...document!.errors, ...document!.warnings].map(
    ({ pos, code, message }): Finding => ({
      code: 'yaml_syntax',
      at: pos[0],
      path: [],
      message: () => syntaxMessage(code, message),
    }),
  )
  if (second) {
    const at = second.range[0]
    const message = () =>
      'A second document starts here. A team file holds one; put the other into a file of its own.'
    findings.push({ code: 'yaml_syntax', at, path: [], message })
  }
  if (findings.length > 0) return { lines, root: undefined, findings }
  const reader = new Reader()
  const { located } = reader.read(document!.contents, 0, [])
  // What an alias should have repeated is not known, so nothing more can be said about the values.
  const whole = reader.findings.every(({ code }) => code !== 'alias_unknown' && code !== 'alias_limit')
  return { lines, root: whole ? located : undefined, findings: reader.findings }
}

/** The parser's own count goes wrong where the text does. */
function countLines(text: string): LineCounter {
  const lines = new LineCounter()
  for (let start = 0; start !== 0 || lines.lineStarts.length === 0; start = text.indexOf('\n', start) + 1) {
    lines.addNewLine(start)
  }
  return lines
}

const tooLarge = (has: string, most: string): Finding => ({
  code: 'too_large',
  at: 0,
  path: [],
  message: () =>
    `The file ${has}; a team file has at most ${most}. Long texts belong in files that a prompt names.`,
})

const tooDeep = (at: number): Finding => ({
  code: 'too_deep',
  at,
  path: [],
  message: () => 'The values are nested too deep here; no field of a team file needs that.',
})

function syntaxMessage(code: string, message: string): string {
  if (code === 'NON_STRING_KEY') return 'A key must be a plain word.'
  if (code === 'TAG_RESOLVE_FAILED') return `${message}. Team files use no tags; leave it out.`
  return `This is not YAML: ${message}${message.endsWith('.') ? '' : '.'}`
}

interface Read {
  readonly located: Located
  /** Values and characters in it, with all that aliases repeat. */
  readonly size: number
}

class Reader {
  readonly findings: Finding[] = []
  readonly #anchors = new Map<string, Read>()
  readonly #open = new Set<string>()
  #growth = 0

  /** `from` is where a value would stand that is not written: behind `key:`. */
  read(node: ParsedNode | null, from: number, path: Path): Read {
    if (isAlias(node)) return this.#repeat(node.source, node.range[0], path)
    const anchor = node?.anchor
    if (anchor !== undefined) this.#open.add(anchor)
    const read = this.#readHere(node, from, path)
    if (anchor !== undefined) {
      this.#open.delete(anchor)
      this.#anchors.set(anchor, read)
    }
    return read
  }

  #readHere(node: ParsedNode | null, from: number, path: Path): Read {
    if (isMap(node)) return this.#readMap(node, path)
    if (isSeq(node)) {
      const items = node.items.map((item, index) =>
        this.read(item as ParsedNode, node.range![0], [...path, index]),
      )
      return {
        located: { kind: 'list', at: node.range![0], items: items.map(read => read.located) },
        size: sum(items),
      }
    }
    if (!isScalar(node)) return empty(from)
    const [start, end] = node.range!
    const value = node.value as Scalar
    if (typeof value === 'string') this.#checkText(value, start, path)
    // A value that is left out is best looked for at its key.
    const at = start === end ? from : start
    return { located: { kind: 'scalar', at, value }, size: 1 + String(value).length }
  }

  #readMap(node: ParsedNode & { items: unknown[] }, path: Path): Read {
    const first = new Map<string, number>()
    const reads: Read[] = []
    const entries: Entry[] = []
    for (const pair of node.items as { key: ParsedNode | null; value: ParsedNode | null }[]) {
      const key = isScalar(pair.key) ? String(pair.key.value) : ''
      const at = pair.key?.range[0] ?? node.range[0]
      const here = [...path, key]
      if (first.has(key)) {
        const message = () => `The key ${quote(key)} stands here a second time. Keep one of the two.`
        this.findings.push({ code: 'duplicate_key', at, path: here, message })
        continue
      }
      first.set(key, at)
      this.#checkText(key, at, here)
      const read = this.read(pair.value, at, here)
      reads.push(read)
      entries.push({ key, at, value: read.located })
    }
    return {
      located: { kind: 'map', at: node.range[0], entries },
      size: sum(reads) + [...first.keys()].join('').length,
    }
  }

  #repeat(anchor: string, at: number, path: Path): Read {
    const known = this.#anchors.get(anchor)
    if (!known || this.#open.has(anchor)) {
      const reason = this.#open.has(anchor)
        ? `The alias ${quote(`*${anchor}`)} stands inside the value that it repeats.`
        : `The alias ${quote(`*${anchor}`)} repeats nothing: no value before it has the anchor ${quote(`&${anchor}`)}.`
      const message = () => reason + didYouMean(anchor, this.#anchors.keys())
      this.findings.push({ code: 'alias_unknown', at, path, message })
      return empty(at)
    }
    this.#growth += known.size
    if (this.#growth > teamLimits.aliasGrowth) {
      const message = () => 'The aliases of this file add up to too much. Write fewer of them.'
      // Once is enough: each further alias would be one too many as well.
      if (this.#growth - known.size <= teamLimits.aliasGrowth)
        this.findings.push({ code: 'alias_limit', at, path, message })
      return empty(at)
    }
    // A repeated word that is wrong is wrong where it is used; a repeated collection is mended where it is written.
    return known.located.kind === 'scalar' ? { ...known, located: { ...known.located, at } } : known
  }

  /** Half of a surrogate pair, which an escape can write, has no form in UTF-8. */
  #checkText(text: string, at: number, path: Path): void {
    if (text.isWellFormed()) return
    const message = () => 'This text holds half a character, which cannot be stored. Look for a \\ud… in it.'
    this.findings.push({ code: 'bad_value', at, path, message })
  }
}

const sum = (reads: readonly Read[]): number => reads.reduce((total, { size }) => total + size, 1)
const empty = (at: number): Read => ({ located: { kind: 'scalar', at, value: null }, size: 1 })

/** The value as JSON has it. Only for what a schema has bounded: aliases may make it deep. */
export function plain(value: Located): unknown {
  if (value.kind === 'scalar') return value.value
  if (value.kind === 'list') return value.items.map(plain)
  return Object.fromEntries(value.entries.map(entry => [entry.key, plain(entry.value)]))
}

export function member(value: Located | undefined, key: string): Entry | undefined {
  return value?.kind === 'map' ? value.entries.find(entry => entry.key === key) : undefined
}
