// Tokens of turns: the holder may act inside one workspace while that turn runs. They are derived, never stored; each
// turn has its own epoch, so a process that outlived its turn is refused.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { invariant } from '@parley/core'

export interface TurnKey {
  readonly run: string
  readonly workspace: string
  readonly epoch: number
}

export function turnToken(secret: Uint8Array, { run, workspace, epoch }: TurnKey): string {
  invariant(Number.isSafeInteger(epoch) && epoch >= 0, 'a token belongs to one turn of its workspace')
  return `pws.${run}.${workspace}.${epoch}.${mac(secret, run, workspace, epoch)}`
}

/** Undefined for anything that was not made with this secret. */
export function readToken(secret: Uint8Array, token: string): TurnKey | undefined {
  const [kind, run, workspace, digits, given, ...more] = token.split('.')
  if (kind !== 'pws' || !run || !workspace || !/^\d{1,9}$/.test(digits ?? '') || !given || more.length > 0)
    return undefined
  const epoch = Number(digits)
  const expected = Buffer.from(mac(secret, run, workspace, epoch))
  const claimed = Buffer.from(given)
  if (expected.length !== claimed.length || !timingSafeEqual(expected, claimed)) return undefined
  return { run, workspace, epoch }
}

function mac(secret: Uint8Array, run: string, workspace: string, epoch: number): string {
  return createHmac('sha256', secret).update(`parley turn\n${run}\n${workspace}\n${epoch}`).digest('base64url')
}
