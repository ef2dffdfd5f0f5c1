// The check of the profile's key: the same look as at the start of a node, which refuses one that is lost, damaged or exchanged.
import type { ParleyError } from '@parley/core'
import { oneLine } from '../render/text.ts'
import { type Finding, ok, problem } from './check.ts'

const CHECK = 'key'

export function key(wrong: ParleyError | undefined): Finding {
  if (!wrong) return ok(CHECK, 'matches what the profile knows, or there is none yet')
  // The message says what is wrong, and from there on what to do about it.
  const [what, ...next] = oneLine(wrong.message).split(/(?<=\.) (?=Restore )/)
  return problem(
    CHECK,
    `${what} (${wrong.code})`,
    next.join(' ') || 'Look at the files in alp/secrets and at trail/keys.json. Until then no node starts.',
  )
}
