// A node: the profile's one process. It opens what the others work with, wires it, offers it on the socket, and takes it down again in
// the reverse order. It decides nothing itself.
import { rmSync } from 'node:fs'
import {
  CallError,
  CallNode,
  type Listening,
  listenUnix,
  OperationRegistry,
  type Transport,
} from '@parley/call'
import {
  type Conducting,
  Conductor,
  type ConductorOptions,
  Machine,
  probeMachine,
  type RunSummaryView,
} from '@parley/coordinator'
import {
  asParleyError,
  type Clock,
  err,
  formatTimestamp,
  ok,
  ParleyError,
  type Result,
  SystemClock,
  type Ticks,
  ticksPerMillisecond,
} from '@parley/core'
import type { StoragePolicy } from '@parley/kernel'
import { openTrail, profileSigner, type Trail } from '@parley/trail'
import { agentAdapter } from './adapter.ts'
import { type AgentDirectoryOptions, agentDirectory } from './agents.ts'
import { liveDailyUsd } from './config/live-daily-usd.ts'
import type { Config } from './config/load.ts'
import { storePassphrase } from './config/store-passphrase.ts'
import { admits, cipherFor, type Listener, requireListeners, requireOwnSocket } from './deployment.ts'
import { ownerPrincipal, TurnIdentities } from './identity.ts'
import { IdleWatch } from './idle.ts'
import { IdleConductor } from './idle-conductor.ts'
import { recordRotations } from './key-rotation.ts'
import { nodeLimits, nodeTimes } from './limits.ts'
import { linkSurroundings } from './link/answers.ts'
import { NodeLink } from './link/node-link.ts'
import { ALP_ORIGIN } from './link/pinned-identities.ts'
import type { NodeLog } from './log.ts'
import { narrowModes } from './modes.ts'
import { removeNodeFile, type StartedBy, writeNodeFile } from './node-file.ts'
import { nodeOperations } from './operations/index.ts'
import type { NodeStatus } from './operations/node.ts'
import { answered } from './operations/spec.ts'
import { socketIdentity } from './own-socket.ts'
import { AnswerPassphrase } from './passphrase.ts'
import { type Environment, type ProfilePaths, prepareProfile } from './paths.ts'
import { proofMessage } from './proof.ts'
import { recorded } from './recorded.ts'
import { Reserve } from './reserve.ts'
import { writeShim } from './shim.ts'
import { Spending } from './spending/spending.ts'
import { startError } from './start-error.ts'
import { NODE_VERSION } from './version.ts'

export interface NodeOptions {
  readonly config: Config
  readonly log: NodeLog
  readonly startedBy: StartedBy
  /** Of which agents get a part; that of this process by default. */
  readonly env?: Environment
  readonly clock?: Clock
  /** Opens the coordinator; for tests. */
  readonly conduct?: (options: ConductorOptions) => Promise<Conducting>
  readonly detect?: AgentDirectoryOptions['detect']
}

/** How a stop went: `hanging` names what did not end in time. */
export interface Stopped {
  readonly reason: string
  readonly hanging: readonly string[]
}

/** Where this node listens, its peers among those who may connect; all of them must fit its deployment model. */
const LISTENERS: readonly Listener[] = [{ kind: 'unix' }, { kind: 'noise' }]

const ABANDONED = 'the node died while it answered a peer, and nobody waits for the answer any more'

interface Parts {
  readonly trail: Trail
  readonly conductor: Conducting
  readonly link: NodeLink
  readonly calls: CallNode
  readonly listening: Listening
  /** What tells its socket from every other one. */
  readonly socket: string
  readonly machine: Machine
  readonly started: Ticks
}

export class Node {
  readonly #options: NodeOptions
  readonly #clock: Clock
  readonly #parts: Parts
  readonly #idle: IdleWatch | undefined
  readonly #ended = Promise.withResolvers<Stopped>()
  #stopping: string | undefined

