// What the model server needs to know of one vendor's API: how a request reads, and how answers and errors are written.
import type { IncomingHttpHeaders } from 'node:http'

export type Json = { readonly [key: string]: unknown }

/** A tool of the program, by the name that it offered, with the input that it takes; some take a text. */
export interface ToolCall {
  readonly tool: string
  readonly input: Json | string
}

/** What a vendor answers when it does not: each dialect has its own codes, headers and words for them. */
export const troubles = [
  'unauthorized',
  'rate_limited',
  'server_error',
  'overloaded',
  'subscription_limit',
  'no_credit',
] as const
export type Trouble = (typeof troubles)[number]

export interface Answer {
  readonly text?: string | undefined
  readonly calls?: readonly ToolCall[] | undefined
}

/** `hang`: the answer never comes, as with a model that thinks for ever. */
export type Reply = Answer | { readonly trouble: Trouble } | 'hang'

export interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly text: string
  /** Results of tools that it carries. */
  readonly results: readonly string[]
}

/** A request for an answer, in no vendor's words. */
export interface Asked {
  readonly model: string
  readonly stream: boolean
  readonly messages: readonly Message[]
  /** Names of the tools that it offers. */
  readonly tools: readonly string[]
}

export interface Written {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

export interface Dialect {
  /** Undefined for a path that asks for no answer. */
  read(path: string, body: Json): Asked | undefined
  /** Other paths that its programs ask: lists of models, counts of tokens. Undefined is a 404. */
  aside(method: string, path: string): unknown
  whole(answer: Answer, asked: Asked): unknown
  /** Server-sent events: their names (`undefined` for none) and data. */
  streamed(answer: Answer, asked: Asked): Iterable<readonly [event: string | undefined, data: unknown]>
  trouble(trouble: Trouble): Written
  credential(headers: IncomingHttpHeaders): string | undefined
}

/** Each answer costs the same, so that a check can say what a turn must have cost. */
export const usage = { input: 1000, cached: 400, output: 50 } as const

export function objects(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'object' && each !== null) : []
}

export function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

/** The text of a content that is a string or a list of parts with texts. */
export function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  return objects(content)
    .map(({ text, input_text }) => text ?? input_text)
    .filter(each => typeof each === 'string')
    .join('\n')
}

export function bearer({ authorization }: IncomingHttpHeaders): string | undefined {
  return authorization?.replace(/^Bearer /i, '')
}

let ids = 0
export function freshId(prefix: string): string {
  ids += 1
  return `${prefix}${String(ids).padStart(8, '0')}`
}
