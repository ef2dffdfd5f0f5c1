// Reaching the node of a profile: over its socket, and by starting one in the background where nobody listens. Callers
// at the same moment end up with the same node, since only one gets the profile.
import { homedir } from 'node:os'
import type { Client } from '@parley/call'
import { probeMachine } from '@parley/coordinator'
import {
  type Clock,
  err,
  machineFaultOf,
  machineFaultText,
  ok,
  ParleyError,
  type Result,
  SystemClock,
} from '@parley/core'
import { NODE_EXIT } from './exit.ts'
import { nodeTimes } from './limits.ts'
import { logTail } from './log/log-tail.ts'
import type { NodeOperations } from './operations/index.ts'
import type { NodeStatus } from './operations/node.ts'
import { chosenPaths, type Environment, type ProfilePaths, prepareProfile } from './profile/paths.ts'
import { readNodeFile } from './reach/node-file.ts'
import { lost, reachNode, unreachable } from './reach/reach.ts'
import { type SpawnedNode, spawnNode } from './spawn-node.ts'
import { NODE_VERSION } from './version.ts'

export type NodeClient = Client<NodeOperations>

export interface ConnectOptions {
  /** The environment's profile, or `default`, if not given. */
  readonly profile?: string
  /** Starts a node where none answers. */
  readonly start?: boolean
  readonly env?: Environment
  /** The user's own folder. */
  readonly home?: string
  /** Sent with the first question; calls carry their own (`authToken`). */
  readonly token?: string
  /** A node of another version is good enough, for instance to stop it. */
  readonly anyVersion?: boolean
  /** Attempts to reach the node again once it was reached and lost; 3 by default. */
  readonly maxAttempts?: number
  readonly clock?: Clock
  /** The script of the background process; for tests. */
  readonly entry?: string
}

export interface NodeConnection {
  readonly client: NodeClient
  readonly paths: ProfilePaths
  /** Undefined for the agent of a turn: it may not ask. */
  readonly status: NodeStatus | undefined
  /** The node was started for this. */
  readonly started: boolean
}

/**
 * Refusals: `node_not_running` (nobody listens, and `start` was not asked for), `node_start_failed` (details: `log`),
 * `machine_fault`, `node_unreachable`, `version_mismatch`, `socket_untrusted`, `node_unproven`, `profile_unusable`,
 * `invalid_profile`. The caller closes the client.
 */
export async function connectNode(options: ConnectOptions = {}): Promise<Result<NodeConnection>> {
  const { env = process.env, home = homedir(), clock = new SystemClock() } = options
  const paths = chosenPaths(options.profile, env, home)
  if (!paths.ok) return paths
  return new Reach(paths.value, { ...options, env, clock }).connect()
}

class Reach {
  readonly #paths: ProfilePaths
  readonly #options: ConnectOptions & { readonly env: Environment; readonly clock: Clock }
  readonly #deadline: number
  #child: SpawnedNode | undefined
  #spawned = Number.NEGATIVE_INFINITY

  constructor(paths: ProfilePaths, options: ConnectOptions & { readonly env: Environment; readonly clock: Clock }) {
    this.#paths = paths
    this.#options = options
    this.#deadline = this.#now() + nodeTimes.start
  }

