// Public keys as people pass them on: one or more lines of base64, or the PEM of `alp_key.pub`.
import { err, ok, ParleyError, type Result } from '@parley/core'
import { isPublicKey, publicKeyOfPem } from '@parley/keys'
import { trailLimits } from '../limits.ts'

/** Refuses with `invalid_key`. Empty lines and those that begin with `#` are passed over. */
export function parsePublicKeys(text: string): Result<readonly string[]> {
  if (text.includes('-----BEGIN')) return fromPem(text)
  const lines = text.split('\n').map(line => line.trim())
  const keys = lines.filter(line => line !== '' && !line.startsWith('#'))
  if (keys.length === 0) return invalid('There is no key.')
  if (keys.length > trailLimits.keys) return invalid(`There are more than ${trailLimits.keys} keys.`)
  const wrong = keys.find(key => !isPublicKey(key))
  if (wrong !== undefined) return invalid(`${JSON.stringify(wrong.slice(0, 64))} is not a public key.`)
  return ok(keys)
}

function fromPem(text: string): Result<readonly string[]> {
  if (text.includes('PRIVATE KEY'))
    return invalid('This is a private key, which nobody else may see. The public one is alp_key.pub.')
  const key = publicKeyOfPem(text)
  return key === undefined ? invalid('The file holds no Ed25519 public key.') : ok([key])
}

function invalid(what: string): Result<never> {
  const message = `${what} A key is 44 characters of base64, as \`parley trail keys\` shows it, or the PEM of alp_key.pub.`
  return err(new ParleyError('invalid_key', message))
}
