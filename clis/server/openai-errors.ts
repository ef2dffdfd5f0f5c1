// Errors of OpenAI, for both of its APIs: https://platform.openai.com/docs/guides/error-codes.
import type { Trouble, Written } from './dialect.ts'

const RESET = 3 * 60 * 60

export function openaiTrouble(trouble: Trouble): Written {
  switch (trouble) {
    case 'unauthorized': {
      const words =
        'Incorrect API key provided: dummy. You can find your API key at https://platform.openai.com/account/api-keys.'
      return error(401, { message: words, type: 'invalid_request_error', param: null, code: 'invalid_api_key' })
    }
    case 'rate_limited': {
      const words =
        'Rate limit reached for model in organization org-dummy on tokens per min (TPM): Limit 30000, Used 30000, Requested 1000. Please try again in 20s.'
      return error(
        429,
        { message: words, type: 'tokens', param: null, code: 'rate_limit_exceeded' },
        { 'retry-after': '20', 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '20s' },
      )
    }
    case 'server_error': {
      const words = 'The server had an error while processing your request. Sorry about that!'
      return error(500, { message: words, type: 'server_error', param: null, code: null })
    }
    case 'overloaded': {
      const words = 'The engine is currently overloaded, please try again later'
      return error(503, { message: words, type: 'server_error', param: null, code: 'server_is_overloaded' })
    }
    case 'no_credit': {
      const words =
        'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.'
      return error(429, { message: words, type: 'insufficient_quota', param: null, code: 'insufficient_quota' })
    }
    case 'subscription_limit':
      return error(429, {
        type: 'usage_limit_reached',
        message: 'The usage limit has been reached',
        plan_type: 'plus',
        resets_at: Math.floor(Date.now() / 1000) + RESET,
        resets_in_seconds: RESET,
      })
  }
}

function error(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Written {
  return { status, headers, body: { error: body } }
}
