// YAML as people write it, read into values that know where they stand: team files and configurations. The parser of
// the yaml package is driven token by token: what it builds recursively must not be deep, what it reports must not be
// endless, and what aliases add up to is counted. An entry of its own, so that only readers of YAML load the parser.
import {
  Composer,
  type Document,
  type DocumentOptions,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type ParsedNode,
  type ParseOptions,
  Parser,
  type SchemaOptions,
} from 'yaml'

type Scalar = string | number | boolean | null

/** A value of the file; `at` is where it starts. Values that aliases repeat are one and the same object. */
export type Located =
  | { readonly kind: 'scalar'; readonly at: number; readonly value: Scalar }
  | { readonly kind: 'list'; readonly at: number; readonly items: readonly Located[] }
  | { readonly kind: 'map'; readonly at: number; readonly entries: readonly Entry[] }

interface Entry {
  readonly key: string
  readonly at: number
  readonly value: Located
}

type YamlPath = readonly (string | number)[]

interface YamlBounds {
  /** In UTF-8. */
  readonly bytes: number
  /** Lexical tokens: what the parser's time and memory depend on. */
  readonly tokens: number
  /** Collections inside each other, as the parser counts them. */
  readonly depth: number
}

/** What is wrong with a text. `at` is where, in code units from its start; the words for people are the caller's. */
export type YamlFault = { readonly at: number; readonly path: YamlPath } & (
  | { readonly kind: 'too_many_bytes'; readonly bytes: number }
  | { readonly kind: 'too_many_tokens' | 'too_deep' | 'second_document' | 'alias_limit' | 'half_character' }
  /** `code` and `says` are the parser's own; a tag that it does not know is only a `warning` to it. */
  | { readonly kind: 'syntax'; readonly code: string; readonly says: string; readonly warning: boolean }
  | { readonly kind: 'duplicate_key'; readonly key: string }
  /** `inside`: the alias stands in the value that it repeats. `known`: the anchors of the file. */
  | {
      readonly kind: 'alias_unknown'
      readonly anchor: string
      readonly inside: boolean
      readonly known: () => Iterable<string>
    }
)

export interface YamlText {
  /** Undefined where the text is no YAML, and `faults` say why. */
  readonly root: Located | undefined
  readonly faults: readonly YamlFault[]
  /** Both from 1; columns in UTF-16 code units, as editors count. */
  place(at: number): { readonly line: number; readonly column: number }
  /** Of the value at a path, or of its key; of what is around it where there is nothing. */
  placeOf(path: YamlPath, of?: 'value' | 'key'): { readonly line: number; readonly column: number }
}

/** `aliasGrowth`: values and characters that aliases may add to what the file itself holds. */
export function readYaml(text: string, bounds: YamlBounds & { readonly aliasGrowth: number }): YamlText {
  // A byte order mark is no part of the first line.
  const source = text.startsWith('\ufeff') ? text.slice(1) : text
  const lines = countLines(source)
  const place = (at: number) => {
    const { line, col } = lines.linePos(at)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const answer = (faults: readonly YamlFault[], root?: Located): YamlText => ({
    root,
    faults,
    place,
    placeOf: (path, of) => place(root ? locate(root, path, of) : 0),
  })
  // The composer's own search for equal keys is quadratic.
  const composed = composeYaml(source, bounds, { schema: 'core', stringKeys: true, uniqueKeys: false })
  if ('fault' in composed) return answer([composed.fault])
  const { document, second } = composed
  const faults = [...document.errors, ...document.warnings].map(
    ({ name, pos, code, message }): YamlFault => ({
      kind: 'syntax',
      at: pos[0],
      path: [],
      code,
      says: message,
      warning: name === 'YAMLWarning',
    }),
  )
  if (second !== undefined) faults.push({ kind: 'second_document', at: second, path: [] })
  if (faults.some(fault => !('warning' in fault && fault.warning))) return answer(faults)
  const reader = new Reader(bounds.aliasGrowth)
  const { located } = reader.read(document.contents, 0, [])
  // What an alias should have repeated is not known, so nothing more can be said about the values.
  const whole = reader.faults.every(({ kind }) => kind !== 'alias_unknown' && kind !== 'alias_limit')
  return answer([...faults, ...reader.faults], whole ? located : undefined)
}

type ComposeOptions = ParseOptions & DocumentOptions & SchemaOptions

/** The first document of a text, with its errors, and where a second one starts. */
export function composeYaml(
  text: string,
  bounds: YamlBounds,
  options: ComposeOptions,
): { readonly document: Document.Parsed; readonly second?: number } | { readonly fault: YamlFault } {
  const bytes = Buffer.byteLength(text)
  if (bytes > bounds.bytes) return { fault: { kind: 'too_many_bytes', at: 0, path: [], bytes } }
  const parser = new Parser()
  const tokens = []
  let lexemes = 0
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token)
    if (++lexemes > bounds.tokens) return { fault: { kind: 'too_many_tokens', at: 0, path: [] } }
    if (parser.stack.length > bounds.depth) return { fault: { kind: 'too_deep', at: parser.offset, path: [] } }
  }
  for (const token of parser.end()) tokens.push(token)
  const composer = new Composer({ ...options, prettyErrors: false })
  const [document, second] = composer.compose(tokens, true, text.length)
  return { document: document as Document.Parsed, ...(second && { second: second.range[0] }) }
}

