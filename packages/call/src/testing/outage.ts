// A server for tests that comes and goes at one address: a real Unix socket or a real TCP port. Node.js only.
import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, ManualClock, type Principal } from '@parley/core'
import { onTestFinished } from 'vitest'
import type { ClientState } from '../client/connection.ts'
import type { ClientOptions } from '../client/options.ts'
import { connectClient } from '../client.ts'
import { CallNode, type NodeOptions } from '../node.ts'
import type { OperationMap } from '../operation.ts'
import { OperationRegistry } from '../registry.ts'
import { connectTcp, connectUnix, type Listening, listenTcp, listenUnix } from '../transport/sockets.ts'
import type { Transport } from '../transport/transport.ts'

export type Address = 'unix' | 'tcp'

export interface OutageOptions extends Omit<NodeOptions, 'registry' | 'clock'> {
  readonly operations?: OperationMap
  readonly identity?: Principal
}

export class Outage {
  readonly clock: Clock
  readonly node: CallNode
  readonly #kind: Address
  readonly #identity: Principal | undefined
  readonly #sockets = new Set<Socket>()
  readonly #folder = mkdtempSync(join(tmpdir(), 'parley-client-'))
  #port = 0
  #listening: Listening | undefined
  /** Connections that were accepted so far. */
  accepted = 0
  /** Where they go. */
  accept = (transport: Transport) => void this.node.attach(transport)

  constructor(kind: Address, options: OutageOptions = {}, clock: Clock = new ManualClock()) {
    const { operations = {}, identity, ...rest } = options
    this.#kind = kind
    this.#identity = identity
    this.clock = clock
    this.node = new CallNode({ ...rest, registry: new OperationRegistry(operations), clock })
    onTestFinished(async () => {
      await this.stop()
      rmSync(this.#folder, { recursive: true })
    })
  }

  /** A server that runs. From then on it has its address, also while it is stopped. */
  static async start(kind: Address, options?: OutageOptions, clock?: Clock): Promise<Outage> {
    const outage = new Outage(kind, options, clock)
    await outage.start()
    return outage
  }

  async start(): Promise<void> {
    const accept = (transport: Transport) => this.accept(transport)
    const authenticate = (socket: Socket) => {
      this.accepted++
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      return this.#identity
    }
    this.#listening =
      this.#kind === 'unix'
        ? await listenUnix(this.#path, accept, { authenticate })
        : await listenTcp({ port: this.#port }, accept, { authenticate })
    this.#port = this.#listening.port ?? 0
  }

  /** Stops listening and destroys every connection, as a process that is killed does. */
  async stop(): Promise<void> {
    const listening = this.#listening
    this.#listening = undefined
    await listening?.close()
  }

  /** Destroys the connections; the server goes on. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  readonly dial = (): Promise<Transport> =>
    this.#kind === 'unix' ? connectUnix(this.#path) : connectTcp({ port: this.#port })

  get #path(): string {
    return join(this.#folder, 'socket')
  }
}

/**
 * A client that is closed when its test ends, and the states that it went through. Its waits are half of what they may
 * be.
 */
export function clientOf<M extends OperationMap>(options: ClientOptions) {
  const states = new States()
  const client = connectClient<M>({
    random: () => 0.5,
    ...options,
    onState: state => {
      states.add(state)
      options.onState?.(state)
    },
  })
  onTestFinished(() => client.close())
  return { client, states }
}

/** A server that runs, unless it is said to be down, and its client; the clock is the test's. */
export async function serverAndClient<M extends OperationMap>(
  kind: Address,
  operations: M,
  { down = false, passes = false, ...options }: Partial<ClientOptions> & { down?: boolean; passes?: boolean } = {},
) {
  const clock = new ManualClock()
  const server = await Outage.start(kind, { operations }, clock)
  if (down) await server.stop()
  // Every wait passes at once.
  const onState = (state: ClientState) => {
    if (passes && state.kind === 'waiting') queueMicrotask(() => clock.advance(state.delay))
  }
  return { clock, server, ...clientOf<M>({ dial: server.dial, clock, onState, ...options }) }
}

export class States {
  readonly all: ClientState[] = []
  readonly #waiting = new Set<() => void>()
  #read = 0

  add(state: ClientState): void {
    this.all.push(state)
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  /** The next wait, let pass. */
  async pass(clock: ManualClock): Promise<void> {
    clock.advance((await this.next('waiting')).delay)
  }

  /** The next state of a kind, from where the last one was found on. */
  async next<K extends ClientState['kind']>(kind: K): Promise<Extract<ClientState, { kind: K }>> {
    for (;;) {
      const state = this.all[this.#read++]
      if (state?.kind === kind) return state as Extract<ClientState, { kind: K }>
      if (state) continue
      this.#read--
      await new Promise<void>(resolve => this.#waiting.add(resolve))
    }
  }
}