  /**
   * Resolves when the socket answers. Refusals: `profile_in_use` (details: `pid`), `profile_unusable`, `secret_missing`, `socket_in_use`,
   * those of a key that is lost, damaged or exchanged (`key_…`), `machine_fault`, `unsupported` where the deployment model's needs are not met, and those of `openTrail`. After a refusal nothing is left open.
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
      const { deployment } = config.values
      requireListeners(deployment, LISTENERS)
      const cipher = cipherFor(deployment, prepared.value.secret)
      const { sign, replica } = config.values
      const watched = await watchMachine(paths, clock, log)
      machine = watched
      open.push(async () => watched.close())
      const trail = await openTrail(paths.folder, {
        cipher,
        now: () => clock.now(),
        ...(!sign && { signer: null }),
        ...(replica !== undefined && { replica }),
      })
      open.push(() => trail.close())
      for (const { code, message, runs } of trail.damage) log.error(message, { code, runs })
      // Of turns that a node which died was taking: nobody else uses this profile now.
      rmSync(paths.tokens, { recursive: true, force: true })
      const bin = writeShim(paths, env)
      const spending = Spending.open({
        home: paths.folder,
        clock,
        dailyUsd: liveDailyUsd(config, log),
        log,
      })
      // The profile's one key is for its links too (ALP-ID-01), whether it signs the record or not.
      if (!sign) (await profileSigner(paths.folder)).close?.()
      const link = NodeLink.open({ config, env, clock, dailyUsd: spending.dailyUsd, log })
      open.push(() => link.close())
      const conductor = await Node.#conduct(options, {
        trail,
        profile: paths.folder,
        secret: prepared.value.secret,
        deployment,
        adapter: wanted => {
          const { name, agent, base, environment: caller } = wanted
          const made =
            agent.peer === undefined
              ? agentAdapter(name, agent, base, { clock, env, caller, bin, tokens: paths.tokens })
              : link.agent(name, agent.peer, agent.timeoutMs)
          return spending.ledgered(made, wanted)
        },
        environment: reachable(paths),
        clock,
        machine,
        turns: config.values.turns,
        storage: storagePolicy(config.values),
        // Whoever asked has lost the connection with the node that died: nobody would read the answer.
        abandon: ({ origin }) => (origin === ALP_ORIGIN ? ABANDONED : undefined),
        ...(config.values.gates && { gates: config.values.gates }),
        log: (level, message, facts) => log[level](message, facts),
      })
      open.push(() => conductor.close())
      return ok(
        await Node.#listen({ ...options, env, bin, clock, spending, link, machine }, trail, conductor, open),
      )
    } catch (thrown) {
      for (const close of open.toReversed())
        await close().catch(cause => log.error('closing failed', { cause }))
      return err(startError(paths, thrown, machine?.held))
    }
  }

  /** A profile whose book of runs is damaged still has a node: to verify, to read, and to be stopped. */
  static async #conduct({ conduct, log }: NodeOptions, given: ConductorOptions): Promise<Conducting> {
    try {
      return await (conduct ?? (each => Conductor.open(each)))(given)
    } catch (thrown) {
      const error = damageOf(asParleyError(thrown))
      if (!error) throw thrown
      log.error(`no run can be started or go on: ${error.message}`, { code: error.code })
      return new IdleConductor(given.trail, error)
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
    },
    trail: Trail,
    conductor: Conducting,
    open: (() => Promise<void>)[],
  ): Promise<Node> {
    const { config, log, env, clock, link } = options
    const { paths } = config
    const identities = new TurnIdentities(conductor)
    const owner = ownerPrincipal()
    const pinned = (peer: string) => link.isPinned(peer)
    const agents = agentDirectory({ config, env, pinned, ...(options.detect && { detect: options.detect }) })
    const programs = { path: env.PATH ?? '', bin: options.bin, pinned }
    let node: Node | undefined
    // The operations speak of the node. It is there before the owner's first call; a peer may be earlier.
    const up = () => {
      if (node) return node
      throw new CallError('UNAVAILABLE', 'the node is starting', { retryable: true })
    }
    const operations = nodeOperations({
      config,
      trail,
      conductor,
      link,
      identities,
      agents,
      programs,
      spending: options.spending,
      clock,
      owner,
      log,
      passphrase: new AnswerPassphrase({
        hash: config.values.passphrase,
        clock,
        store: hash => storePassphrase(paths.config, hash),
        warn: message => log.warn(message),
      }),
      prove: nonce => answered(link.sign(proofMessage(nonce, up().#parts.socket))),
      status: async () => up().status(),
      requestStop: reason => up().#stopSoon(reason),
    })
    const registry = new OperationRegistry(operations, { warn: message => log.warn(message) })
    const calls = new CallNode({ registry, identities, clock, log: message => log.debug(message) })
    // Whoever reaches the socket is the owner: known from the first start on, and on record at each (W-SEC-06).
    const { machine } = options
    const accepted = await recorded(conductor.accept(owner, 'unix-socket'), machine, clock)
    if (!accepted.ok) throw accepted.error
    const rotations = await recorded(recordRotations(trail, conductor, owner), machine, clock)
    if (!rotations.ok)
      log.error(`a rotation of the key is not on record: ${rotations.error.message}`, {
        code: rotations.error.code,
      })
    await link.start(
      linkSurroundings({
        config,
        trail,
        conductor,
        link,
        spending: options.spending,
        agents,
        programs,
        operations,
        clock,
        log,
      }),
    )
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
    node = new Node(options, {
      trail,
      conductor,
      link,
      calls,
      listening,
      socket,
      machine: options.machine,
      started,
    })
    log.info('the node is up', {
      profile: paths.profile,
      deployment: config.values.deployment,
      version: NODE_VERSION,
      started_by: options.startedBy,
      ...(link.on && { peers: link.listening.map(({ carrier, at }) => `${carrier} ${at}`) }),
    })
    return node
  }

  private constructor(options: NodeOptions & { readonly clock: Clock }, parts: Parts) {
    this.#options = options
    this.#clock = options.clock
    this.#parts = parts
    const { idleTimeoutMs } = options.config.values
    if (options.startedBy === 'on-demand' && idleTimeoutMs > 0) {
      this.#idle = new IdleWatch({
        clock: options.clock,
        timeoutMs: idleTimeoutMs,
        busy: () => this.#busy(),
        idle: () => void this.stop('idle'),
      })
    }
  }

  /** Resolves when the node has stopped, whoever asked for it. */
  get stopped(): Promise<Stopped> {
    return this.#ended.promise
  }

  async status(): Promise<NodeStatus> {
    const { config, startedBy } = this.#options
    const { trail, conductor, link, calls, started } = this.#parts
    const live = await this.#live(conductor)
    const uptime = Math.floor((this.#clock.now() - started) / ticksPerMillisecond)
    return {
      profile: config.paths.profile,
      folder: config.paths.folder,
      socket: config.paths.socket,
      pid: process.pid,
      version: NODE_VERSION,
      runtime: process.version,
      started: formatTimestamp(started),
      started_by: startedBy,
      uptime_ms: Math.max(0, uptime),
      runs: {
        working: live.filter(({ state }) => state === 'working').length,
        waiting: live.filter(({ state }) => state === 'waiting').length,
      },
      clients: calls.links.length,
      deployment: config.values.deployment,
      idle_timeout_ms: startedBy === 'on-demand' ? config.values.idleTimeoutMs : 0,
      storage: { ...conductor.storage.status(), faults: [...conductor.storage.status().faults] },
      link: link.status(),
      machine: conductor.held ?? null,
      damage: trail.damage.map(({ code, message, runs }) => ({ code, message, runs: [...runs] })),
    }
  }

  /** Whoever wants to stop or mend a node asks how it is first: runs that cannot be read must not keep it from answering. */
  async #live(conductor: Conducting): Promise<readonly RunSummaryView[]> {
    try {
      return await conductor.runs({ states: ['waiting', 'working'], limit: 1000 })
    } catch (cause) {
      const { code, message } = asParleyError(cause)
      this.#options.log.error(`the runs at work cannot be told: ${message}`, { code })
      return []
    }
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
    const { trail, conductor, link, calls, listening, machine } = this.#parts
    this.#idle?.stop()
    const late = Promise.withResolvers<false>()
    // Not in the background: a part that hangs need not hold anything that keeps the process alive until this is told.
    const cancel = this.#clock.after(nodeTimes.stop, () => late.resolve(false))
    const hanging: string[] = []
    const step = async (name: string, run: () => Promise<void>) => {
      const work = run().catch(cause => log.error(`the ${name} did not close well`, { cause }))
      if ((await Promise.race([work, late.promise])) === false) hanging.push(name)
    }
    // First, so that peers get the last answer of what is interrupted.
    await step('link', () => link.close())
    await step('connections', () => farewell(calls, listening, config.paths.socket))
    await step('coordinator', () => conductor.close())
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
    if (hanging.length > 0)
      log.error(`the stop took too long: ${hanging.join(', ')} did not end`, { hanging })
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

  /** After the answer to whoever asked for it. */
  #stopSoon(reason: string): void {
    setImmediate(() => void this.stop(reason))
  }

  async #busy(): Promise<boolean> {
    if (this.#parts.calls.links.length + this.#parts.link.callers > 0) return true
    const live = await this.#parts.conductor.runs({ states: ['waiting', 'working'], limit: 1 })
    return live.length > 0
  }
}

/** A node that starts on a full disk is held up from the start, and has the room that was kept for that. */
async function watchMachine(paths: ProfilePaths, clock: Clock, log: NodeLog): Promise<Machine> {
  const reserve = new Reserve(paths.reserve)
  const machine = new Machine({
    clock,
    folder: paths.folder,
    probe: probeMachine,
    reserve,
    log: (level, message, facts) => log[level](message, facts),
  })
  const fault = await machine.look()
  const missing = fault ? undefined : await reserve.layOut()
  if (missing !== undefined)
    log.warn(`No room is kept for a full disk: ${missing}. The node works without it.`, {
      file: paths.reserve,
    })
  return machine
}

function storagePolicy({ compactMs, warmMs, coldMs }: Config['values']): StoragePolicy {
  return {
    warm: warmMs,
    ...(compactMs !== null && { compactAfter: compactMs }),
    ...(coldMs !== null && { cold: coldMs }),
  }
}

/** The house run is damaged: without it there is nobody to record anything. */
function damageOf(error: ParleyError): ParleyError | undefined {
  if (error.code === 'trail_damaged') return error
  if (error.code !== 'run_halted') return undefined
  return new ParleyError('trail_damaged', error.message, { details: error.details, cause: error })
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
