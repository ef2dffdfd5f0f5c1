// OpenAI Chat Completions: https://platform.openai.com/docs/api-reference/chat and /chat-streaming.
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
import { openaiTrouble } from './openai-errors.ts'

export const chat: Dialect = {
  read(path, body) {
    if (!/\/chat\/completions$/.test(path)) return undefined
    return {
      model: String(body.model),
      stream: body.stream === true,
      messages: objects(body.messages).map(message),
      tools: objects(body.tools).map(tool => String(object(tool.function).name)),
    }
  },

  aside: (method, path) => (method === 'GET' && /\/models$/.test(path) ? { object: 'list', data: [] } : undefined),

  whole: (answer, asked) => ({
    ...opened(asked, 'chat.completion'),
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...said(answer) }, finish_reason: end(answer) }],
    usage: spent,
  }),

  *streamed(answer, asked) {
    const chunk = (choices: readonly Json[], more: Json = {}) =>
      [undefined, { ...opened(asked, 'chat.completion.chunk'), choices, ...more }] as const
    const { tool_calls, content } = said(answer)
    const calls = objects(tool_calls).map((call, index) => ({ index, ...call }))
    yield chunk([{ index: 0, delta: { role: 'assistant', content: content ?? '' }, finish_reason: null }])
    if (calls.length > 0) yield chunk([{ index: 0, delta: { tool_calls: calls }, finish_reason: null }])
    yield chunk([{ index: 0, delta: {}, finish_reason: end(answer) }])
    yield chunk([], { usage: spent })
    yield [undefined, '[DONE]']
  },

  trouble: openaiTrouble,
  credential: bearer,
}

const spent = {
  prompt_tokens: usage.input,
  completion_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  prompt_tokens_details: { cached_tokens: usage.cached },
}

function opened({ model }: Asked, kind: string): Json {
  return { id: freshId('chatcmpl-'), object: kind, created: Math.floor(Date.now() / 1000), model }
}

function said({ text, calls = [] }: Answer): Json {
  const tool_calls = calls.map(({ tool, input }) => ({
    id: freshId('call_'),
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(input) },
  }))
  return { ...(text !== undefined && { content: text }), ...(calls.length > 0 && { tool_calls }) }
}

function end({ calls = [] }: Answer): string {
  return calls.length > 0 ? 'tool_calls' : 'stop'
}

function message({ role, content }: Json): Message {
  if (role === 'tool') return { role: 'user', text: '', results: [textIn(content)] }
  const from = role === 'user' || role === 'assistant' ? role : 'system'
  return { role: from, text: textIn(content), results: [] }
}
