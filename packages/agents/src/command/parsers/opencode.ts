// `opencode run --format json`: step_start, text, tool_use, step_finish, error and done events, each with a part.
import type { Usage } from '@parley/core'
import { sumUsage, usageOf } from '../../metering.ts'
import {
  byType,
  countOf,
  errorText,
  inputSummary,
  type JsonObject,
  naming,
  numberOf,
  objectOf,
  type Parser,
  type Report,
  reasonOf,
  textOf,
} from './parser.ts'

export function opencodeParser(report: Report): Parser {
  let total: Usage = {}
  let message: unknown
  let texts: string[] = []

  const text = (part: JsonObject) => {
    if (textOf(part.text) === undefined) return
    // A message may have several texts; the last message is the answer.
    if (part.messageID !== message) texts = []
    message = part.messageID
    texts.push(part.text as string)
    report.message(part.text as string)
    report.result(texts.join('\n'))
  }

  const tool = (part: JsonObject) => {
    const state = objectOf(part.state)
    const bad = state.status === 'error'
    const summary = bad ? errorText(state.error) : (textOf(state.title) ?? inputSummary(state.input))
    report.tool(textOf(part.tool) ?? 'tool', bad ? 'failed' : 'finished', summary)
  }

  const parser = byType({
    text: line => text(objectOf(line.part)),
    reasoning: line => {
      const thought = textOf(objectOf(line.part).text)
      if (thought !== undefined) report.thinking(thought)
    },
    tool_use: line => tool(objectOf(line.part)),
    step_finish: line => {
      total = sumUsage(total, step(objectOf(line.part)))
      report.usage(total)
    },
    error: ({ error }) => {
      const { name, data } = objectOf(error)
      const status = numberOf(objectOf(data).statusCode)
      const reason = name === 'ProviderAuthError' ? 'account' : undefined
      report.refused({ reason, status, message: errorText(error) })
      report.failed(reasonOf(error))
    },
  })
  return naming(report, 'sessionID', parser)
}

/** `input` is what no cache served, and thinking is paid like output. */
function step(part: JsonObject): Usage {
  const tokens = objectOf(part.tokens)
  const cache = objectOf(tokens.cache)
  return usageOf({
    tokensIn: countOf(tokens.input) + countOf(cache.read) + countOf(cache.write),
    tokensOut: countOf(tokens.output) + countOf(tokens.reasoning),
    tokensCached: countOf(cache.read),
    usd: part.cost,
  })
}
