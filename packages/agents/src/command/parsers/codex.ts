// `codex exec --json`: thread, turn and item events, one on each line.
import type { Usage } from '@parley/core'
import { sumUsage, usageOf } from '../../metering.ts'
import { retryInLine } from '../../outage/wordings.ts'
import {
  arrayOf,
  byType,
  isObject,
  type JsonObject,
  naming,
  noticeOf,
  objectOf,
  type Parser,
  type Report,
  reasonOf,
  textOf,
} from './parser.ts'

export function codexParser(report: Report): Parser {
  /** Of each answer of the model, where they are logged: the other totals come at the end, and for the whole thread. */
  let sum: Usage | undefined
  const used = (line: JsonObject) => {
    if (sum === undefined) usage(report, isObject(line.usage) ? line.usage : line)
  }
  const parser = byType({
    'item.started': line => item(report, objectOf(line.item), false),
    'item.completed': line => item(report, objectOf(line.item), true),
    'turn.completed': used,
    token_count: used,
    response: line => {
      const { input_token_count: tokensIn, output_token_count: tokensOut, cached_token_count: tokensCached } = line
      sum = sumUsage(sum ?? {}, usageOf({ tokensIn, tokensOut, tokensCached }))
      report.usage(sum)
    },
    'turn.failed': line => {
      if (isObject(line.usage)) used(line)
      report.failed(reasonOf(line.error))
    },
    // It retries after some of them: whether the turn failed is said by `turn.failed` and the exit code.
    error: line => refused(report, noticeOf(line)),
  })
  return naming(report, 'thread_id', parser)
}

/** With the preset's RUST_LOG: lines of its log that are no errors. An answer of the model says what it cost. */
export function codexLogged(line: string): JsonObject | undefined {
  const [, said] = / INFO codex_otel\.trace_safe: (.*)/s.exec(line) ?? []
  if (said === undefined) return undefined
  const counts = [...said.matchAll(/\b(\w+_token_count)=(\d+)/g)].map(([, name, count]) => [name, Number(count)])
  return said.includes('event.kind=response.completed') && counts.length > 0
    ? { type: 'response', ...Object.fromEntries(counts) }
    : {}
}

function refused(report: Report, message: string): void {
  report.refused(retryInLine('codex', message) ?? { message })
}

function item(report: Report, it: JsonObject, done: boolean): void {
  const text = textOf(it.text)
  const tool = (name: string, summary?: string) => {
    const bad = it.status === 'failed' || it.status === 'declined'
    report.tool(name, !done ? 'started' : bad ? 'failed' : 'finished', summary)
  }
  switch (it.type ?? it.item_type) {
    case 'agent_message':
    case 'assistant_message':
      if (done && text !== undefined) report.message(text)
      return
    case 'reasoning':
      if (done && text !== undefined) report.thinking(text)
      return
    case 'command_execution':
      tool('shell', textOf(it.command))
      return
    case 'file_change': {
      const paths = arrayOf(it.changes).map(change => textOf(objectOf(change).path))
      tool('edit', paths.filter(path => path !== undefined).join(', ') || undefined)
      return
    }
    case 'mcp_tool_call':
      tool([textOf(it.server), textOf(it.tool)].filter(Boolean).join('/') || 'tool')
      return
    case 'web_search':
      tool('web search', textOf(it.query))
      return
    case 'error':
      if (done) refused(report, noticeOf(it))
  }
}

/** Its numbers are totals of the thread, and `input_tokens` has the cached ones in it. */
function usage(report: Report, { input_tokens, output_tokens, cached_input_tokens }: JsonObject): void {
  report.usage(usageOf({ tokensIn: input_tokens, tokensOut: output_tokens, tokensCached: cached_input_tokens }))
}
