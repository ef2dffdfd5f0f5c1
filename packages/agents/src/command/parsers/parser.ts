// What a parser of an agent's output is: it gets one JSON object for each line and tells what it means. Output comes
// from programs of others, in versions that nobody here has seen: what is not understood is left out, never an error.
import type { TurnEvent, Usage } from '@parley/core'
import type { Refusal } from '../../outage/outage.ts'

export const parserNames = ['json-lines', 'claude', 'codex', 'gemini', 'opencode', 'qwen'] as const
export type ParserName = (typeof parserNames)[number]

export type JsonObject = { readonly [key: string]: unknown }

/** Where a parser puts what it understood. */
export interface Report {
  /** A whole message of the agent; the last one is the turn's text if no result comes. */
  message(text: string): void
  /** A piece of a message that grows; `endMessage` completes it. */
  delta(text: string): void
  endMessage(): void
  thinking(text: string): void
  notice(text: string): void
  tool(name: string, state: ToolState, summary?: string): void
  /** The total so far. */
  usage(total: Usage): void
  result(text: string): void
  blocked(reason: string): void
  /** The service behind the agent does not work; the agent may try again by itself. */
  refused(refusal: Refusal): void
  /** The agent itself says that it failed. */
  failed(message: string): void
  /** It has spent what it was allowed to, and ended by itself. */
  exhausted(): void
  /** The program's own conversation. */
  session(id: string): void
}

export type ToolState = Extract<TurnEvent, { readonly type: 'tool' }>['state']

/** One turn's parser; it may remember what came before. */
export type Parser = (line: JsonObject) => void

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Of a line that is a JSON object. */
export function parseObject(line: string): JsonObject | undefined {
  if (!line.trimStart().startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Text that is not blank. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** Anything that is not a number counts as 0. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0
}

/** Tells of the session that a member of every line, or of some, names. */
export function naming(report: Report, member: string, parser: Parser): Parser {
  return line => {
    const id = textOf(line[member])
    if (id !== undefined) report.session(id)
    parser(line)
  }
}

/** Hands each line to the handler of its `type`; other lines are dropped. */
export function byType(handlers: Readonly<Record<string, Parser>>): Parser {
  return line => {
    if (typeof line.type === 'string' && Object.hasOwn(handlers, line.type)) handlers[line.type]!(line)
  }
}

export function reasonOf(value: unknown): string {
  return errorText(value) ?? 'the agent gave no reason'
}

export function noticeOf(value: unknown): string {
  return errorText(value) ?? 'an error without a message'
}

/** What an error says, in any of the forms that errors are printed in. */
export function errorText(value: unknown): string | undefined {
  if (typeof value === 'string') return textOf(value)
  const error = objectOf(value)
  return (
    textOf(error.message) ??
    textOf(objectOf(error.data).message) ??
    textOf(objectOf(error.error).message) ??
    textOf(error.name) ??
    textOf(error.type)
  )
}

/** The argument of a tool that says most about what it does. */
export function inputSummary(value: unknown): string | undefined {
  const input = objectOf(value)
  return INPUTS.map(key => textOf(input[key])).find(text => text !== undefined)
}

const INPUTS = [
  'command',
  'file_path',
  'filePath',
  'path',
  'absolute_path',
  'pattern',
  'query',
  'url',
  'description',
] as const
