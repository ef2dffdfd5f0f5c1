// Running a local operation for a request, from a link or from an env: the same checks in the same order (CALL-REG-04).
import { CallContext } from './context.ts'
import { type Binding, type BoundCall, type EnvAssembly, failed, unknownOperation, wrongType } from './env.ts'
import { CallError } from './error.ts'
import { callDefaults } from './limits.ts'
import type { Inbound } from './link/inbound.ts'
import type { OperationRegistry, Registered } from './registry.ts'
import { ResponseEnvelope } from './response.ts'
import { jsonProblem, withoutUndefined } from './wire/json.ts'
import type { InboundRequest } from './wire/request.ts'

/** Handles a peer's request of an operation of this node. Answers through `inbound`. */
export function serve(
  registry: OperationRegistry,
  operation: Registered,
  request: InboundRequest,
  inbound: Inbound,
  assembly: EnvAssembly,
): void {
  const refused = registry.refuse(operation, request.input, inbound.identity, false)
  if (refused) {
    inbound.fail(refused)
    return
  }
  if (!operation.stream) inbound.limit()
  const context = inbound.context(request, assembly)
  if (operation.stream) {
    const { link } = inbound
    link.started()
    void pump(registry, operation, request.input, context, inbound).then(() => link.finished())
    return
  }
  const answer = registry.run(operation, request.input, context)
  if (!(answer instanceof Promise)) {
    inbound.answer(answer)
    return
  }
  const { link } = inbound
  link.started()
  void answer.then(response => {
    link.finished()
    inbound.answer(response)
  })
}

/** Pulls one value at a time, and none while the link is full (CALL-SUB-04). Never rejects. */
async function pump(
  registry: OperationRegistry,
  operation: Registered,
  input: unknown,
  context: CallContext,
  inbound: Inbound,
): Promise<void> {
  let iterator: AsyncIterator<unknown>
  try {
    iterator = registry.stream(operation, input, context)
  } catch (thrown) {
    inbound.fail(registry.failureOf(operation, thrown))
    return
  }
  let finished = false
  const close = () => {
    if (finished) return
    finished = true
    void closeQuietly(iterator)
  }
  inbound.onAbort(close)
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      if (inbound.ended) break
      if (done) {
        finished = true
        inbound.complete()
        return
      }
      const bad = registry.checkOutput(operation, value)
      if (bad) {
        inbound.fail(bad)
        break
      }
      if (!inbound.value(value)) break
      const room = inbound.room()
      if (room) await room
      if (inbound.ended) break
    }
  } catch (thrown) {
    finished = true
    inbound.fail(registry.failureOf(operation, thrown))
    return
  }
  close()
}

/** Errors are dropped: the consumer is gone. */
async function closeQuietly(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.()
  } catch {
    return
  }
}

/** The local path of an env: a function call, values by reference (CALL-ENV-03). */
export function local(registry: OperationRegistry, options: { readonly strict?: boolean } = {}): Binding {
  const { strict = false } = options
  const prepared = (call: BoundCall, stream: boolean): Prepared | CallError => {
    const path = `/${call.namespace}/${call.op}`
    const operation = registry.find(path)
    if (!operation) return unknownOperation(path)
    if (operation.stream !== stream) return wrongType(path, operation.spec.opType)
    const problem = strict ? unfit('INVALID_INPUT', 'the input', call.input) : undefined
    if (problem) return problem
    const check = (given: unknown) => registry.refuse(operation, given, call.parent?.identity, true)
    let input = strict ? throughJson(call.input) : call.input
    let refused = check(input)
    // CALL-ENV-06: what is undefined does not travel, so it is no reason to refuse.
    if (refused?.code === 'INVALID_INPUT' && jsonProblem(input) === undefined) {
      input = withoutUndefined(input)
      refused = check(input)
    }
    if (refused) return refused
    const { deadline } = call.options
    const context = call.parent
      ? call.parent.child(call.requestId, deadline)
      : new CallContext({ requestId: call.requestId, deadline }, call.assembly, true)
    return { operation, input, context }
  }
  return {
    invoke(call) {
      const ready = prepared(call, false)
      if (ready instanceof CallError) return ResponseEnvelope.failure(call.requestId, ready)
      const answer = registry.run(ready.operation, ready.input, ready.context)
      const path = ready.operation.path
      if (!(answer instanceof Promise)) return strict ? strictly(answer, path) : answer
      const watched = answered(call, ready.context, answer)
      return strict ? watched.then(response => strictly(response, path)) : watched
    },
    subscribe(call) {
      const ready = prepared(call, true)
      return ready instanceof CallError ? failed(ready) : values(registry, call, ready, strict)
    },
  }
}

