// `claude -p --output-format stream-json --verbose`: system, assistant, user and result messages, one on each line.
// qwen prints the same shapes without the cost.
import type { Usage } from '@parley/core'
import { agentLimits } from '../../limits.ts'
import { sumUsage, usageOf } from '../../metering.ts'
import type { OutageReason, Refusal } from '../../outage/outage.ts'
import {
  arrayOf,
  byType,
  countOf,
  errorText,
  inputSummary,
  isObject,
  type JsonObject,
  naming,
  numberOf,
  objectOf,
  type Parser,
  type Report,
  textOf,
} from './parser.ts'
import { OpenTools } from './tools.ts'

/** `cached`: whether `input_tokens` has those that a cache served in it, as with qwen, or not, as with claude. */
export function claudeParser(report: Report, cached: 'within' | 'beside' = 'beside'): Parser {
  const tools = new OpenTools(report)
  const messages = new MessageUsage()
  /** Of a subscription whose limit is reached. */
  let resetsAt: unknown

  const refused = (line: JsonObject, more: Refusal) => {
    const reason = typeof line.error === 'string' ? REASONS.get(line.error) : undefined
    report.refused({ reason, resetsAt, ...more })
  }

  const system = (line: JsonObject) => {
    if (line.subtype !== 'api_retry') return
    const retry = {
      attempt: numberOf(line.attempt),
      of: numberOf(line.max_retries),
      delayMs: numberOf(line.retry_delay_ms),
    }
    refused(line, { status: numberOf(line.error_status), retry })
  }

  const limits = (line: JsonObject) => {
    const info = objectOf(line.rate_limit_info)
    resetsAt = info.status === 'rejected' && info.isUsingOverage !== true ? info.resetsAt : undefined
  }

  const assistant = (line: JsonObject) => {
    const message = objectOf(line.message)
    // What a sub-agent says is not the turn's answer.
    const own = line.parent_tool_use_id === null || line.parent_tool_use_id === undefined
    if (line.is_api_error_message === true) {
      const said = blocksOf(message.content).map(({ text }) => textOf(text))
      refused(line, { status: numberOf(line.api_error_status), message: said.find(Boolean) })
      return
    }
    for (const block of blocksOf(message.content)) {
      const text = textOf(block.text)
      const thought = textOf(block.thinking)
      if (block.type === 'text' && text !== undefined && own) report.message(text)
      else if (block.type === 'thinking' && thought !== undefined) report.thinking(thought)
      else if (block.type === 'tool_use') tools.start(block.id, block.name, inputSummary(block.input))
    }
    if (isObject(message.usage)) report.usage(messages.add(textOf(message.id) ?? '', tokens(message.usage, cached)))
  }

  const results = (line: JsonObject) => {
    for (const block of blocksOf(objectOf(line.message).content)) {
      if (block.type === 'tool_result') tools.end(block.tool_use_id, block.is_error === true)
    }
  }

  const result = (line: JsonObject) => {
    report.usage({
      ...(isObject(line.usage) && tokens(line.usage, cached)),
      ...usageOf({ usd: line.total_cost_usd }),
    })
    const text = textOf(line.result)
    const bad = line.is_error === true || (typeof line.subtype === 'string' && line.subtype.startsWith('error'))
    if (!bad) {
      if (text !== undefined) report.result(text)
      return
    }
    const subtype = textOf(line.subtype)
    const why =
      text ?? errorText(line.error) ?? arrayOf(line.errors).map(errorText).find(Boolean) ?? subtype ?? 'no reason'
    const status = numberOf(line.api_error_status)
    if (status !== undefined) report.refused({ status, message: why, resetsAt })
    if (subtype === 'error_max_budget_usd') report.exhausted()
    report.failed(why)
  }

  return naming(report, 'session_id', byType({ assistant, user: results, result, system, rate_limit_event: limits }))
}

/** Its own names of errors. */
const REASONS: ReadonlyMap<string, OutageReason> = new Map([
  ['authentication_failed', 'account'],
  ['oauth_org_not_allowed', 'account'],
  ['account_on_hold', 'account'],
  ['verification_required', 'account'],
  ['cloud_credential_error', 'account'],
  ['billing_error', 'credit'],
  ['rate_limit', 'quota'],
  ['overloaded', 'overloaded'],
  ['server_error', 'service'],
])

function blocksOf(content: unknown): readonly JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return arrayOf(content).filter(isObject)
}

/** Usage counts all input, and the part that a cache served again. */
function tokens(usage: JsonObject, where: 'within' | 'beside'): Usage {
  const cached = countOf(usage.cache_read_input_tokens)
  const beside = where === 'within' ? 0 : cached + countOf(usage.cache_creation_input_tokens)
  return usageOf({
    tokensIn: countOf(usage.input_tokens) + beside,
    tokensOut: countOf(usage.output_tokens),
    tokensCached: cached,
  })
}

/** Each message repeats its usage on every line that has a part of it: the last of each counts, and all are summed. */
class MessageUsage {
  readonly #messages = new Map<string, Usage>()
  #older: Usage = {}

  add(id: string, usage: Usage): Usage {
    this.#messages.set(id, usage)
    if (this.#messages.size > agentLimits.usageMessages) {
      const [oldest, its] = this.#messages.entries().next().value!
      this.#messages.delete(oldest)
      this.#older = sumUsage(this.#older, its)
    }
    return [...this.#messages.values()].reduce(sumUsage, this.#older)
  }
}
