// Gemini generateContent and streamGenerateContent: https://ai.google.dev/api/generate-content; errors as of
// https://ai.google.dev/gemini-api/docs/troubleshooting, with details as https://cloud.google.com/apis/design/errors
// describes them.
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

export const gemini: Dialect = {
  read(path, body) {
    const found = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/.exec(path)
    if (!found) return undefined
    const system: Message = { role: 'system', text: textIn(object(body.systemInstruction).parts), results: [] }
    return {
      model: found[1]!,
      stream: found[2] === 'streamGenerateContent',
      messages: [system, ...objects(body.contents).map(message)],
      tools: objects(body.tools).flatMap(tool => objects(tool.functionDeclarations).map(({ name }) => String(name))),
    }
  },

  aside(method, path) {
    if (/:countTokens$/.test(path)) return { totalTokens: usage.input }
    if (method === 'GET' && /\/models$/.test(path)) return { models: [] }
    return undefined
  },

  whole: response,

  *streamed(answer, asked) {
    yield [undefined, response(answer, asked)]
  },

  trouble(trouble) {
    switch (trouble) {
      case 'unauthorized': {
        const info = { '@type': `${TYPES}/google.rpc.ErrorInfo`, reason: 'API_KEY_INVALID', domain: 'googleapis.com' }
        return error(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [info])
      }
      case 'rate_limited':
        return error(429, 'RESOURCE_EXHAUSTED', QUOTA, [quota('PerMinute'), retry])
      case 'server_error': {
        const words =
          'An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting'
        return error(500, 'INTERNAL', words)
      }
      case 'overloaded':
        return error(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.')
      case 'subscription_limit':
        return error(429, 'RESOURCE_EXHAUSTED', QUOTA, [quota('PerDay')])
      case 'no_credit': {
        const words =
          'Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.'
        return error(429, 'RESOURCE_EXHAUSTED', words)
      }
    }
  },

  credential: headers => [headers['x-goog-api-key']].flat()[0] ?? bearer(headers),
}

const TYPES = 'type.googleapis.com'
const QUOTA =
  'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.'
const retry = { '@type': `${TYPES}/google.rpc.RetryInfo`, retryDelay: '20s' }

function quota(span: 'PerMinute' | 'PerDay'): Json {
  const violation = {
    quotaMetric: 'generativelanguage.googleapis.com/generate_content_free_tier_requests',
    quotaId: `GenerateRequests${span}PerProjectPerModel-FreeTier`,
    quotaValue: '10',
  }
  return { '@type': `${TYPES}/google.rpc.QuotaFailure`, violations: [violation] }
}

function response({ text, calls = [] }: Answer, { model }: Asked): Json {
  const parts = [
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(({ tool, input }) => ({ functionCall: { id: freshId('call_'), name: tool, args: input } })),
  ]
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: {
      promptTokenCount: usage.input,
      cachedContentTokenCount: usage.cached,
      candidatesTokenCount: usage.output,
      totalTokenCount: usage.input + usage.output,
    },
    modelVersion: model,
    responseId: freshId('response_'),
  }
}

function message({ role, parts }: Json): Message {
  const results = objects(parts)
    .filter(({ functionResponse }) => functionResponse !== undefined)
    .map(({ functionResponse }) => JSON.stringify(object(functionResponse).response))
  return { role: role === 'model' ? 'assistant' : 'user', text: textIn(parts), results }
}

function error(code: number, status: string, words: string, details: readonly Json[] = []) {
  return { status: code, body: { error: { code, message: words, status, details } } }
}
