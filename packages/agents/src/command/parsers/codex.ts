// `codex exec --json`: thread, turn and item events, one on each line.

import { usageOf } from '../../metering.ts'
import { errorText, isObject, type JsonObject, objectOf, type Parser, type Report, textOf } from './parser.ts'

export function codexParser(report: Report): Parser {
  return line => {
    switch (line.type) {
      case 'item.started':
      case 'item.completed':
        item(report, objectOf(line.item), line.type === 'item.completed')
        return
      case 'turn.completed':
      case 'token_count':
        usage(report, isObject(line.usage) ? line.usage : line)
        return
      case 'turn.failed':
        if (isObject(line.usage)) usage(report, line.usage)
        report.failed(errorText(line.error) ?? 'the agent gave no reason')
        return
      case 'error':
        // It retries after some of them: whether the turn failed is said by `turn.failed` and the exit code.
        report.notice(errorText(line) ?? 'an error without a message')
        return
    }
  }
}

function item(report: Report, it: JsonObject, done: boolean): void {
  const text = textOf(it.text)
  switch (it.type ?? it.item_type) {
    case 'agent_message':
    case 'assistant_message':
      if (done && text !== undefined) report.message(text)
      return
    case 'reasoning':
      if (done && text !== undefined) report.thinking(text)
      return
    case 'command_execution':
      tool(report, 'shell', it, done, textOf(it.command))
      return
    case 'file_change': {
      const changes = Array.isArray(it.changes) ? it.changes : []
      const paths = changes.map(change => textOf(objectOf(change).path)).filter(path => path !== undefined)
      tool(report, 'edit', it, done, paths.join(', ') || undefined)
      return
    }
    case 'mcp_tool_call':
      tool(report, [textOf(it.server), textOf(it.tool)].filter(Boolean).join('/') || 'tool', it, done)
      return
    case 'web_search':
      tool(report, 'web search', it, done, textOf(it.query))
      return
    case 'error':
      if (done) report.notice(errorText(it) ?? 'an error without a message')
      return
  }
}

function tool(report: Report, name: string, it: JsonObject, done: boolean, summary?: string): void {
  const bad = it.status === 'failed' || it.status === 'declined'
  report.tool(name, !done ? 'started' : bad ? 'failed' : 'finished', summary)
}

/** Its numbers are totals of the thread, and `input_tokens` has the cached ones in it. */
function usage(report: Report, it: JsonObject): void {
  report.usage(
    usageOf({
      tokensIn: it.input_tokens,
      tokensOut: it.output_tokens,
      tokensCached: it.cached_input_tokens,
    }),
  )
}
