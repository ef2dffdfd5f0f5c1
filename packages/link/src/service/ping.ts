// link.ping (ALP-PING-01): who is there, and which protocol it speaks. Changes nothing.
import { ALP_VERSION } from '../envelope/envelope.ts'
import type { WireValue } from '../json/value.ts'
import { wireText } from '../json/write.ts'
import type { Method } from './methods.ts'

export function pingMethod(profile: string): Method {
  return ({ params }) => ({
    result: { nonce: textOf(params.nonce), version: ALP_VERSION, agent_name: profile },
  })
}

/** As Python writes values that are no text. */
function textOf(value: WireValue | undefined): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return wireText(value)
}
