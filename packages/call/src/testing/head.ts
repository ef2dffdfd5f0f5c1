// A head on loopback for tests, and whoever connects to it: workers that are nodes, clients, scripted peers. Each
// connection belongs to the principal that the test names, as an authentication would find out. Node.js only.
import { type Clock, type Principal, type TSchema, Type } from '@parley/core'
import { expect, onTestFinished } from 'vitest'
import type { CallOptions } from '../call-options.ts'
import type { Link } from '../link/link.ts'
import type { LinkOptions } from '../link/link-options.ts'
import { CallNode, type NodeOptions } from '../node.ts'
import type { Handler } from '../operation.ts'
import type { AccessControl, OperationSpec, OperationType } from '../operation-spec.ts'
import { OperationRegistry } from '../registry.ts'
import { connectTcp, listenTcp } from '../transport/sockets.ts'
import type { Receiver, Transport } from '../transport/transport.ts'
import type { Envelope } from '../wire/envelope.ts'
import { BytePeer } from './peer.ts'

export function principal(
  id: string,
  scopes: readonly string[] = [],
  resources: Principal['resources'] = {},
): Principal {
  return { id, kind: 'user', scopes, resources }
}

/** Somebody who may register any alias. */
export function workerPrincipal(id: string): Principal {
  return principal(id, ['node:register'])
}

/** A spec that takes and gives anything. */
export function spec(
  name: string,
  accessControl: AccessControl = {},
  opType: OperationSpec['opType'] = 'query',
): OperationSpec {
  return { name, opType, inputSchema: {}, outputSchema: {}, accessControl }
}

type Unknown = ReturnType<typeof Type.Unknown>

/** A spec that lets everybody in, and takes and gives anything where nothing is said; its path is its key in a map. */
export function open<
  const Kind extends OperationType,
  Input extends TSchema = Unknown,
  Output extends TSchema = Unknown,
>(opType: Kind, inputSchema = Type.Unknown() as TSchema as Input, outputSchema = Type.Unknown() as TSchema as Output) {
  return { opType, inputSchema, outputSchema, accessControl: {} }
}

/** A registry of one operation; others may follow. */
export function registryWith(given: OperationSpec, handler: Handler): OperationRegistry {
  const registry = new OperationRegistry()
  registry.register(given, handler)
  return registry
}

export interface JoinOptions extends Pick<LinkOptions, 'profile'> {
  /** Who the joining side is to the head. */
  readonly as?: Principal
  /** Who the head is to the joining side. */
  readonly headIs?: Principal
  /** What the joining side offers. */
  readonly registry?: OperationRegistry
  /** By default that of the head: deadlines travel as times of day. */
  readonly clock?: Clock
  /** Where everything is noted that the head sends to it. */
  readonly received?: Envelope[]
}

export class TestHead {
  readonly node: CallNode
  readonly #clock: Clock | undefined
  readonly #links: Pick<LinkOptions, 'profile'>

  constructor(options: Partial<NodeOptions> = {}, links: Pick<LinkOptions, 'profile'> = {}) {
    this.#links = links
    this.#clock = options.clock
    this.node = new CallNode({ registry: new OperationRegistry(), head: true, ...options })
    onTestFinished(() => this.node.close())
  }

  /** Connects over TCP. The answer is the joining side's end. */
  async join(options: JoinOptions = {}): Promise<Link> {
    const { registry = new OperationRegistry(), profile, headIs: identity } = options
    const clock = options.clock ?? this.#clock
    const { port, accepted } = await this.#listen(options.as)
    const node = new CallNode({ registry, ...(clock && { clock }) })
    const transport = await connectTcp({ port }, { identity })
    await accepted
    const { received } = options
    return node.attach(received ? noting(transport, received) : transport, profile ? { profile } : {})
  }

