// What the node itself has to bring for its deployment model (W-SEC-13, -16): how the trail is opened, and over which
// carriers anybody may reach it. docs/guide/security.md says what each model protects.
import { lstatSync } from 'node:fs'
import type { Transport } from '@parley/call'
import { ParleyError } from '@parley/core'
import type { DeploymentModel } from '@parley/trail/events'

/** A place where the node is about to listen. */
export interface Listener {
  /** As `Transport.kind`: `unix`, `noise`, `tcp`, `tls`, `websocket`, … */
  readonly kind: string
  /** Both ends are authenticated by certificates; of `tls` only. */
  readonly mutual?: boolean
}

/**
 * Refuses to start with a listener that the model does not allow: what is not encrypted between two authenticated ends.
 */
export function requireListeners(model: DeploymentModel, listeners: readonly Listener[]): void {
  if (model === 'single-runtime') return
  const open = listeners.filter(({ kind, mutual }) => !isSheltered(kind) && !(kind === 'tls' && mutual))
  if (open.length > 0) {
    const kinds = open.map(({ kind }) => kind).join(', ')
    throw unmet(
      model,
      `takes connections over a Unix socket, over Noise between pinned keys, or over TLS with certificates on both sides, not over ${kinds}`,
    )
  }
}

/**
 * A Unix socket is for this user alone. Noise XK (ALP-NOISE) encrypts, the one who calls knows the key of the node
 * before, and the node serves only who has proved to hold a pinned one: both ends are as certain as with certificates
 * on both sides.
 */
function isSheltered(kind: string): boolean {
  return kind === 'unix' || kind === 'noise'
}

/**
 * The same for each connection, whatever listener accepts it: TLS and Noise have authenticated the other end, or there
 * is no connection.
 */
export function admits(model: DeploymentModel, { kind, identity }: Pick<Transport, 'kind' | 'identity'>): boolean {
  if (model === 'single-runtime' || kind === 'unix') return true
  return (kind === 'tls' || kind === 'noise') && identity !== undefined
}

/** The socket is for this user alone: its file is the lock on the door (W-SEC-16). */
export function requireOwnSocket(model: DeploymentModel, socket: string): void {
  if (model === 'single-runtime') return
  const { mode, uid } = lstatSync(socket)
  const user = process.getuid?.()
  if ((mode & 0o077) === 0 && (user === undefined || uid === user)) return
  throw unmet(model, `needs a socket that nobody else can reach, and ${socket} has mode ${(mode & 0o777).toString(8)}`)
}

function unmet(model: DeploymentModel, what: string): ParleyError {
  const message = `The deployment model '${model}' ${what}. The node was not started.`
  return new ParleyError('unsupported', message, { details: { reason: 'unmet_deployment_model', model } })
}
