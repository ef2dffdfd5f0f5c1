// `codex exec --json`: thread, turn and item events, one on each line.
import { usageOf } from '../../metering.ts'
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
  const used = (line: JsonObject) => usage(report, isObject(line.usage) ? line.usage : line)
  const parser = byType({
    'item.started': line => item(report, objectOf(line.item), false),
    'item.completed': line => item(report, objectOf(line.item), true),
    'turn.completed': used,
    token_count: used,
    'turn.failed': line => {
      if (isObject(line.usage)) usage(report, line.usage)
      report.failed(reasonOf(line.error))
    },
    // It retries after some of them: whether the turn failed is said by `turn.failed` and the exit code.
    error: line => refused(report, noticeOf(line)),
  })
  return naming(report, 'thread_id', parser)
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
