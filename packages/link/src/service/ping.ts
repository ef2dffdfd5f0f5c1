// link.ping (ALP-PING-01): who is there, and which protocol it speaks. Changes nothing.
import { ALP_VERSION } from '../envelope/envelope.ts'
import { dispatchErrors } from '../errors.ts'
import type { Method } from './methods.ts'

export function pingMethod(profile: string): Method {
  return ({ params: { nonce = '' } }) =>
    typeof nonce === 'string'
      ? { result: { nonce, version: ALP_VERSION, agent_name: profile } }
      : { error: dispatchErrors.invalidParams('nonce must be a text') }
}