  /** A worker that has registered all that it offers. */
  async worker(alias: string, options: JoinOptions & { readonly registry: OperationRegistry }): Promise<Link> {
    const link = await this.join({ as: workerPrincipal(alias), ...options })
    await register(
      link,
      alias,
      options.registry
        .list()
        .filter(({ external, handler }) => external && handler)
        .map(({ path }) => path),
    )
    // What the head asked meanwhile is nobody's question.
    options.received?.splice(0)
    return link
  }

  /** A scripted peer in place of a node. */
  async peer(as?: Principal): Promise<BytePeer> {
    const { port, accepted } = await this.#listen(as)
    const peer = await BytePeer.connect({ port })
    await accepted
    onTestFinished(() => void peer.close())
    return peer
  }

  /** A port whose connections are the principal's. */
  async listen(as: Principal): Promise<number> {
    return (await this.#listen(as)).port
  }

  async #listen(as: Principal | undefined): Promise<{ port: number; accepted: Promise<void> }> {
    let take: (transport: Transport) => void = () => undefined
    const accepted = new Promise<void>(resolve => {
      take = transport => {
        this.node.attach(transport, this.#links)
        resolve()
      }
    })
    const listening = await listenTcp({}, transport => take(transport), { authenticate: () => as })
    onTestFinished(() => listening.close())
    return { port: listening.port!, accepted }
  }
}

/** The transport itself, but what it brings is noted first. */
function noting(transport: Transport, received: Envelope[]): Transport {
  const start = (receiver: Receiver) => {
    const envelope: Receiver['envelope'] = (...given) => {
      received.push(given[0])
      receiver.envelope(...given)
    }
    transport.start({ ...receiver, envelope })
  }
  return new Proxy(transport, {
    get(target, name) {
      if (name === 'start') return start
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

export function register(link: Link, node: string, operations: readonly unknown[]): Promise<unknown> {
  return link.call('/head/services/register', { node, operations })
}

/** A scripted peer asks to be registered; the answer is still to come. */
export function askToRegister(peer: BytePeer, id: string, node: string, operations: readonly unknown[]): void {
  peer.send('call.requested', id, { name: '/head/services/register', input: { node, operations } })
}

/** A scripted worker `dev1` with one operation, of whose spec it tells nothing. */
export async function unspecifiedWorker(head: TestHead, operation: string): Promise<BytePeer> {
  const worker = await head.peer(workerPrincipal('w'))
  askToRegister(worker, 'reg', 'dev1', [operation])
  worker.send('call.error', (await worker.next()).id, { code: 'NOT_FOUND', message: '', retryable: false })
  expect(await worker.next()).toMatchObject({ id: 'reg', type: 'call.responded' })
  return worker
}

/** The names in `/services/list` as the link's own side sees them. */
export async function listed(link: Link): Promise<readonly string[]> {
  const { operations } = await link.call<{ operations: readonly { name: string }[] }>('/services/list', {})
  return operations.map(({ name }) => name)
}

/** The code that a call is refused with; undefined if it is answered. */
export async function codeOf(link: Link, path: string, input?: unknown, options?: CallOptions) {
  const { result } = await link.callEnvelope(path, input, options)
  return result.ok ? undefined : result.error.code
}

/** What the head had sent to a scripted worker would have come before the answer to its own question. */
export async function heardNothing(worker: BytePeer): Promise<void> {
  worker.send('call.requested', 'mark', { name: '/services/list' })
  expect(await worker.next()).toMatchObject({ id: 'mark' })
}

/** The same for a worker that is a node, whose head sends to `received`. */
export async function receivedNothing(worker: Link, received: readonly Envelope[]): Promise<void> {
  await worker.call('/head/services/list', {}, { requestId: 'mark' })
  expect(received.map(({ id }) => id)).toEqual(['mark'])
}

/** A promise that the test settles. */
export function gate<T = void>(): { readonly opened: Promise<T>; readonly open: (value: T) => void } {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { opened: promise, open: resolve }
}

/** All values of a stream. */
export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const value of values) all.push(value)
  return all
}
