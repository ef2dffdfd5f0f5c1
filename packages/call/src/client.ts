// A client that reconnects: one link at a time over what `dial` gives, kept up by `Connection`. Errors say what
// happened to a call, subscriptions resume from their cursor, and operations are known by their types.
import { type Clock, SystemClock } from '@parley/core'
import { bufferOf, expiryOf, subscriptionExpiry } from './call-options.ts'
import { Connection } from './client/connection.ts'
import { Listeners } from './client/listeners.ts'
import type { ClientCallOptions, ClientOptions, ClientSubscribeOptions } from './client/options.ts'
import { type CallMembers, pathProxy, type StreamMembers } from './client/path-proxy.ts'
import { Resumption } from './client/resume.ts'
import { type Task, WaitingRoom } from './client/waiting.ts'
import { CallError } from './error.ts'
import { callLimits } from './limits.ts'
import type { Link } from './link/link.ts'
import type { EventListener } from './link/link-options.ts'
import { endedUnanswered, type RequestSink } from './link/outgoing.ts'
import { ValueQueue } from './link/queue.ts'
import { CallNode } from './node.ts'
import type { CallArguments, CallOpOf, InputOf, OperationMap, OutputOf, ServiceOf, StreamOpOf } from './operation.ts'
import type { OperationSpec, OperationType } from './operation-spec.ts'
import { OperationRegistry } from './registry.ts'
import { ResponseEnvelope } from './response.ts'
import { ownOrPeer, remote } from './routing/remote.ts'
import { local } from './serve.ts'
import { readSpec, readType } from './wire/spec.ts'

/**
 * A client with the services of its peer as members: `client.notes.add(input)` is `client.call('notes', 'add', input)`.
 * A service that is named like one of its own members, such as `link`, is reached by `call` alone.
 */
export type ConnectedClient<M extends OperationMap = OperationMap> = Client<M> &
  (string extends keyof M ? unknown : CallMembers<M, '', keyof Client>)

/** Dials at once, in the background. Calls may be made right away: they wait for the connection. */
export function connectClient<M extends OperationMap = OperationMap>(options: ClientOptions): ConnectedClient<M> {
  return new Client<M>(options) as ConnectedClient<M>
}

export class Client<M extends OperationMap = OperationMap> {
  readonly #options: ClientOptions
  readonly #clock: Clock
  readonly #connection: Connection
  readonly #waiting: WaitingRoom
  readonly #listeners = new Listeners()

