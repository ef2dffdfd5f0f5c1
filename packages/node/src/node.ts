// A node: the profile's one process. It opens what the others work with, wires it, offers it on the socket, and takes
// it down again in the reverse order. It decides nothing itself.
import { rmSync } from 'node:fs'
import type { AgentFunction } from '@parley/agents'
import { CallError, CallNode, type Listening, listenUnix, OperationRegistry, type Transport } from '@parley/call'
import { type Coordination, Coordinator, type CoordinatorOptions, type Machine } from '@parley/coordinator'
import { type Clock, err, formatTimestamp, ok, type Result, SystemClock } from '@parley/core'
import type { StoragePolicy } from '@parley/kernel'
import { ALP_ORIGIN } from '@parley/link'
import { ContentCipher, openTrail, profileSigner, type Trail } from '@parley/trail'
import { agentAdapter } from './agents/adapter.ts'
import { AwayAgents } from './agents/away.ts'
import { agentDirectory } from './agents/directory.ts'
import { worksWithoutFolder } from './agents/kinds.ts'
import { NodeAlx } from './alx/node-alx.ts'
import { liveDailyUsd } from './config/live-daily-usd.ts'
import type { Config } from './config/load.ts'
import { storePassphrase } from './config/store-passphrase.ts'
import { orDamagedRuns } from './damaged-runs.ts'
import { admits, type Listener, requireListeners, requireOwnSocket } from './deployment.ts'
import { Commits } from './http/commits.ts'
import type { HttpMount } from './http/mount.ts'
import { HttpSurface, httpListeners, type SurfaceBounds } from './http/surface.ts'
import { Tokens } from './http/tokens/tokens.ts'
import { ownerPrincipal, TurnIdentities } from './identity.ts'
import { IdleWatch } from './idle.ts'
import { nodeLimits, nodeTimes } from './limits.ts'
import { linkSurroundings } from './link/answers.ts'
import { NodeLink } from './link/node-link.ts'
import { planHere } from './link/plan.ts'
import type { NodeLog } from './log/log.ts'
import { nodeStatus, type StatusParts } from './node-status.ts'
import { DesktopNotes } from './notify.ts'
import { nodeOperations } from './operations/index.ts'
import type { NodeStatus } from './operations/node.ts'
import { answered } from './operations/spec.ts'
import { recordRotations } from './profile/key-rotation.ts'
import { watchMachine } from './profile/machine.ts'
import { narrowModes } from './profile/modes.ts'
import { AnswerPassphrase } from './profile/passphrase.ts'
import { type Environment, type ProfilePaths, prepareProfile } from './profile/paths.ts'
import { startError } from './profile/start-error.ts'
import { removeNodeFile, type StartedBy, writeNodeFile } from './reach/node-file.ts'
import { socketIdentity } from './reach/own-socket.ts'
import { proofMessage } from './reach/proof.ts'
import { recorded } from './recorded.ts'
import { writeShim } from './shim.ts'
import { Spending } from './spending/spending.ts'
import { NODE_VERSION } from './version.ts'

export interface NodeOptions {
  readonly config: Config
  readonly log: NodeLog
  readonly startedBy: StartedBy
  /** Of which agents get a part; that of this process by default. */
  readonly env?: Environment
  readonly clock?: Clock
  /** Opens the coordinator; for tests. */
  readonly conduct?: (options: CoordinatorOptions) => Promise<Coordination>
  /** Where peers reach it, by the configuration and by what the machine says; for tests. */
  readonly plan?: typeof planHere
  /** What agents of the kind `function` can call, by name. */
  readonly functions?: Readonly<Record<string, AgentFunction>>
  /** Further plugins of the HTTP surface, and bounds that a test cannot wait for. */
  readonly mounts?: readonly HttpMount[]
  readonly httpBounds?: SurfaceBounds
}

/** How a stop went: `hanging` names what did not end in time. */
export interface Stopped {
  readonly reason: string
  readonly hanging: readonly string[]
}

/** Where this node listens, its peers among those who may connect; all of them must fit its deployment model. */
const LISTENERS: readonly Listener[] = [{ kind: 'unix' }, { kind: 'noise' }]

const ABANDONED = 'the node died while it answered a peer, and nobody waits for the answer any more'

