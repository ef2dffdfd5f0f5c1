// OpenAI Responses: https://platform.openai.com/docs/api-reference/responses and /responses-streaming.
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

export const responses: Dialect = {
  read(path, body) {
    if (!/\/responses$/.test(path)) return undefined
    const system: Message = { role: 'system', text: String(body.instructions ?? ''), results: [] }
    const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : objects(body.input)
    // The newest models get their tools inside the input.
    const offered = [...objects(body.tools), ...input.flatMap(({ tools }) => objects(tools))]
    return {
      model: String(body.model),
      stream: body.stream === true,
      messages: [system, ...input.map(message)],
      tools: offered.flatMap(nameOf),
    }
  },

  aside: (method, path) => (method === 'GET' && /\/models$/.test(path) ? { object: 'list', data: [] } : undefined),

  whole: (answer, asked) => response(answer, asked, 'completed', items(answer)),

  *streamed(answer, asked) {
    const all = items(answer)
    const whole = response(answer, asked, 'completed', all)
    yield event('response.created', { response: { ...whole, status: 'in_progress', output: [], usage: null } })
    for (const [output_index, item] of all.entries()) {
      const { id: item_id } = item
      yield event('response.output_item.added', { output_index, item: { ...item, status: 'in_progress' } })
      if (item.type === 'message')
        yield event('response.output_text.delta', { item_id, output_index, content_index: 0, delta: answer.text })
      yield event('response.output_item.done', { output_index, item })
    }
    yield event('response.completed', { response: whole })
  },

  trouble: openaiTrouble,
  credential: bearer,
}

function event(type: string, rest: Json): readonly [string, Json] {
  return [type, { type, ...rest }]
}

function nameOf({ type, name, tools }: Json): readonly string[] {
  if (type === 'namespace') return objects(tools).map(tool => `${name}${tool.name}`)
  return [String(name ?? type)]
}

function items({ text, calls = [] }: Answer): readonly Json[] {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return [
    ...(text === undefined
      ? []
      : [{ type: 'message', id: freshId('msg_'), status: 'completed', role: 'assistant', content }]),
    ...calls.map(({ tool, input }) =>
      typeof input === 'string'
        ? { type: 'custom_tool_call', id: freshId('ctc_'), call_id: freshId('call_'), name: tool, input }
        : {
            type: 'function_call',
            id: freshId('fc_'),
            call_id: freshId('call_'),
            status: 'completed',
            name: tool,
            arguments: JSON.stringify(input),
          },
    ),
  ]
}

function response(_answer: Answer, { model }: Asked, status: string, output: readonly Json[]): Json {
  return {
    id: freshId('resp_'),
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status,
    error: null,
    model,
    output,
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input + usage.output,
    },
  }
}

function message(item: Json): Message {
  const { type, role, content, output } = item
  if (type === 'function_call_output' || type === 'custom_tool_call_output' || type === 'mcp_tool_call_output')
    return { role: 'user', text: '', results: [resultText(output)] }
  const from = role === 'user' ? 'user' : role === 'assistant' || role === undefined ? 'assistant' : 'system'
  return { role: from, text: textIn(content), results: [] }
}

function resultText(output: unknown): string {
  if (typeof output === 'string' || Array.isArray(output)) return textIn(output)
  return String(object(output).content ?? JSON.stringify(output))
}
