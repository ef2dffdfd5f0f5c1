// `gemini --output-format stream-json`: init, message, tool_use, tool_result, error and result events; and
// `--output-format json`, which is one object with `response` and `stats`, if it comes on one line.

import type { Usage } from '@parley/core'
import { sumUsage, usageOf } from '../../metering.ts'
import {
  errorText,
  inputSummary,
  isObject,
  type JsonObject,
  objectOf,
  type Parser,
  type Report,
  textOf,
} from './parser.ts'
import { OpenTools } from './tools.ts'

export function geminiParser(report: Report): Parser {
  const tools = new OpenTools(report)

  const message = (line: JsonObject) => {
    if (line.role !== 'assistant' || typeof line.content !== 'string') return
    if (line.delta === true) report.delta(line.content)
    else report.message(line.content)
  }

  const result = (line: JsonObject) => {
    report.endMessage()
    if (isObject(line.stats)) report.usage(stats(line.stats))
    if (line.status === 'error') report.failed(errorText(line.error) ?? 'the agent gave no reason')
  }

  const whole = (line: JsonObject) => {
    if (isObject(line.stats)) report.usage(stats(line.stats))
    if (isObject(line.error)) report.failed(errorText(line.error) ?? 'the agent gave no reason')
    else if (textOf(line.response) !== undefined) report.result(line.response as string)
  }

  return line => {
    switch (line.type) {
      case 'message':
        message(line)
        return
      case 'tool_use':
        report.endMessage()
        tools.start(line.tool_id, line.tool_name, inputSummary(line.parameters))
        return
      case 'tool_result':
        tools.end(line.tool_id, line.status === 'error', errorText(line.error))
        return
      case 'error':
        // Warnings and errors after which it goes on; the last word is the result's.
        report.notice(errorText(line) ?? 'an error without a message')
        return
      case 'result':
        result(line)
        return
      case undefined:
        whole(line)
        return
    }
  }
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
