// Which parser belongs to which name of `output`.
import type { OutputName } from '../config.ts'
import { claudeParser } from './claude.ts'
import { codexLogged, codexParser } from './codex.ts'
import { geminiParser } from './gemini.ts'
import { genericParser } from './generic.ts'
import { opencodeParser } from './opencode.ts'
import { type JsonObject, numberOf, type Parser, type ParserName, type Report, textOf } from './parser.ts'

export const parsers: { readonly [Name in ParserName]: (report: Report) => Parser } = {
  'json-lines': genericParser,
  claude: claudeParser,
  codex: codexParser,
  gemini: geminiParser,
  opencode: opencodeParser,
  qwen: qwenParser,
}

/** What a program tells its parser in lines of standard error, among its errors. */
export const logged: { readonly [Name in OutputName]?: (line: string) => JsonObject | undefined } = {
  codex: codexLogged,
}

/** qwen prints what claude prints; its older versions printed what gemini prints. Only `result` is in both. */
function qwenParser(report: Report): Parser {
  const claude = claudeParser(report, 'within')
  const gemini = geminiParser(report)
  return line => {
    if (line.type === 'telemetry') {
      qwenTelemetry(report, line)
      return
    }
    const ofGemini = line.type === 'result' ? line.status !== undefined : geminiTypes.has(line.type)
    if (ofGemini) gemini(line)
    else claude(line)
  }
}

/** Its output says nothing about its first seven tries. */
function qwenTelemetry(report: Report, line: JsonObject): void {
  if (line.event !== 'api_retry') return
  report.refused({
    status: numberOf(line.status_code),
    message: textOf(line.error_message),
    retry: { attempt: numberOf(line.attempt_number), delayMs: numberOf(line.retry_delay_ms) },
  })
}

const geminiTypes: ReadonlySet<unknown> = new Set(['init', 'message', 'tool_use', 'tool_result', 'error', undefined])
