// WG-01: every wire shape of ALX is defined in @alx/protocol. Nothing else may declare a type of its names, or one of
// its vocabularies under whatever name: two definitions would drift apart.
import * as protocol from '@alx/protocol'

const VOCABULARIES = {
  RUN_EVENT_TYPES: protocol.RUN_EVENT_TYPES,
  SESSION_TIMELINE_EVENT_TYPES: protocol.SESSION_TIMELINE_EVENT_TYPES,
  SESSION_STATUSES: protocol.SESSION_STATUSES,
  ERROR_CODES: protocol.ERROR_CODES,
}
export const ALX_NAMES: readonly string[] = [
  ...Object.keys(protocol.jsonSchemas()),
  'RunEventType',
  'SessionStatus',
  'SessionTimelineEventType',
  ...Object.keys(VOCABULARIES),
]

const names = ALX_NAMES.join('|')
const DECLARATION = new RegExp(
  `\\b(?:(?:interface|class|enum)\\s+(${names})\\b|type\\s+(${names})\\s*(?:<[^=]*>)?\\s*=|(?:const|let|var)\\s+(${names})\\s*[=:])`,
  'g',
)
const LIST = /\[(?:\s*(['"])[\w.]+\1\s*(?:,|(?=\])))+\s*\]/g

/** What a file of code declares that is @alx/protocol's. */
export function redeclared(file: string, source: string): readonly string[] {
  if (!/\.[cm]?tsx?$/.test(file) || file.startsWith('packages/protocol/')) return []
  const types = [...source.matchAll(DECLARATION)].map(found => found.slice(1).find(Boolean))
  const lists = [...source.matchAll(LIST)].flatMap(([list]) => {
    const members = new Set(list.match(/[\w.]+/g))
    const copied = Object.entries(VOCABULARIES).find(([, all]) => all.every(member => members.has(member)))
    return copied ? [copied[0]] : []
  })
  return [...types, ...lists].map(name => `${file} declares ${name}; import it from @alx/protocol (WG-01)`)
}
