// Where a peer is reached (ALP-UNIX-07, ALP-TCP-10): an address for TCP, or the socket of the profile on this machine
// that holds its key.
import { err, ok, type ParleyError, type Result, refuse } from '@parley/core'
import { localError } from '../errors.ts'
import { localSocket, type ProfileLayout } from '../identity/local.ts'

export interface Target {
  /** The identity that must answer. */
  readonly identity: string
  readonly at: { readonly path: string } | { readonly host: string; readonly port: number }
  /**
   * The most bytes of a line on the Unix socket, where the peer is known to take more than every revision does
   * (ALP-UNIX-04).
   */
  readonly lineBytes?: number
}

/** What a peer's entry says that matters here. */
export interface Reachable {
  readonly id: string
  readonly pubkey: string
  readonly address?: string | null
}

const DIGITS = /^[0-9]+$/
const LAST_PORT = 65_535

/**
 * ALP-TCP-10: split at the last colon. Brackets stay in the host as in the reference, and are taken off when dialling.
 */
export function parseAddress(address: string): Result<{ host: string; port: number }, ParleyError> {
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, Math.max(0, colon))
  const port = address.slice(colon + 1)
  if (colon < 0 || host === '' || !DIGITS.test(port) || Number(port) > LAST_PORT)
    return refuse('link_bad_address', `"${address}" is no address; write host:port, for example home-server:7423.`)
  return ok({ host, port: Number(port) })
}

export function targetOf(peer: Reachable, layouts: readonly ProfileLayout[]): Result<Target, ParleyError> {
  if (peer.address) {
    const at = parseAddress(peer.address)
    return at.ok ? ok({ identity: peer.pubkey, at: at.value }) : at
  }
  const path = localSocket(peer.pubkey, layouts)
  if (path !== undefined) return ok({ identity: peer.pubkey, at: { path } })
  return err(
    localError(
      'target-offline',
      `${peer.id} has no address, and no profile of this machine holds its key. If it moved, remove it and add it with its address; if its key changed, ask its owner for the new line.`,
    ),
  )
}
