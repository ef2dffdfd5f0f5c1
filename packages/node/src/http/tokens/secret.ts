// A token as its holder has it: `parley_<id>_<secret>`. The id is no secret; of the secret only the hash is kept. It
// has 256 random bits, so that a plain hash tells nothing.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567'
const FORM = /^parley_([a-z2-7]{12})_([\w-]{43})$/

export const TOKEN_ID = '^[a-z2-7]{12}$'

export function newTokenId(): string {
  return [...randomBytes(12)].map(byte => LETTERS[byte % LETTERS.length]).join('')
}

export function newSecret(id: string): string {
  return `parley_${id}_${randomBytes(32).toString('base64url')}`
}

export function hashOf(token: string): string {
  return hash('sha256', token, 'hex')
}

/** Of a token that does not exist: compared like any other, so that time does not tell which ids there are. */
const NOBODY = hashOf('')

/** The id in a token; undefined for a text of another form. */
export function idIn(token: string): string | undefined {
  return FORM.exec(token)?.[1]
}

export function matches(token: string, kept: string | undefined): boolean {
  const same = timingSafeEqual(Buffer.from(hashOf(token), 'hex'), Buffer.from(kept ?? NOBODY, 'hex'))
  return same && kept !== undefined
}
