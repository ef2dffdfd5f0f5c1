// What programs say in plain words when the service behind them does not work: one table for each program, used where
// it prints no code. A row says where its words come from.
import type { OutputName } from '../command/config.ts'
import { type OutageReason, type Refusal, reasonOfStatus } from './outage.ts'

interface Wording {
  readonly says: RegExp
  /** Without one, the group `status` of `says` tells. */
  readonly reason?: OutageReason
  readonly from: string
}

/** A line about another try: groups `attempt`, `of`, `seconds` or `ms`, `status`, `message`. */
interface RetryLine {
  readonly says: RegExp
  readonly from: string
}

interface ProgramWords {
  readonly ends: readonly Wording[]
  readonly retries?: readonly RetryLine[]
}

const ANY: readonly Wording[] = [
  {
    says: /rate.?limit|too many requests|\b429\b|quota|usage limit|insufficient balance/i,
    reason: 'quota',
    from: 'RFC 6585 and what clients of most services print',
  },
  { says: /insufficient credit|out of credits/i, reason: 'credit', from: 'OpenRouter and most resellers' },
  { says: /credit balance (is )?too low/i, reason: 'credit', from: 'Anthropic API, HTTP 400' },
  {
    says: /\b(?<status>50[0234]) (Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)\b/i,
    from: 'RFC 9110',
  },
  { says: /\b(HTTP|API Error:?|status:?) (?<status>5\d\d)\b/i, from: 'what clients of most services print' },
  {
    says: /connect ECONNREFUSED|getaddrinfo (ENOTFOUND|EAI_AGAIN)/,
    reason: 'service',
    from: 'Node.js, no way to the service',
  },
  { says: /overloaded/i, reason: 'overloaded', from: 'Anthropic API, error overloaded_error' },
  {
    says: /unauthori[sz]ed|\b401\b|authentication|not (authenticated|logged in)|(invalid|missing|no|expired) (api.?key|credentials|token)|please (log ?in|run \S+ login)/i,
    reason: 'account',
    from: 'RFC 9110 and what clients of most services print',
  },
]