interface Parts extends StatusParts {
  readonly alx: NodeAlx
  readonly listening: Listening
  /** What tells its socket from every other one. */
  readonly socket: string
  readonly machine: Machine
}

export class Node {
  readonly #options: NodeOptions
  readonly #clock: Clock
  readonly #parts: Parts
  readonly #idle: IdleWatch | undefined
  readonly #notes: DesktopNotes | undefined
  readonly #ended = Promise.withResolvers<Stopped>()
  #stopping: string | undefined

  /**
   * Resolves when the socket answers. Refusals: `profile_in_use` (details: `pid`), `profile_unusable`,
   * `secret_missing`, `socket_in_use`, those of a key that is lost, damaged or exchanged (`key_…`), `machine_fault`,
   * `unsupported` where the deployment model's needs are not met, and those of `openTrail`. After a refusal nothing is
   * left open.
   */
  static async start(options: NodeOptions): Promise<Result<Node>> {
    const { config, log, env = process.env, clock = new SystemClock() } = options
    const { paths } = config
    const prepared = prepareProfile(paths)
    if (!prepared.ok) return prepared
    narrowModes(paths.folder)
    const open: (() => Promise<void>)[] = []
    let machine: Machine | undefined
    try {
      const { deployment, sign, replica } = config.values
      requireListeners(deployment, [...LISTENERS, ...httpListeners(config.values)])
      const commits = new Commits()
      const cipher = ContentCipher.for(deployment, prepared.value.secret)
      const watched = await watchMachine(paths, clock, log)
      machine = watched
      open.push(async () => watched.close())
      const trail = await openTrail(paths.folder, {
        cipher,
        now: () => clock.now(),
        ...(!sign && { signer: null }),
        ...(replica !== undefined && { replica }),
        measured: commits.tell,
      })
      open.push(() => trail.close())
      for (const { code, message, runs } of trail.damage) log.error(message, { code, runs })
      // Of turns that a node which died was taking: nobody else uses this profile now.
      rmSync(paths.tokens, { recursive: true, force: true })
      const bin = writeShim(paths, env)
      const spending = Spending.open({ home: paths.folder, clock, dailyUsd: liveDailyUsd(config, log), log })
      // The profile's one key is for its links too (ALP-ID-01), whether it signs the record or not.
      if (!sign) (await profileSigner(paths.folder)).close?.()
      const link = new NodeLink({
        config,
        env,
        clock,
        spending,
        owner: ownerPrincipal(),
        log,
        plan: options.plan ?? planHere,
      })
      open.push(() => link.close())
      const { functions = {} } = options
      const away = new AwayAgents(clock)
      const host = { clock, env, bin, tokens: paths.tokens, peers: link, functions, spending, away }
      const conduct = options.conduct ?? (given => Coordinator.open(given))
      const coordinator = await orDamagedRuns(conduct, log, {
        trail,
        profile: paths.folder,
        secret: prepared.value.secret,
        deployment,
        adapter: wanted => agentAdapter(wanted, host),
        worksWithoutFolder,
        environment: reachable(paths),
        clock,
        machine,
        turns: config.values.turns,
        runs: config.values.runs,
        storage: storagePolicy(config.values),
        // The peer lost its connection when the node died: nobody would read the answer.
        abandon: ({ origin }) => (origin === ALP_ORIGIN ? ABANDONED : undefined),
        ...(config.values.gates && { gates: config.values.gates }),
        log: (level, message, facts) => log[level](message, facts),
      })
      open.push(() => coordinator.close())
      return ok(
        await Node.#listen(
          { ...options, env, bin, clock, spending, link, machine, away, commits },
          trail,
          coordinator,
          open,
        ),
      )
    } catch (thrown) {
      for (const close of open.toReversed()) await close().catch(cause => log.error('closing failed', { cause }))
      return err(startError(paths, thrown, machine?.held))
    }
  }

  static async #listen(
    options: NodeOptions & {
      readonly env: Environment
      readonly bin: string | undefined
      readonly clock: Clock
      readonly spending: Spending
      readonly link: NodeLink
      readonly machine: Machine
      readonly away: AwayAgents
      readonly commits: Commits
    },
    trail: Trail,
    coordinator: Coordination,
    open: (() => Promise<void>)[],
  ): Promise<Node> {
    const { config, log, env, clock, link, spending, machine, commits, functions = {}, mounts = [] } = options
    const { paths } = config
    const identities = new TurnIdentities(coordinator)
    const owner = ownerPrincipal()
    const pinned = (peer: string) => link.isPinned(peer)
    const agents = agentDirectory({ config, env, pinned, functions, away: options.away })
    const programs = { path: env.PATH ?? '', bin: options.bin, pinned, functions }
    let node: Node | undefined
    // The operations speak of the node. It is there before the owner's first call; a peer may be earlier.
    const up = () => {
      if (node) return node
      throw new CallError('UNAVAILABLE', 'the node is starting', { retryable: true })
    }
    const parts = { config, trail, coordinator, link, agents, programs, spending, clock, log }
    const { users, house } = coordinator
    const tokens = new Tokens({ file: paths.httpTokens, clock, users, house, owner, log })
    const passphrase = new AnswerPassphrase({
      hash: config.values.passphrase,
      clock,
      store: hash => storePassphrase(paths.config, hash),
      warn: message => log.warn(message),
    })
    const alx = new NodeAlx({ ...parts, owner, passphrase })
    open.push(() => alx.close())
    const operations = nodeOperations({
      ...parts,
      identities,
      owner,
      tokens,
      passphrase,
      alx,
      prove: nonce => answered(link.sign(proofMessage(nonce, up().#parts.socket))),
      status: async () => up().status(),
      requestStop: reason => up().#stopSoon(reason),
    })
    const registry = new OperationRegistry(operations, { from: { proven: true }, warn: message => log.warn(message) })
    const calls = new CallNode({ registry, identities, clock, log: message => log.debug(message) })
    // A caller on the socket is the owner: known from the first start on, and on record at each (W-SEC-06).
    const accepted = await recorded(coordinator.users.accept(owner, 'unix-socket'), machine, clock)
    if (!accepted.ok) throw accepted.error
    const rotations = await recorded(recordRotations(trail, coordinator, owner), machine, clock)
    if (!rotations.ok)
      log.error(`a rotation of the key is not on record: ${rotations.error.message}`, {
        code: rotations.error.code,
      })
    await link.start(linkSurroundings({ ...parts, operations }))
    const listening = await listenUnix(paths.socket, transport => node!.#accept(transport), {
      authenticate: () => owner,
      maxConnections: nodeLimits.connections,
      clock,
    })
    open.push(() => listening.close())
    const socket = socketIdentity(paths.socket)
    requireOwnSocket(config.values.deployment, paths.socket)
    const started = clock.now()
    writeNodeFile(paths.nodeFile, {
      pid: process.pid,
      version: NODE_VERSION,
      started: formatTimestamp(started),
      socket: paths.socket,
      started_by: options.startedBy,
    })
    const http = new HttpSurface(config.values)
    open.push(() => http.close())
    // Plugins of other packages, such as ALX's, are mounted here: each with its prefix, beside those of `mounts`.
    const plugins: readonly HttpMount[] = [...(config.values.httpOn ? await alx.mounts() : []), ...mounts]
    const about = { spending, commits, alx: () => alx.counts() }
    await http.open({ tokens, coordinator, calls, registry, clock, log, mounts: plugins, ...about }, options.httpBounds)
    if (config.values.httpOn) alx.resume()
    node = new Node(options, { trail, coordinator, link, http, alx, calls, listening, socket, machine, started })
    log.info('the node is up', {
      profile: paths.profile,
      deployment: config.values.deployment,
      version: NODE_VERSION,
      started_by: options.startedBy,
      ...(http.status()?.at && { http: http.status()?.at }),
      ...(link.on && { peers: link.listening.map(({ carrier, at }) => `${carrier} ${at}`) }),
    })
    return node
  }

  private constructor(options: NodeOptions & { readonly clock: Clock }, parts: Parts) {
    this.#options = options
    this.#clock = options.clock
    this.#parts = parts
    const { idleTimeoutMs, notifyDesktop } = options.config.values
    const { env = process.env, clock, log } = options
    if (notifyDesktop) this.#notes = new DesktopNotes({ env, clock, log, coordinator: parts.coordinator })
    if (options.startedBy === 'on-demand' && idleTimeoutMs > 0) {
      this.#idle = new IdleWatch({
        clock: options.clock,
        timeoutMs: idleTimeoutMs,
        busy: () => this.#busy(),
        idle: () => void this.stop('idle'),
      })
    }
  }

  /** Resolves when the node has stopped, for whatever reason. */
  get stopped(): Promise<Stopped> {
    return this.#ended.promise
  }

  status(): Promise<NodeStatus> {
    return nodeStatus(this.#options, this.#clock, this.#parts)
  }

  /** Turns at work are ended; the next start runs them again. Safe to repeat; takes at most `nodeTimes.stop`. */
  stop(reason: string): Promise<Stopped> {
    if (this.#stopping === undefined) {
      this.#stopping = reason
      this.#options.log.info('the node is stopping', { reason })
      this.#takeDown(reason).catch(cause => {
        this.#options.log.error('the node did not stop well', { cause })
        this.#ended.resolve({ reason, hanging: ['node'] })
      })
    }
    return this.#ended.promise
  }

  async #takeDown(reason: string): Promise<void> {
    const { config, log } = this.#options
    const { trail, coordinator, link, http, alx, calls, listening, machine } = this.#parts
    this.#idle?.stop()
    this.#notes?.close()
    const late = Promise.withResolvers<false>()
    // Not in the background: a part that hangs need not hold anything that keeps the process alive until this is told.
    const cancel = this.#clock.after(nodeTimes.stop, () => late.resolve(false))
    const hanging: string[] = []
    const step = async (name: string, run: () => Promise<void>) => {
      const work = run().catch(cause => log.error(`the ${name} did not close well`, { cause }))
      if ((await Promise.race([work, late.promise])) === false) hanging.push(name)
    }
    await step('http', () => http.close())
    // Before the coordinator, so that peers get the last answer of what is interrupted.
    await step('link', () => link.close())
    await step('connections', () => farewell(calls, listening, config.paths.socket))
    await step('alx', () => alx.close())
    await step('coordinator', () => coordinator.close())
    // What hangs may still write: its trail is left to the end of the process.
    if (hanging.length === 0) await step('trail', () => trail.close())
    machine.close()
    cancel()
    try {
      removeNodeFile(config.paths.nodeFile)
    } catch (cause) {
      // A disk that is read-only by now: the stop ends all the same, and the next node writes the file anew.
      log.error(`${config.paths.nodeFile} was not removed`, { cause })
    }
    if (hanging.length > 0) log.error(`the stop took too long: ${hanging.join(', ')} did not end`, { hanging })
    else log.info('the node has stopped', { reason })
    this.#ended.resolve({ reason, hanging })
  }

  #accept(transport: Transport): void {
    const { config, log } = this.#options
    if (!admits(config.values.deployment, transport)) {
      log.warn(`a connection over ${transport.kind} was refused: the deployment model forbids it`)
      transport.close('the deployment model forbids this carrier')
      return
    }
    const link = this.#parts.calls.attach(transport)
    link.onClose(() => this.#idle?.touch())
    if (this.#stopping !== undefined) link.close('the node is stopping')
  }

  /** After the caller has its answer. */
  #stopSoon(reason: string): void {
    setImmediate(() => void this.stop(reason))
  }

  async #busy(): Promise<boolean> {
    const { calls, link, http } = this.#parts
    if (calls.links.length + link.callers + http.requests > 0) return true
    const live = await this.#parts.coordinator.runs.list({ states: ['waiting', 'working'], limit: 1 })
    return live.length > 0
  }
}

function storagePolicy({ compactMs, warmMs, coldMs }: Config['values']): StoragePolicy {
  return {
    warm: warmMs,
    ...(compactMs !== null && { compactAfter: compactMs }),
    ...(coldMs !== null && { cold: coldMs }),
  }
}

/** Links are closed first, so that what was answered is sent; then the connections are cut. */
async function farewell(calls: CallNode, listening: Listening, socket: string): Promise<void> {
  calls.close()
  await listening.close()
  rmSync(socket, { force: true })
}

/** What an agent's process needs to find its node. */
function reachable({ home, profile, socket }: ProfilePaths): Readonly<Record<string, string>> {
  return { PARLEY_HOME: home, PARLEY_PROFILE: profile, PARLEY_SOCKET: socket }
}
