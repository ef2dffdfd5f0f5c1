// `output: json-lines`: the shapes that docs/guide/agents.md gives to everybody who writes an agent of their own.
import { usageOf } from '../../metering.ts'
import { byType, type JsonObject, type Parser, type Report, reasonOf, type ToolState, textOf } from './parser.ts'

const toolStates: readonly ToolState[] = ['started', 'finished', 'failed']

export function genericParser(report: Report): Parser {
  const said =
    (tell: (text: string) => void): Parser =>
    ({ text }) => {
      if (typeof text === 'string') tell(text)
    }
  return byType({
    text: said(report.message),
    thinking: said(report.thinking),
    notice: said(report.notice),
    result: said(report.result),
    tool: line => {
      const state = toolStates.find(each => each === line.state)
      const name = textOf(line.name)
      if (name !== undefined && state !== undefined) report.tool(name, state, textOf(line.summary))
    },
    usage: ({ tokens_in, tokens_out, tokens_cached, usd }: JsonObject) =>
      report.usage(usageOf({ tokensIn: tokens_in, tokensOut: tokens_out, tokensCached: tokens_cached, usd })),
    blocked: ({ reason }) => report.blocked(textOf(reason) ?? reasonOf(undefined)),
    error: line => report.failed(reasonOf(line)),
  })
}