const tables: { readonly [Program in OutputName]?: ProgramWords } = {
  claude: {
    ends: [
      { says: /You['’]ve hit your .*limit/i, reason: 'quota', from: 'claude 2.1.328, limits of a subscription' },
      { says: /Credit balance (is )?too low/i, reason: 'credit', from: 'claude 2.1.328, an API key without credit' },
      { says: /run \/login|Invalid API key/i, reason: 'account', from: 'claude 2.1.328, HTTP 401' },
      { says: /API Error: (?<status>[45]\d\d)\b/, from: 'claude 2.1.328, other answers of the API' },
    ],
  },
  codex: {
    ends: [
      { says: /hit your usage limit/i, reason: 'quota', from: 'codex 0.169.0, limits of a subscription' },
      { says: /Quota exceeded\. Check your plan/i, reason: 'credit', from: 'codex 0.169.0, insufficient_quota' },
      {
        says: /experiencing high demand|model is at capacity|capacity is unavailable/i,
        reason: 'overloaded',
        from: 'codex 0.169.0, HTTP 503',
      },
      { says: /Incorrect API key provided/i, reason: 'account', from: 'OpenAI API, invalid_api_key' },
      { says: /(unexpected|last) status:? (?<status>[45]\d\d)\b/i, from: 'codex 0.169.0, other answers of the API' },
    ],
    retries: [
      {
        says: /^Reconnecting\.\.\. (?<attempt>\d+)\/(?<of>\d+)(?: \((?<message>.*)\))?/s,
        from: 'codex 0.169.0, events of type error',
      },
    ],
  },
  gemini: {
    ends: [
      { says: /API key not valid|API_KEY_INVALID/i, reason: 'account', from: 'Gemini API, HTTP 400' },
      { says: /Invalid auth method selected/, reason: 'account', from: 'gemini 0.61.0, exit code 41' },
      {
        says: /exhausted your (daily quota|capacity)|exceeded your current quota/i,
        reason: 'quota',
        from: 'gemini 0.61.0, HTTP 429',
      },
      { says: /"code": ?(?<status>[45]\d\d)\b/, from: 'Gemini API, the body of its errors' },
    ],
    retries: [
      {
        says: /^Attempt (?<attempt>\d+) failed with status (?<status>\d+)/,
        from: 'gemini 0.61.0, retryWithBackoff',
      },
      { says: /^Attempt (?<attempt>\d+) failed: (?<message>.*)/, from: 'gemini 0.61.0, HTTP 429, first line' },
      { says: /Retrying after (?<ms>\d+)ms/, from: 'gemini 0.61.0, HTTP 429, second line' },
    ],
  },
  opencode: {
    ends: [
      { says: /Incorrect API key provided|invalid x-api-key/i, reason: 'account', from: 'OpenAI and Anthropic API' },
      { says: /credit balance is too low/i, reason: 'credit', from: 'Anthropic API, HTTP 400' },
      { says: /exceeded your current quota/i, reason: 'credit', from: 'OpenAI API, insufficient_quota' },
      { says: /AI_\w+: .*rate limit/i, reason: 'quota', from: 'opencode 1.18.33, HTTP 429 of the vendors' },
      {
        says: /AI_\w+: .*overloaded/i,
        reason: 'overloaded',
        from: 'opencode 1.18.33, HTTP 503 and 529 of the vendors',
      },
      {
        says: /AI_\w+: .*(internal server error|server had an error)/i,
        reason: 'service',
        from: 'opencode 1.18.33, HTTP 500 of the vendors',
      },
    ],
    retries: [
      {
        says: /level=ERROR .*message="stream error" .*small=false .*error\.error="(?<message>[^"]*)"/,
        from: 'opencode 1.18.33 with --print-logs, which prints nothing else about it',
      },
    ],
  },
  qwen: {
    ends: [
      { says: /Incorrect API key provided/i, reason: 'account', from: 'OpenAI API, invalid_api_key' },
      { says: /No auth type is selected/, reason: 'account', from: 'qwen 0.24.4, without any login' },
      { says: /exceeded your current quota/i, reason: 'credit', from: 'OpenAI API, insufficient_quota' },
      { says: /\[API Error: (?<status>[45]\d\d)\b/, from: 'qwen 0.24.4, other answers of the API' },
    ],
    retries: [
      {
        says: /^Retrying in (?<seconds>\d+)s \(attempt (?<attempt>\d+)\/(?<of>\d+)\)(?:: (?<message>.*))?/,
        from: 'qwen 0.24.4, emitRetryProgress',
      },
    ],
  },
}

/** By words that are this program's own. */
export function reasonOfProgram(program: OutputName, said: string): OutageReason | undefined {
  return meaning(tables[program]?.ends ?? [], said)
}

/** By the words that a program ended with, whichever it is. */
export function reasonInWords(program: OutputName, said: string): OutageReason | undefined {
  return reasonOfProgram(program, said) ?? meaning(ANY, said)
}

function meaning(words: readonly Wording[], said: string): OutageReason | undefined {
  for (const { says, reason } of words) {
    const found = says.exec(said)
    if (!found) continue
    const meant = reason ?? reasonOfStatus(Number(found.groups?.status))
    if (meant !== undefined) return meant
  }
  return undefined
}

/** What a line tells of another try. */
export function retryInLine(program: OutputName, line: string): Refusal | undefined {
  for (const { says } of tables[program]?.retries ?? []) {
    const groups = says.exec(line)?.groups
    if (!groups) continue
    const { attempt, of, seconds, ms, status, message } = groups
    const number = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits))
    const delayMs = seconds === undefined ? number(ms) : Number(seconds) * 1000
    return { status: number(status), message, retry: { attempt: number(attempt), of: number(of), delayMs } }
  }
  return undefined
}
