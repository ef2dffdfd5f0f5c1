// `output: json-lines`: the shapes that docs/guide/agents.md gives to everybody who writes an agent of their own.

import { usageOf } from '../../metering.ts'
import { errorText, type Parser, type Report, type ToolState, textOf } from './parser.ts'

const toolStates: readonly ToolState[] = ['started', 'finished', 'failed']

export function genericParser(report: Report): Parser {
  return line => {
    const text = typeof line.text === 'string' ? line.text : undefined
    switch (line.type) {
      case 'text':
        if (text !== undefined) report.message(text)
        return
      case 'thinking':
        if (text !== undefined) report.thinking(text)
        return
      case 'notice':
        if (text !== undefined) report.notice(text)
        return
      case 'tool': {
        const state = toolStates.find(each => each === line.state)
        const name = textOf(line.name)
        if (name !== undefined && state !== undefined) report.tool(name, state, textOf(line.summary))
        return
      }
      case 'usage':
        report.usage(
          usageOf({
            tokensIn: line.tokens_in,
            tokensOut: line.tokens_out,
            tokensCached: line.tokens_cached,
            usd: line.usd,
          }),
        )
        return
      case 'result':
        if (text !== undefined) report.result(text)
        return
      case 'blocked':
        report.blocked(textOf(line.reason) ?? 'the agent gave no reason')
        return
      case 'error':
        report.failed(errorText(line) ?? 'the agent gave no reason')
        return
    }
  }
}