  async connect(): Promise<Result<NodeConnection>> {
    for (;;) {
      const reached = await this.#hello()
      if (reached) return reached
      if (!this.#options.start) return err(notRunning(this.#paths))
      const failed = this.#startIfNeeded()
      if (failed) return err(await this.#ofMachine(failed))
      if (this.#now() >= this.#deadline) return err(this.#notStarted('It did not answer in time.'))
      await this.#pause(nodeTimes.retry)
    }
  }

  /** Undefined where nobody is there, or who was there is leaving. */
  async #hello(): Promise<Result<NodeConnection> | undefined> {
    const { token, anyVersion = false } = this.#options
    const reached = await reachNode({
      socket: () => this.#socket(),
      folder: this.#paths.folder,
      keyless: token !== undefined,
      clock: this.#options.clock,
      maxAttempts: this.#options.maxAttempts ?? 3,
    })
    if (reached.kind === 'absent') return undefined
    if (reached.kind === 'failed') return err(this.#failure(reached.error))
    const { client, strange } = reached
    if (token !== undefined) {
      if (!strange) return ok(this.#connection(client, undefined))
      client.close()
      return err(strange)
    }
    const { result } = await client.invoke('node', 'status', {}, { timeout: nodeTimes.hello, type: 'query' })
    if (result.ok) {
      // Only a node that is older than the question may leave it unanswered, and nobody sends that one more than the
      // wish to stop.
      const wrong = mismatch(result.value) ?? strange
      if (!wrong || (anyVersion && wrong.code === 'version_mismatch')) return ok(this.#connection(client, result.value))
      client.close()
      return err(wrong)
    }
    client.close()
    return lost(result.error) ? undefined : err(this.#failure(result.error))
  }

  #failure(error: unknown): ParleyError {
    return error instanceof ParleyError ? error : unreachable(this.#socket(), error)
  }

  /** A child that came second must not become a node later, when the first has stopped. */
  #connection(client: NodeClient, status: NodeStatus | undefined): NodeConnection {
    const started = status !== undefined && this.#child?.pid === status.pid
    if (status && !started) this.#child?.end()
    return { client, paths: this.#paths, status, started }
  }

  /** Where the node itself says it listens; the system's temporary folder need not be the same for everybody. */
  #socket(): string {
    return this.#options.env.PARLEY_SOCKET || (readNodeFile(this.#paths.nodeFile)?.socket ?? this.#paths.socket)
  }

  /**
   * One at a time. A child that found the profile in use leaves the field to the other; if that one leaves too, there
   * is another try.
   */
  #startIfNeeded(): ParleyError | undefined {
    const ended = this.#child?.ended()
    if (this.#child && !ended) return undefined
    if (ended?.code === NODE_EXIT.machineFault) return this.#notStarted('Its machine is at fault.', 'machine_fault')
    if (ended && ended.code !== NODE_EXIT.profileInUse && ended.code !== NODE_EXIT.clean)
      return this.#notStarted(`It ended with ${ended.code === null ? 'a signal' : `code ${ended.code}`}.`)
    if (this.#now() - this.#spawned < nodeTimes.respawn) return undefined
    const prepared = prepareProfile(this.#paths)
    if (!prepared.ok) return prepared.error
    try {
      this.#child = spawnNode(this.#paths, this.#options.env, this.#options.entry)
    } catch (cause) {
      return new ParleyError('node_start_failed', `A node could not be started: ${String(cause)}`, { cause })
    }
    this.#spawned = this.#now()
    return undefined
  }

  #notStarted(why: string, code = 'node_start_failed'): ParleyError {
    const { log } = this.#paths
    const lines = logTail(log)
    const shown = lines.length === 0 ? '' : ` Its last lines:\n${lines.map(line => `  ${line}`).join('\n')}`
    const message = `The node of profile '${this.#paths.profile}' did not start. ${why} Its log is ${log}.${shown}`
    return new ParleyError(code, message, {
      retryable: true,
      details: { log, lines, pid: this.#child?.pid },
    })
  }

  /** A node that the machine kept from starting: the disk says why, since the process that ended cannot. */
  async #ofMachine(failed: ParleyError): Promise<ParleyError> {
    const known = machineFaultOf(failed)
    if (!known && this.#child?.ended()?.code !== NODE_EXIT.machineFault) return failed
    const { folder, profile } = this.#paths
    const fault = (await probeMachine(undefined, [folder])) ?? known
    if (!fault) return failed
    const message = `No node of profile '${profile}' can start: ${machineFaultText(fault)}. Nothing was started, and nothing has failed; ask again when that is over.`
    return new ParleyError('machine_fault', message, {
      retryable: true,
      details: { ...failed.details, system: fault.code, path: fault.where ?? folder },
      cause: failed,
    })
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise(resolve => this.#options.clock.after(milliseconds, resolve))
  }

  #now(): number {
    return this.#options.clock.now() / 1000
  }
}

function notRunning({ profile, socket }: ProfilePaths): ParleyError {
  const message = `No node is running for profile '${profile}'. Start one with: parley up`
  return new ParleyError('node_not_running', message, { retryable: true, details: { profile, socket } })
}

function mismatch({ version, pid, profile }: NodeStatus): ParleyError | undefined {
  if (version === NODE_VERSION) return undefined
  const message = `This is Parley ${NODE_VERSION}, but the node of profile '${profile}' (process ${pid}) is ${version}. When its runs may pause, stop it and run the command again: a node of the new version goes on with them.`
  return new ParleyError('version_mismatch', message, {
    details: { client: NODE_VERSION, node: version, pid },
  })
}
