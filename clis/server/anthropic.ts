// Anthropic Messages: https://docs.anthropic.com/en/api/messages, /streaming and /errors.
import {
  type Answer,
  type Asked,
  bearer,
  type Dialect,
  freshId,
  type Json,
  type Message,
  object,
  objects,
  textIn,
  usage,
} from './dialect.ts'

const RESET = 3 * 60 * 60

export const anthropic: Dialect = {
  read(path, body) {
    if (!/\/messages$/.test(path)) return undefined
    const system: Message = { role: 'system', text: textIn(body.system), results: [] }
    return {
      model: String(body.model),
      stream: body.stream === true,
      messages: [system, ...objects(body.messages).map(message)],
      tools: objects(body.tools).map(({ name }) => String(name)),
    }
  },

  aside(method, path) {
    if (/\/count_tokens$/.test(path)) return { input_tokens: usage.input }
    if (method === 'GET' && /\/models$/.test(path)) return { data: [], has_more: false }
    return undefined
  },

  whole: (answer, asked) => ({ ...opened(asked), content: blocks(answer), stop_reason: stopOf(answer), usage: spent }),

  *streamed(answer, asked) {
    yield event('message_start', { message: { ...opened(asked), content: [], stop_reason: null, usage: spent } })
    for (const [index, block] of blocks(answer).entries()) {
      const isText = block.type === 'text'
      const content_block = isText ? { type: 'text', text: '' } : { ...block, input: {} }
      const delta = isText
        ? { type: 'text_delta', text: block.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
      yield event('content_block_start', { index, content_block })
      yield event('content_block_delta', { index, delta })
      yield event('content_block_stop', { index })
    }
    const delta = { stop_reason: stopOf(answer), stop_sequence: null }
    yield event('message_delta', { delta, usage: { output_tokens: usage.output } })
    yield event('message_stop', {})
  },

  trouble(trouble) {
    switch (trouble) {
      case 'unauthorized':
        return error(401, 'authentication_error', 'invalid x-api-key')
      case 'rate_limited': {
        const words = 'This request would exceed your organization’s rate limit of 30,000 input tokens per minute.'
        return error(429, 'rate_limit_error', words, {
          'retry-after': '20',
          'anthropic-ratelimit-input-tokens-remaining': '0',
        })
      }
      case 'server_error':
        return error(500, 'api_error', 'Internal server error')
      case 'overloaded':
        return error(529, 'overloaded_error', 'Overloaded')
      case 'no_credit': {
        const words =
          'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.'
        return error(400, 'invalid_request_error', words)
      }
      case 'subscription_limit':
        return error(
          429,
          'rate_limit_error',
          "This request would exceed your account's rate limit. Please try again later.",
          {
            'anthropic-ratelimit-unified-status': 'rejected',
            'anthropic-ratelimit-unified-representative-claim': 'five_hour',
            'anthropic-ratelimit-unified-reset': String(Math.floor(Date.now() / 1000) + RESET),
            'anthropic-ratelimit-unified-fallback': 'available',
          },
        )
    }
  },

  credential: headers => [headers['x-api-key']].flat()[0] ?? bearer(headers),
}

const spent = {
  input_tokens: usage.input - usage.cached,
  cache_read_input_tokens: usage.cached,
  cache_creation_input_tokens: 0,
  output_tokens: usage.output,
}

function event(type: string, rest: Json): readonly [string, Json] {
  return [type, { type, ...rest }]
}

function opened({ model }: Asked): Json {
  return { id: freshId('msg_'), type: 'message', role: 'assistant', model, stop_sequence: null }
}

function blocks({ text, calls = [] }: Answer): readonly Json[] {
  return [
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map(({ tool, input }) => ({ type: 'tool_use', id: freshId('toolu_'), name: tool, input })),
  ]
}

function stopOf({ calls = [] }: Answer): string {
  return calls.length > 0 ? 'tool_use' : 'end_turn'
}

function message({ role, content }: Json): Message {
  const results = objects(content).filter(({ type }) => type === 'tool_result')
  return {
    role: role === 'assistant' ? 'assistant' : 'user',
    text: textIn(content),
    results: results.map(each => textIn(object(each).content)),
  }
}

function error(status: number, type: string, words: string, headers: Readonly<Record<string, string>> = {}) {
  const body = { type: 'error', error: { type, message: words }, request_id: freshId('req_') }
  return { status, headers, body }
}
