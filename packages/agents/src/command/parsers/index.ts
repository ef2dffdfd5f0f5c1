// Which parser belongs to which name of `output`.
import { claudeParser } from './claude.ts'
import { codexParser } from './codex.ts'
import { geminiParser } from './gemini.ts'
import { genericParser } from './generic.ts'
import { opencodeParser } from './opencode.ts'
import type { Parser, ParserName, Report } from './parser.ts'

export const parsers: { readonly [Name in ParserName]: (report: Report) => Parser } = {
  'json-lines': genericParser,
  claude: claudeParser,
  codex: codexParser,
  gemini: geminiParser,
  opencode: opencodeParser,
  qwen: qwenParser,
}

/** qwen prints what claude prints; its older versions printed what gemini prints. Only `result` is in both. */
function qwenParser(report: Report): Parser {
  const claude = claudeParser(report, 'within')
  const gemini = geminiParser(report)
  return line => {
    const ofGemini = line.type === 'result' ? line.status !== undefined : geminiTypes.has(line.type)
    if (ofGemini) gemini(line)
    else claude(line)
  }
}

const geminiTypes: ReadonlySet<unknown> = new Set(['init', 'message', 'tool_use', 'tool_result', 'error', undefined])
