// Where a peer is reached (ALP-UNIX-07, ALP-TCP-10): at an address over TCP, or at the socket of the local profile that
// holds its key.
import { err, ok, type Result, refuse } from '@parley/core'
import { localError } from '../errors.ts'
import { alpiLayout, localSocket, parleyLayout } from '../identity/local.ts'

export interface HostPort {
  readonly host: string
  readonly port: number
}

export interface Target {
  /** The identity that must answer. */
  readonly identity: string
  readonly at: { readonly path: string } | HostPort
  /** The longest line that this peer is known to take on its Unix socket; every revision takes less (ALP-UNIX-04). */
  readonly lineBytes?: number
}

const ADDRESS = /^(.+):([0-9]+)$/s
const LAST_PORT = 65_535

/** ALP-TCP-10: split at the last colon. The host keeps its brackets, as in the reference, until it is dialled. */
export function parseAddress(address: string): Result<HostPort> {
  const [, host, port] = ADDRESS.exec(address) ?? []
  if (host === undefined || Number(port) > LAST_PORT)
    return refuse('link_bad_address', `"${address}" is not an address; write host:port, for example home-server:7423.`)
  return ok({ host, port: Number(port) })
}

/** The folders below which the profiles of this machine lie; Parley's are searched first. */
export interface ProfileRoots {
  readonly parley?: string
  readonly alpi?: string
}

/** The target of a peer of the list. */
export function targetOf(
  { id, pubkey, address }: { readonly id: string; readonly pubkey: string; readonly address?: string },
  { parley, alpi }: ProfileRoots,
): Result<Target> {
  if (address) {
    const at = parseAddress(address)
    return at.ok ? ok({ identity: pubkey, at: at.value }) : at
  }
  const own = parley === undefined ? [] : [parleyLayout(parley)]
  const path = localSocket(pubkey, alpi === undefined ? own : [...own, alpiLayout(alpi)])
  if (path !== undefined) return ok({ identity: pubkey, at: { path } })
  return err(
    localError(
      'target-offline',
      `${id} has no address, and no profile of this machine holds its key. If it moved, remove it and add it with its address; if its key changed, ask its owner for the new line.`,
    ),
  )
}
