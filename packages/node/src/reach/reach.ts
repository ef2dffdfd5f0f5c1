// A client of a node that is this user's own: each connection, the first and every later one, goes to a socket that is
// looked at before and to a node that has proved that it holds the profile's key. Small, since commands inside a turn
// read nothing else of this package.
import { dirname } from 'node:path'
import { CallError, type Client, connectClient, connectUnix, type Link, type Transport } from '@parley/call'
import { type Clock, ParleyError } from '@parley/core'
import { nodeTimes } from '../limits.ts'
import type { NodeOperations } from '../operations/index.ts'
import { folderProblem, ownSocket, untrusted } from './own-socket.ts'
import { askForProof, unproven } from './proof.ts'

export interface Place {
  /** Asked before each connection: a node that was started again may listen elsewhere. */
  readonly socket: () => string
  /** The profile's folder, whose public keys count; undefined where the caller does not know it. */
  readonly folder: string | undefined
  /** For an agent, which may be kept from reading the profile: without its keys there is no proof. */
  readonly keyless?: boolean
  readonly clock: Clock
  readonly maxAttempts: number
}

/**
 * `unanswered`: it does not know the question, as a node of an older version. `unreadable`: an agent cannot see the
 * profile's keys.
 */
type ProofState = 'proven' | 'unanswered' | 'unreadable'

type Reached =
  /** `strange`: what a node is refused with that left the question for its proof unanswered. */
  | { readonly kind: 'reached'; readonly client: Client<NodeOperations>; readonly strange: ParleyError | undefined }
  /** Nobody is there, or who was there is leaving. */
  | { readonly kind: 'absent'; readonly cause?: unknown }
  /** Errors: `socket_untrusted`, `node_unproven`, and what the call protocol or the system says. */
  | { readonly kind: 'failed'; readonly error: unknown }

export async function reachNode(place: Place): Promise<Reached> {
  const { clock, maxAttempts } = place
  let first: Dialled | undefined
  try {
    first = await dial(place)
  } catch (cause) {
    return absent(cause) ? { kind: 'absent', cause } : { kind: 'failed', error: cause }
  }
  let at: Dialled = first
  let begun = false
  let proof: ProofState = 'unanswered'
  let wrong: unknown
  const client = connectClient<NodeOperations>({
    dial: async () => {
      const next = first ?? (await dial(place))
      first = undefined
      at = next
      return next.transport
    },
    prepare: async link => {
      try {
        proof = await prove(link, at, place, !begun)
        begun = true
      } catch (thrown) {
        // Another attempt would meet the same stranger; a connection that was lost may meet the next node.
        if (link.violated) wrong = unanswered(place.folder, at.path)
        else if (!lost(thrown) && !replaced(at)) wrong = thrown
        if (wrong !== undefined) client.close(wrong instanceof Error ? wrong.message : String(wrong))
        throw thrown
      }
    },
    clock,
    maxAttempts,
  })
  try {
    await client.ready()
    const strange = proof === 'unanswered' ? unanswered(place.folder, at.path) : undefined
    return { kind: 'reached', client, strange }
  } catch (cause) {
    client.close()
    return wrong === undefined ? { kind: 'absent', cause } : { kind: 'failed', error: wrong }
  }
}

interface Dialled {
  readonly transport: Transport
  readonly path: string
  readonly identity: string
}

async function dial({ socket: where, folder, keyless = false }: Place): Promise<Dialled> {
  const socket = where()
  const own = ownSocket(socket)
  if (!own.ok) throw own.error
  if (own.value === undefined) throw Object.assign(new Error(`there is no ${socket}`), { code: 'ENOENT' })
  // The proof rests on what lies in this folder.
  const wrong = folder === undefined || folder === dirname(socket) || keyless ? undefined : folderProblem(folder)
  if (folder !== undefined && wrong) throw untrusted(socket, folder, wrong).error
  return { transport: await connectUnix(socket), path: socket, identity: own.value }
}

/**
 * Whether another socket lies there by now: a node that starts replaces the one that a killed node has left, and then
 * the answer of the new one is about another socket than was looked at.
 */
function replaced({ path, identity }: Dialled): boolean {
  const now = ownSocket(path)
  return now.ok && now.value !== identity
}

/**
 * `tolerant`: the caller judges a node that does not know the question; after the first connection there is no caller
 * to do so.
 */
async function prove(link: Link, at: Dialled, place: Place, tolerant: boolean): Promise<ProofState> {
  const { folder, keyless = false, clock } = place
  if (folder === undefined) return 'unreadable'
  const request = { folder, path: at.path, socket: at.identity, timeout: nodeTimes.hello }
  const deadline = clock.now() / 1000 + nodeTimes.rotation
  for (;;) {
    try {
      const how = await askForProof(link, request)
      if (how === 'proven') return how
      if (how === 'unproven') {
        if (keyless) return 'unreadable'
        throw unproven(request, "the profile's key, and the profile has no public one to check it with")
      }
      if (clock.now() / 1000 >= deadline) throw unproven(request, "the profile's present key")
    } catch (thrown) {
      if (tolerant && thrown instanceof CallError && thrown.code === 'NOT_FOUND') return 'unanswered'
      throw thrown
    }
    // The key is being replaced at this moment.
    await new Promise<void>(resolve => clock.after(nodeTimes.retry, resolve))
  }
}

function absent(thrown: unknown): boolean {
  const { code } = thrown as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR' || code === 'EPIPE' || code === 'ECONNRESET'
}

/** The connection went away under the question: a node that stops. */
export function lost(thrown: unknown): boolean {
  if (!(thrown instanceof CallError)) return false
  return thrown.code === 'UNAVAILABLE' || (thrown.code === 'INTERNAL' && thrown.message === 'connection closed')
}

function unanswered(folder: string | undefined, socket: string): ParleyError {
  return unproven({ folder: folder ?? 'of this turn', path: socket }, "the profile's key")
}

export function unreachable(socket: string, cause: unknown): ParleyError {
  const message =
    cause instanceof CallError
      ? `The node at ${socket} does not answer as a node does (${cause.code}: ${cause.message}). Its log may say why.`
      : `The node at ${socket} cannot be reached (${(cause as Error).message}). Check who owns the socket and its modes.`
  return new ParleyError('node_unreachable', message, { details: { socket }, cause })
}
