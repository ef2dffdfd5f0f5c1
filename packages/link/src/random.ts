// Random bytes for ids and nonces, which are not secret: fetched from the system many at a time, since one call for
// each costs more than writing the message that it is for.
import { randomBytes } from 'node:crypto'

const POOL_BYTES = 4096
let pool: Buffer = Buffer.alloc(0)
let at = 0

/** As lowercase hex. Every byte of the pool is used once. */
export function randomHex(bytes: number): string {
  if (at + bytes > pool.length) {
    pool = randomBytes(POOL_BYTES)
    at = 0
  }
  at += bytes
  return pool.toString('hex', at - bytes, at)
}