interface Prepared {
  readonly operation: Registered
  readonly input: unknown
  readonly context: CallContext
}

/** The handler's answer, unless the call ends before: the later result is discarded. */
function answered(call: BoundCall, context: CallContext, answer: Promise<ResponseEnvelope>): Promise<ResponseEnvelope> {
  return new Promise(resolve => {
    // CALL-PEND-04: a call ends even if no deadline was set.
    const bounded = (call.parent?.deadline ?? call.options.deadline) !== undefined
    const timeout = bounded ? undefined : callDefaults.timeout
    const done = endEarly(call, context, timeout, error => resolve(ResponseEnvelope.failure(call.requestId, error)))
    void answer.then(response => {
      done()
      resolve(response)
    })
  })
}

/**
 * Ends a local call as a remote one ends (CALL-ENV-06): when its deadline passes (CALL-CTX-03), or with its parent
 * (CALL-SUB-05), unless it was started to continue. Aborts its handler. Returns a function that stops watching.
 */
function endEarly(
  call: BoundCall,
  context: CallContext,
  timeout: number | undefined,
  end: (error: CallError) => void,
): () => void {
  const { clock } = call.assembly
  const path = `/${call.namespace}/${call.op}`
  const keeps = call.options.abortPolicy === 'continue-running'
  // A parent that ends at its own deadline ends the call too, unless the call continues without it.
  const deadline = keeps ? context.deadline : call.options.deadline
  const left = deadline === undefined ? timeout : Math.max(0, deadline - clock.now() / 1000)
  const late = () => {
    const error = new CallError('TIMEOUT', `${path} was not answered in time`)
    context.abort(error)
    end(error)
  }
  const cancel =
    left === undefined || left === Number.POSITIVE_INFINITY ? undefined : clock.after(left, late, { background: true })
  const leave = keeps
    ? undefined
    : call.parent?.onAbort(reason => {
        cancel?.()
        context.abort(reason)
        end(reason.code === 'TIMEOUT' ? reason : new CallError('ABORTED', `${path} was aborted`))
      })
  return () => {
    cancel?.()
    leave?.()
  }
}

/** As over a link: `TIMEOUT` at the deadline, a plain end when the parent is aborted; the handler learns of both. */
async function* values(
  registry: OperationRegistry,
  call: BoundCall,
  { operation, input, context }: Prepared,
  strict: boolean,
): AsyncGenerator<unknown> {
  let ended: CallError | undefined
  let wake: (() => void) | undefined
  const done = endEarly(call, context, undefined, error => {
    ended = error
    wake?.()
  })
  let iterator: AsyncIterator<unknown> | undefined
  try {
    iterator = registry.stream(operation, input, context)
    while (!ended) {
      const pulled = iterator.next()
      const next = await new Promise<IteratorResult<unknown> | undefined>((resolve, reject) => {
        wake = () => resolve(undefined)
        Promise.resolve(pulled).then(resolve, reject)
      })
      if (!next) break
      if (next.done) {
        iterator = undefined
        return
      }
      const value = next.value === undefined ? null : next.value
      const bad =
        registry.checkOutput(operation, value) ??
        (strict ? unfit('INTERNAL', `the result of ${operation.path}`, value) : undefined)
      if (bad) throw bad
      yield strict ? throughJson(value) : value
    }
    if (ended?.code === 'TIMEOUT') throw ended
  } catch (thrown) {
    throw registry.failureOf(operation, thrown)
  } finally {
    done()
    if (iterator) {
      context.abort(new CallError('ABORTED', 'the caller aborted'))
      void closeQuietly(iterator)
    }
  }
}

/** CALL-ENV-06: what would not survive the wire does not survive this. */
function throughJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? 'null') as unknown
}

function unfit(code: string, what: string, value: unknown): CallError | undefined {
  const problem = jsonProblem(value)
  return problem === undefined ? undefined : new CallError(code, `${what} is no JSON: ${problem}`)
}

function strictly(response: ResponseEnvelope, path: string): ResponseEnvelope {
  if (!response.result.ok) return response
  const bad = unfit('INTERNAL', `the result of ${path}`, response.result.value)
  if (bad) return ResponseEnvelope.failure(response.requestId, bad)
  return ResponseEnvelope.success(response.requestId, throughJson(response.result.value), response.result.meta)
}
