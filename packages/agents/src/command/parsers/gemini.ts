// `gemini --output-format stream-json`: init, message, tool_use, tool_result, error and result events; and
// `--output-format json`, which is one object with `response` and `stats`, if it comes on one line.
import type { Usage } from '@parley/core'
import { sumUsage, usageOf } from '../../metering.ts'
import {
  byType,
  errorText,
  inputSummary,
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
import { OpenTools } from './tools.ts'

export function geminiParser(report: Report): Parser {
  const tools = new OpenTools(report)
  /** Of each answer of the model, by its telemetry; the result has all of them. */
  let sum: Usage = {}
  let over = false
  const typed = byType({
    message: ({ role, content, delta }) => {
      if (role !== 'assistant' || typeof content !== 'string') return
      if (delta === true) report.delta(content)
      else report.message(content)
    },
    tool_use: ({ tool_id, tool_name, parameters }) => {
      report.endMessage()
      tools.start(tool_id, tool_name, inputSummary(parameters))
    },
    tool_result: ({ tool_id, status, error }) => tools.end(tool_id, status === 'error', errorText(error)),
    // Warnings and errors after which it goes on; the last word is the result's.
    error: line => report.refused({ message: noticeOf(line) }),
    telemetry: ({ event, input_token_count, output_token_count, cached_content_token_count }) => {
      if (event !== 'api_response' || over) return
      const answer = { tokensIn: input_token_count, tokensOut: output_token_count }
      sum = sumUsage(sum, usageOf({ ...answer, tokensCached: cached_content_token_count }))
      report.usage(sum)
    },
    result: line => {
      over = true
      report.endMessage()
      if (isObject(line.stats)) report.usage(stats(line.stats))
      if (line.status === 'error') report.failed(reasonOf(line.error))
    },
  })
  const whole = ({ stats: used, error, response }: JsonObject) => {
    if (isObject(used)) report.usage(stats(used))
    if (isObject(error)) report.failed(reasonOf(error))
    else if (textOf(response) !== undefined) report.result(response as string)
  }
  return naming(report, 'session_id', line => (line.type === undefined ? whole(line) : typed(line)))
}

/** Of a stream, sums; of one object, numbers for each model. `input_tokens` has the cached ones in it. */
function stats(it: JsonObject): Usage {
  if (!isObject(it.models) || it.input_tokens !== undefined) {
    return usageOf({ tokensIn: it.input_tokens, tokensOut: it.output_tokens, tokensCached: it.cached })
  }
  return Object.values(it.models)
    .map(model => objectOf(objectOf(model).tokens))
    .map(tokens => usageOf({ tokensIn: tokens.prompt, tokensOut: tokens.candidates, tokensCached: tokens.cached }))
    .reduce(sumUsage, {})
}
