// Arguments, flags and readings that the commands about peers share.
import type { Argument } from '../../command.ts'
import { asFailure, Failure } from '../../failure.ts'
import type { PeerView } from '../../node/views.ts'

export const PEER: Argument = { name: 'PEER', summary: 'A pinned peer; `parley peers` lists them' }

export const PIN_FLAGS = {
  alias: { type: 'text', value: 'TEXT', summary: 'A label for people' },
  address: {
    type: 'text',
    value: 'HOST:PORT',
    summary: 'Its address, if the invitation does not say; without one it is a profile on this machine',
  },
  allow: {
    type: 'text',
    value: 'METHODS',
    many: true,
    summary:
      'What it may do here: separated by commas, one flag each, or none (default: link.ping,link.ask). Others: link.cancel, and operations such as /runs/list',
  },
} as const

interface PinValues {
  readonly alias: string | undefined
  readonly address: string | undefined
  readonly allow: readonly string[]
}

/** Only what was given: the node knows the defaults. */
export function pinChoices({ alias, address, allow }: PinValues) {
  return { alias, address, allow: allow.length > 0 ? methodsOf(allow) : undefined }
}

const NONE = 'none'

/** Words with commas or spaces between; `none` alone is an empty list. */
export function methodsOf(words: readonly string[]): readonly string[] {
  const methods = words.flatMap(word => word.split(/[\s,]+/)).filter(word => word !== '')
  if (methods.length === 1 && methods[0] === NONE) return []
  if (methods.length > 0 && !methods.includes(NONE)) return [...new Set(methods)]
  throw new Failure('usage', methods.length === 0 ? 'No method was given.' : "'none' must be the only method.", {
    why: 'The list is everything that a peer may do here.',
    next: 'Name methods, such as link.ping link.ask link.cancel, or none.',
  })
}

/** A key that fits no stranger, or several, with what helps. */
export function strangerFailure(thrown: unknown): Failure {
  const failure = asFailure(thrown)
  const { code, message, details } = failure
  if (code !== 'not_found' && code !== 'ambiguous') return failure
  return new Failure(code, message, {
    next: '`parley peers pending` lists who called; give enough of the key to tell it from the others.',
    details,
    cause: thrown,
  })
}

/** What is to be said wherever somebody was pinned. */
export function pinnedRemarks({ id }: PeerView): readonly string[] {
  return [
    `Compare the digits after 'aloud' with the owner of ${id} before you rely on it: they see theirs with \`parley id\`. If they differ: parley peers remove ${id}`,
    `Both directions work only when ${id} has pinned you too: \`parley id\` prints the line for that.`,
  ]
}
