// The conformance level (§12.2): what a runtime claims. It declares one and does not open without what that level
// takes; from level 2 on everybody is authenticated (§11.3) and every message carries a proof (§11.4).
import { ParleyError } from '@parley/core'

export const LEVELS = [1, 2, 3] as const
export type Level = (typeof LEVELS)[number]

export const LEVEL: Level = 3

interface Guards {
  readonly secret: boolean
  readonly users: boolean
}

export function requireLevel(declared: Level | undefined, { secret, users }: Guards): Level {
  const level = declared ?? LEVEL
  if (!LEVELS.includes(level))
    throw new ParleyError('invalid_argument', `There is no level ${level}; there are ${LEVELS.join(', ')}.`, {
      details: { reason: 'unknown_level' },
    })
  if (level === 1) return level
  const missing = [
    ...(secret ? [] : ["`secret`, the profile's secret from which proofs of messages are made"]),
    ...(users ? [] : ["`users`, a directory of people, or 'house' for the runtime's own"]),
  ]
  if (missing.length > 0)
    throw new ParleyError(
      'unsupported',
      `Level ${level} needs ${missing.join(', and ')}. Nothing was started. Bring what is missing, or declare level 1, at which nobody is authenticated.`,
      { details: { reason: 'unmet_level', level, missing } },
    )
  return level
}
