// Arguments, flags and parsing that the commands about peers share.
import type { Argument, Context, FlagValues } from '../../command.ts'
import { asFailure, Failure } from '../../failure.ts'
import type { PeerView } from '../../node/views.ts'
import { print, remark } from '../../output.ts'
import { peerLines } from '../../render/peers.ts'

export const PEER: Argument = { name: 'PEER', summary: 'A pinned peer; `parley peers` lists them' }

export const PIN_FLAGS = {
  alias: { value: 'TEXT', summary: 'A label for people' },
  address: {
    value: 'HOST:PORT',
    summary: 'Its address, if the invitation does not say; without one it is a profile on this machine',
  },
  allow: {
    value: 'METHODS',
    many: true,
    summary:
      'What it may do here: separated by commas, one flag each, or none (default: link.ping,link.ask). Others: link.cancel, and operations such as /runs/list',
  },
} as const

export function pinChoices({ alias, address, allow }: FlagValues<typeof PIN_FLAGS>) {
  return { alias, address, allow: allow.length > 0 ? methodsOf(allow) : undefined }
}

const NONE = 'none'

/** Separated by commas or spaces; `none` alone is an empty list. */
export function methodsOf(words: readonly string[]): readonly string[] {
  const methods = words.flatMap(word => word.split(/[\s,]+/)).filter(word => word !== '')
  if (methods.length === 1 && methods[0] === NONE) return []
  if (methods.length > 0 && !methods.includes(NONE)) return [...new Set(methods)]
  throw new Failure('usage', methods.length === 0 ? 'No method was given.' : "'none' must be the only method.", {
    why: 'The list is everything that a peer may do here.',
    next: 'Name methods, such as link.ping link.ask link.cancel, or none.',
  })
}

/** Adds advice to a refusal of a key that fits no stranger or several. */
export async function ofStranger<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (thrown) {
    const { code, message, details } = asFailure(thrown)
    if (code !== 'not_found' && code !== 'ambiguous') throw thrown
    throw new Failure(code, message, {
      next: '`parley peers pending` lists who called; give enough of the key to tell it from the others.',
      details,
      cause: thrown,
    })
  }
}

export function printPinned(context: Context, peer: PeerView): void {
  const { id } = peer
  print(context, { peer }, () => peerLines(peer))
  remark(
    context,
    `Compare the digits after 'aloud' with the owner of ${id} before you rely on it: they see theirs with \`parley id\`. If they differ: parley peers remove ${id}`,
  )
  remark(context, `Both directions work only when ${id} has pinned you too: \`parley id\` prints the line for that.`)
}