  constructor(options: ClientOptions) {
    this.#options = options
    const { registry = new OperationRegistry(), log } = options
    this.#clock = options.clock ?? new SystemClock()
    this.#waiting = new WaitingRoom(this.#clock)
    const peer = () => this.#connection.current
    const env = {
      fallback: ownOrPeer(local(registry), remote(peer, { viaHead: true })),
      ...options.env?.(peer),
    }
    this.#connection = new Connection(options, {
      clock: this.#clock,
      node: new CallNode({ registry, clock: this.#clock, env, ...(log && { log }) }),
      operations: () => registry.list().flatMap(({ external, handler, path }) => (external && handler ? [path] : [])),
      attached: link => this.#listeners.attach(link),
      up: link => this.#waiting.release(link),
      closed: reason => {
        forget()
        this.#waiting.refuse(closedClient(reason))
      },
    })
    const forget = registry.onChange(() => this.#connection.offersChanged())
  }

  get state() {
    return this.#connection.state
  }

  /** The link of this moment, for what needs no healing; undefined while there is none. */
  get link(): Link | undefined {
    return this.#connection.link
  }

  get waitingCount(): number {
    return this.#waiting.size
  }

  /** Resolves as soon as there is a connection; rejects with `UNAVAILABLE` when the client closes first. */
  ready(): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#submit({
        path: 'the connection',
        expires: Number.POSITIVE_INFINITY,
        sent: false,
        open: () => resolve(),
        fail: reject,
        abort: () => undefined,
      }),
    )
  }

  /** For ever: what waits fails with `UNAVAILABLE`, what was sent with `INTERNAL`. */
  close(reason = 'closed'): void {
    this.#connection.close(reason)
  }

  /** One-way events of the other side (CALL-WIRE-06), on this connection and later ones; in between they are lost. */
  on(type: string, listener: EventListener): () => void {
    return this.#listeners.add(this.#connection.current, type, listener)
  }

  /** Sends an event to the other side. Throws `UNAVAILABLE` while there is no connection. */
  emit(type: string, topic: string, payload: unknown): void {
    if (!this.link) throw new CallError('UNAVAILABLE', 'there is no connection just now')
    this.link.emit(type, topic, payload)
  }

  /** Resolves to a value or an error; never rejects for what the protocol knows. */
  invoke<S extends ServiceOf<M>, O extends CallOpOf<M, S>>(
    service: S,
    op: O,
    ...given: CallArguments<InputOf<M, `/${S}/${O}`>, ClientCallOptions>
  ): Promise<ResponseEnvelope<OutputOf<M, `/${S}/${O}`>>> {
    const answer = this.#invoke(`/${service}/${op}`, given)
    return answer as Promise<ResponseEnvelope<OutputOf<M, `/${S}/${O}`>>>
  }

  async #invoke(path: string, given: readonly unknown[]): Promise<ResponseEnvelope> {
    const [input = null, options = {}] = given as readonly [unknown?, ClientCallOptions?]
    const requestId = options.requestId ?? crypto.randomUUID()
    const expires = expiryOf(options, this.#now())
    if (expires instanceof CallError) return ResponseEnvelope.failure(requestId, expires)
    const retry = options.retryQueries ?? this.#options.retryQueries ?? false
    const type = options.type ?? (retry ? await this.#learn(path, expires) : this.link?.types.get(path))
    return this.#send(path, input, options, { requestId, expires, type, retry })
  }

  /** Resolves to the value; rejects with `CallError`. */
  async call<S extends ServiceOf<M>, O extends CallOpOf<M, S>>(
    service: S,
    op: O,
    ...given: CallArguments<InputOf<M, `/${S}/${O}`>, ClientCallOptions>
  ): Promise<OutputOf<M, `/${S}/${O}`>> {
    return (await this.invoke(service, op, ...given)).unwrap()
  }

  /** The values in their order. The request goes out when iteration starts. */
  subscribe<S extends ServiceOf<M>, O extends StreamOpOf<M, S>>(
    service: S,
    op: O,
    ...given: CallArguments<
      InputOf<M, `/${S}/${O}`>,
      ClientSubscribeOptions<InputOf<M, `/${S}/${O}`>, OutputOf<M, `/${S}/${O}`>>
    >
  ): AsyncIterable<OutputOf<M, `/${S}/${O}`>> {
    return this.#subscribe(`/${service}/${op}`, given) as AsyncIterable<OutputOf<M, `/${S}/${O}`>>
  }

  /** Subscriptions as members: `client.streams.notes.watch(input)` is `client.subscribe('notes', 'watch', input)`. */
  get streams(): StreamMembers<M> {
    return pathProxy((path, given) => this.#subscribe(path, given)) as StreamMembers<M>
  }

  // Every name that is not a client's own is a service. On the prototype, so that its own members cost no more. A
  // client can be awaited and printed like anything else.
  static {
    const get = (target: object, name: string | symbol, client: Client) =>
      typeof name === 'symbol' || name in target || name === 'then' || name === 'toJSON'
        ? Reflect.get(target, name, client)
        : pathProxy(async (path, given) => (await client.#invoke(path, given)).unwrap(), `/${name}`)
    Object.setPrototypeOf(Client.prototype, new Proxy({}, { get }))
  }

  /** The spec of an operation, as its node tells it. Rejects with `CallError`. */
  async describe(service: string, op: string): Promise<OperationSpec> {
    const path = `/${service}/${op}`
    const expires = expiryOf(NO_OPTIONS, this.#now()) as number
    const told = readSpec((await this.#schema(path, expires)).unwrap())
    if (!told?.accessControl) {
      const missing = told ? (told.accessProblem ?? 'it has no access_control') : 'it is no object'
      throw new CallError('INTERNAL', `the spec of ${path} cannot be understood: ${missing}`)
    }
    if (told.opType !== undefined) this.link?.types.remember(path, told.opType)
    // CALL-DISC-01: what is not known to be a query must not be repeated as one.
    return { name: path, opType: 'mutation', ...told, accessControl: told.accessControl }
  }

  #send(path: string, input: unknown, options: ClientCallOptions, how: Sending): Promise<ResponseEnvelope> {
    const { requestId, expires, type } = how
    const passed = { ...options, requestId, deadline: expires, streams: type === 'subscription' }
    // CALL-ERR-04: only what is known to be a query, only for who asked, and not for ever.
    let retries = how.retry && type === 'query' ? callLimits.queryRetries : 0
    return new Promise(resolve => {
      const fail = (error: CallError) => resolve(ResponseEnvelope.failure(requestId, error))
      const task: Task = {
        path,
        expires,
        sent: false,
        ...waiting(options),
        open: link => {
          task.sent = true
          link.request(path, input, passed, {
            once: true,
            value: value => resolve(ResponseEnvelope.success(requestId, value)),
            end: aborted => fail(endedUnanswered(path, aborted)),
            fail: error => {
              if (link.closed && retries-- > 0) this.#submit(task)
              else fail(error)
            },
          })
        },
        fail,
        abort: () => fail(endedUnanswered(path, true)),
      }
      this.#submit(task)
    })
  }

  #subscribe(path: string, given: readonly unknown[]): AsyncIterable<unknown> {
    const [input = null, options = {}] = given as readonly [unknown?, ClientSubscribeOptions?]
    const requestId = options.requestId ?? crypto.randomUUID()
    let cancel: () => void = () => undefined
    const queue: ValueQueue<unknown> = new ValueQueue({
      capacity: bufferOf(options.buffer, callLimits.receiveBufferMost),
      start: () => {
        const limit = subscriptionExpiry(options, this.#now())
        if (limit instanceof CallError) queue.end(limit)
        else cancel = this.#open(path, input, { ...options, requestId }, limit, queue)
      },
      cancel: () => cancel(),
    })
    return queue
  }

  /** Opens a stream, now and after every loss; returns what cancels it. */
  #open(
    path: string,
    input: unknown,
    options: ClientSubscribeOptions & { readonly requestId: string },
    limit: number,
    queue: ValueQueue<unknown>,
  ): () => void {
    const { requestId, idleTimeout = Number.POSITIVE_INFINITY } = options
    const resumption = options.resume && new Resumption(options.resume, input)
    const type = options.type ?? this.link?.types.get(path)
    const single = type !== undefined && type !== 'subscription'
    const passed = { ...options, ...(Number.isFinite(limit) && { deadline: limit }) }
    const giveUp = (link: Link, error: CallError) => {
      queue.end(error)
      link.abort(requestId)
    }
    const sink = (link: Link, unsure = type === undefined): RequestSink => ({
      once: single,
      value: value => {
        const problem = attempt(() => {
          if (resumption?.repeats(value)) return
          if (!queue.push(value))
            throw new CallError('RESOURCE_EXHAUSTED', `the consumer of ${path} is too slow for its values`)
          if (queue.full) link.hold()
        })
        if (problem) giveUp(link, problem)
        else if (single) queue.end()
        else if (unsure) void link.findOutKind(requestId, path, options)
        unsure = false
      },
      end: aborted => {
        options.onEnd?.(aborted)
        queue.end()
      },
      fail: error => {
        if (link.closed && resumption) submit()
        else queue.end(error)
      },
    })
    let current: Link | undefined
    const task: Task = {
      path,
      expires: limit,
      sent: false,
      ...waiting(options),
      open: link => {
        current = link
        task.sent = true
        const problem = attempt(() => link.request(path, resumption ? resumption.open() : input, passed, sink(link)))
        if (problem) queue.end(problem)
      },
      fail: error => queue.end(error),
      abort: () => queue.end(),
    }
    const submit = () => {
      task.expires = Math.min(limit, this.#now() + idleTimeout)
      this.#submit(task)
    }
    submit()
    return () => {
      if (!this.#waiting.leave(task)) current?.abort(requestId)
    }
  }

  #submit(task: Task): void {
    const { link, state } = this.#connection
    if (link) task.open(link)
    else if (state.kind === 'closed') task.fail(closedClient(state.reason)(task))
    else this.#waiting.enter(task)
  }

  /** The type of an operation, asked for once on each connection. */
  async #learn(path: string, expires: number): Promise<OperationType | undefined> {
    const known = this.link?.types.get(path)
    if (known !== undefined) return known
    const { result } = await this.#schema(path, expires)
    const type = result.ok ? readType(result.value) : undefined
    if (type !== undefined) this.link?.types.remember(path, type)
    return type
  }

  #schema(path: string, expires: number): Promise<ResponseEnvelope> {
    const how: Sending = { requestId: crypto.randomUUID(), expires, type: 'query', retry: true }
    return this.#send('/services/schema', { name: path }, NO_OPTIONS, how)
  }

  #now(): number {
    return this.#clock.now() / 1000
  }
}

interface Sending {
  readonly requestId: string
  readonly expires: number
  readonly type: OperationType | undefined
  readonly retry: boolean
}

const NO_OPTIONS = Object.freeze({})

function waiting({ signal, wait }: { readonly signal?: AbortSignal; readonly wait?: boolean }) {
  return { ...(signal && { signal }), ...(wait !== undefined && { wait }) }
}

function closedClient(reason: string) {
  return (task: Task) => WaitingRoom.refusal(task, `the client is closed (${reason})`)
}

/** What the application's own functions throw must not reach the transport that delivers. */
function attempt(run: () => void): CallError | undefined {
  try {
    run()
    return undefined
  } catch (thrown) {
    return thrown instanceof CallError ? thrown : new CallError('INTERNAL', String(thrown))
  }
}
