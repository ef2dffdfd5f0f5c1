// The patterns of the schema, each with the words that say what it asks for: nobody should have to read an expression.
import { durationPattern, type PatternMeaning, sizePattern } from '@parley/core'

export const NAME_PATTERN = '^[a-z0-9][a-z0-9-]{0,63}$'
export const ID_PATTERN = '^[a-z0-9][a-z0-9_-]{0,63}$'
export const VARIABLE_PATTERN = '^[A-Za-z_][A-Za-z0-9_]*$'
/** No process can be given a NUL. */
export const WORD_PATTERN = '^[^\\u0000]*$'
/** Relative, with forward slashes, and never upwards. */
export const PATH_PATTERN = '^(?![/!])(?!(?:.*/)?\\.\\.(?:/|$))[^\\u0000-\\u001f\\\\]+$'

/** A duration, or no end. */
export const TIMEOUT_PATTERN = `${durationPattern}|^never$`

const named = (expected: string): PatternMeaning => ({ code: 'bad_name', expected })
const valued = (expected: string): PatternMeaning => ({ code: 'bad_value', expected })
const LETTERS = 'a name of 1 to 64 lower-case letters, digits'
const START = 'that starts with a letter or a digit'

export const MEANINGS: ReadonlyMap<string, PatternMeaning> = new Map([
  [NAME_PATTERN, named(`${LETTERS} and hyphens ${START}`)],
  [ID_PATTERN, named(`${LETTERS}, hyphens and underscores ${START}`)],
  [VARIABLE_PATTERN, named('the name of an environment variable: letters, digits and underscores')],
  [WORD_PATTERN, valued('text without NUL characters')],
  [
    PATH_PATTERN,
    valued("a path or glob inside the project, such as src/**: relative, with '/', without '..' and without '!'"),
  ],
  [durationPattern, valued('a duration with units, such as 90s, 10m or 1h30m')],
  [TIMEOUT_PATTERN, valued('a duration such as 90s or 10m, or never')],
  [sizePattern, valued('a size with a unit, such as 512KiB or 8MiB')],
])
