// A payload as text: what a block says where its content is the answer, and the words by which it is found.
import type { KbEnvelope } from '@alx/protocol'
import { kbLimits } from './limits.ts'

type Payload = KbEnvelope['payload']

/** The member that says it all, for types that have one. */
const SAYING: Readonly<Record<string, string>> = {
  synthesis: 'answer',
  promptEngineering: 'template',
  adaptation: 'adaptedContent',
  enhancement: 'enhancedContent',
}

/** Plain text for people and agents; cut where it is very long. */
export function renderPayload(payload: Payload): string {
  const member = SAYING[String(payload.type)]
  const said = member === undefined ? undefined : payload[member]
  if (typeof said === 'string' && said.trim() !== '') return cut(said, kbLimits.renderedLength)
  const { type: _, ...members } = payload
  const lines: string[] = []
  outline(members, '', lines, { left: kbLimits.renderedLength })
  return cut(lines.join('\n'), kbLimits.renderedLength)
}

/** Every text in the payload, without the names of its members. */
export function wordsOf({ domain, payload }: Pick<KbEnvelope, 'domain' | 'payload'>): string {
  const texts = [domain]
  collect(payload, texts, { left: kbLimits.indexedLength })
  return cut(texts.join('\n'), kbLimits.indexedLength)
}

interface Budget {
  left: number
}

function outline(value: unknown, indent: string, lines: string[], budget: Budget): void {
  const add = (line: string) => {
    lines.push(line)
    budget.left -= line.length + 1
  }
  for (const [name, member] of Object.entries(value as object)) {
    if (budget.left <= 0) return
    const label = Array.isArray(value) ? `${indent}-` : `${indent}${name}:`
    if (typeof member !== 'object' || member === null) add(`${label} ${String(member)}`)
    else if (Object.keys(member).length > 0) {
      add(label)
      outline(member, `${indent}  `, lines, budget)
    }
  }
}

function collect(value: unknown, texts: string[], budget: Budget): void {
  if (budget.left <= 0) return
  if (typeof value === 'string') {
    texts.push(value)
    budget.left -= value.length
  } else if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) collect(member, texts, budget)
  }
}

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`
}
