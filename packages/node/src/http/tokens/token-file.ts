// The file with the tokens of a profile: hashes and who they belong to, never a secret. It is replaced whole and only
// its owner can read it, whatever the mask of the process.
import { compile, err, ok, ParleyError, type Result, refuse, type Static, type Timestamp, Type } from '@parley/core'
import { machineDisk, writeWholeSync } from '@parley/keys/files'
import { object } from '../../object.ts'
import { httpLimits } from '../limits.ts'
import { TOKEN_SCOPES } from '../scopes.ts'
import { TOKEN_ID } from './secret.ts'

const Time = Type.Unsafe<Timestamp>(Type.String({ minLength: 1, maxLength: 40 }))

const TokenSchema = object({
  id: Type.String({ pattern: TOKEN_ID }),
  user: Type.String({ minLength: 1, maxLength: httpLimits.userLength }),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: httpLimits.tokenName })),
  scopes: Type.Array(Type.Enum([...TOKEN_SCOPES]), { minItems: 1 }),
  /** SHA-256 of the token, in hexadecimal; gone once it is revoked. */
  hash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
  created: Time,
  expires: Time,
  /** Of its last use, to the hour. */
  used: Type.Optional(Time),
  revoked: Type.Optional(Time),
})
export type StoredToken = Static<typeof TokenSchema>

const shape = compile(
  object({ version: Type.Literal(1), tokens: Type.Array(TokenSchema, { maxItems: httpLimits.tokens }) }),
)

/** Refuses with `tokens_unreadable`: then no token is good, and the file stays as it is. */
export function readTokens(file: string): Result<readonly StoredToken[]> {
  try {
    const bytes = machineDisk.read(file, httpLimits.tokenFileBytes)
    if (!bytes) return ok([])
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return shape.is(value) ? ok(value.tokens) : unreadable(file, 'it does not have the expected form')
  } catch (cause) {
    return unreadable(file, cause instanceof SyntaxError ? 'it is not JSON' : (cause as Error).message)
  }
}

function unreadable(file: string, why: string): Result<never> {
  const message = `The tokens in ${file} cannot be read: ${why}. No token works until the file is restored.`
  return refuse('tokens_unreadable', message, { details: { file } })
}

/** Durable when it returns. Refuses with `profile_unusable`. */
export function writeTokens(file: string, tokens: readonly StoredToken[]): Result<void> {
  try {
    writeWholeSync(machineDisk, file, Buffer.from(`${JSON.stringify({ version: 1, tokens }, null, 2)}\n`))
    return ok(undefined)
  } catch (cause) {
    const message = `${file} cannot be written: ${(cause as Error).message}`
    return err(new ParleyError('profile_unusable', message, { details: { file }, cause }))
  }
}
