// When two intents are the same one: apart from upper case, white space and how characters are composed.
import type { KbEnvelope, SolveIntentShape } from '@alx/protocol'
import { intentOfProcedure } from './procedure.ts'

export function intentKey({ verb, target, domain }: SolveIntentShape): string {
  return key(domain, `${verb} ${target}`)
}

/** The intent that a block is an answer to; only a procedure and a synthesis have one. */
export function intentKeyOf({ type, domain, payload }: KbEnvelope): string | undefined {
  if (type === 'synthesis' && typeof payload.question === 'string') {
    // What a run made asks `deploy api (engineering)`, as a session's intent is written (ALX-SESS-06).
    const scope = ` (${domain})`
    const { question } = payload
    return key(domain, question.endsWith(scope) ? question.slice(0, -scope.length) : question)
  }
  const intent = type === 'procedure' ? intentOfProcedure(payload) : undefined
  return intent && intentKey({ ...intent, domain })
}

function key(domain: string, text: string): string {
  return `${plain(domain)}\n${plain(text)}`
}

function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()
}
