// A YAML text as a plain value, with the place of everything in it. What the parser says is turned into problems here.
import type { ParleyErrorOptions } from '@parley/core'
import { err, ok, ParleyError, type Result } from '@parley/core'
import { type Document, isMap, isNode, isSeq, LineCounter, type Node, type Pair, parseDocument } from 'yaml'
import { nodeLimits } from '../limits.ts'

export interface ConfigProblem {
  /** `yaml_syntax`, `too_large`, `unknown_key`, `bad_value`, … */
  readonly code: string
  readonly message: string
  /** A file, `environment NAME` or `flag --name`. */
  readonly source: string
  /** From 1; of files only. */
  readonly line?: number
  readonly column?: number
  /** `log.level`; empty for the whole. */
  readonly path: string
}

export type Path = readonly (string | number)[]

export interface Source {
  readonly value: unknown
  /** Of the value at a path, or of its key; of what is around it where there is nothing. */
  place(path: Path, of?: 'value' | 'key'): { readonly line: number; readonly column: number }
}

export function readSource(text: string, file: string): Result<Source, readonly ConfigProblem[]> {
  const lines = new LineCounter()
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const problem = (code: string, message: string, offset: number): ConfigProblem => ({
    code,
    message,
    source: file,
    ...at(offset),
    path: '',
  })
  if (Buffer.byteLength(text) > nodeLimits.configBytes)
    return err([problem('too_large', `the file is larger than ${nodeLimits.configBytes} bytes.`, 0)])
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, strict: true })
    const problems = document.errors.map(({ message, pos, code }) =>
      problem(code === 'DUPLICATE_KEY' ? 'duplicate_key' : 'yaml_syntax', plain(message), pos[0]),
    )
    if (problems.length > 0) return err(problems.slice(0, nodeLimits.configProblems))
    const value: unknown = document.toJS({ maxAliasCount: 100 })
    return ok({ value: value ?? {}, place: (path, of) => at(offsetOf(document, path, of)) })
  } catch (thrown) {
    // Too many aliases, or nesting beyond the stack.
    return err([problem('bad_value', plain(thrown instanceof Error ? thrown.message : String(thrown)), 0)])
  }
}

function plain(message: string): string {
  return `${(message.split('\n', 1)[0] ?? message).replace(/\.$/, '')}.`
}

function offsetOf(document: Document, path: Path, of: 'value' | 'key' = 'value'): number {
  let node: unknown = document.contents
  let offset = 0
  for (const part of path) {
    const pair = isMap(node)
      ? (node.items as Pair[]).find(
          ({ key }) => String((key as { value?: unknown })?.value ?? key) === String(part),
        )
      : undefined
    const next = pair
      ? of === 'key'
        ? pair.key
        : pair.value
      : isSeq(node)
        ? node.items[Number(part)]
        : undefined
    const start = startOf(next) ?? startOf(pair?.key)
    if (start === undefined) return offset
    offset = start
    node = pair ? pair.value : next
  }
  return offset
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? (node as Node).range?.[0] : undefined
}

/** All problems as one refusal; the first one is told, the rest are in the details. */
export function invalidConfig(
  problems: readonly ConfigProblem[],
  options: ParleyErrorOptions = {},
): ParleyError {
  const [first] = problems
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  const message = `The configuration cannot be used. ${problemText(first!)}${more}`
  return new ParleyError('invalid_config', message, { ...options, details: { problems } })
}

/** `/…/config.yaml:3:7: turns must be …` */
export function problemText({ source, line, column, message }: ConfigProblem): string {
  const place = line === undefined ? source : `${source}:${line}:${column}`
  return `${place}: ${message}`
}