/** The parser's own count goes wrong where the text does. */
function countLines(text: string): LineCounter {
  const lines = new LineCounter()
  for (let start = 0; start !== 0 || lines.lineStarts.length === 0; start = text.indexOf('\n', start) + 1) {
    lines.addNewLine(start)
  }
  return lines
}

interface Read {
  readonly located: Located
  /** Values and characters in it, with all that aliases repeat. */
  readonly size: number
}

class Reader {
  readonly faults: YamlFault[] = []
  readonly #mostGrowth: number
  readonly #anchors = new Map<string, Read>()
  readonly #open = new Set<string>()
  #growth = 0

  constructor(mostGrowth: number) {
    this.#mostGrowth = mostGrowth
  }

  /** `from` is where a value would stand that is not written: behind `key:`. */
  read(node: ParsedNode | null, from: number, path: YamlPath): Read {
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

  #readHere(node: ParsedNode | null, from: number, path: YamlPath): Read {
    if (isMap(node)) return this.#readMap(node, path)
    if (isSeq(node)) {
      const items = node.items.map((item, index) => this.read(item as ParsedNode, node.range![0], [...path, index]))
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

  #readMap(node: ParsedNode & { items: unknown[] }, path: YamlPath): Read {
    const first = new Map<string, number>()
    const reads: Read[] = []
    const entries: Entry[] = []
    for (const pair of node.items as { key: ParsedNode | null; value: ParsedNode | null }[]) {
      const key = isScalar(pair.key) ? String(pair.key.value) : ''
      const at = pair.key?.range[0] ?? node.range[0]
      const here = [...path, key]
      if (first.has(key)) {
        this.faults.push({ kind: 'duplicate_key', at, path: here, key })
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

  #repeat(anchor: string, at: number, path: YamlPath): Read {
    const known = this.#anchors.get(anchor)
    const inside = this.#open.has(anchor)
    if (!known || inside) {
      this.faults.push({ kind: 'alias_unknown', at, path, anchor, inside, known: () => this.#anchors.keys() })
      return empty(at)
    }
    this.#growth += known.size
    if (this.#growth > this.#mostGrowth) {
      // Once is enough: each further alias would be one too many as well.
      if (this.#growth - known.size <= this.#mostGrowth) this.faults.push({ kind: 'alias_limit', at, path })
      return empty(at)
    }
    // A repeated word that is wrong is wrong where it is used; a repeated collection is fixed where it is written.
    return known.located.kind === 'scalar' ? { ...known, located: { ...known.located, at } } : known
  }

  /** Half of a surrogate pair, which an escape can write, has no form in UTF-8. */
  #checkText(text: string, at: number, path: YamlPath): void {
    if (!text.isWellFormed()) this.faults.push({ kind: 'half_character', at, path })
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

/** Where the value at a path starts, or its key; what is around it where there is nothing. */
function locate(root: Located, path: YamlPath, of: 'value' | 'key' = 'value'): number {
  let [value, at]: [Located | undefined, number] = [root, root.at]
  for (const [index, part] of path.entries()) {
    const entry = member(value, String(part))
    value = entry?.value ?? (value?.kind === 'list' ? value.items[Number(part)] : undefined)
    if (!value) return at
    at = entry && of === 'key' && index === path.length - 1 ? entry.at : value.at
  }
  return at
}
