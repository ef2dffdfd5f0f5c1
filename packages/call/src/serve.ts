// Running a local operation for a request, from a link or from an env: the same checks in the same order (CALL-REG-04).

import { CallContext } from './context.ts'
import { type Binding, type BoundCall, type EnvAssembly, unknownOperation } from './env.ts'
import { CallError } from './error.ts'
import type { Inbound } from './inbound.ts'
import { jsonProblem } from './json.ts'
import type { OperationRegistry, Registered } from './registry.ts'
import type { InboundRequest } from './request.ts'
import { ResponseEnvelope } from './response.ts'

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

/** Nobody is left to hear what goes wrong here. */
async function closeQuietly(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.()
  } catch {
    return
  }
}

/** The local path of an env: a function call, values by reference (CALL-ENV-03). */
export function local(registry: OperationRegistry, options: { readonly strict?: boolean } = {}): Binding {
  const prepared = (call: BoundCall, stream: boolean): Prepared | CallError => {
    const path = `/${call.namespace}/${call.op}`
    const operation = registry.find(path)
    if (!operation) return unknownOperation(path)
    if (operation.stream !== stream)
      return new CallError('INVALID_OPERATION_TYPE', `${path} is a ${operation.spec.opType}`)
    const problem =
      overdue(call) ?? (options.strict ? unfit('INVALID_INPUT', 'the input', call.input) : undefined)
    if (problem) return problem
    const input = options.strict ? throughJson(call.input) : call.input
    const refused = registry.refuse(operation, input, call.parent?.identity, true)
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
      if (!(answer instanceof Promise)) return options.strict ? strictly(answer, path) : answer
      const watched = withParent(call, ready.context, within(call, ready.context, answer))
      return options.strict ? watched.then(response => strictly(response, path)) : watched
    },
    subscribe(call) {
      const ready = prepared(call, true)
      if (ready instanceof CallError) throw ready
      return values(registry, call, ready)
    },
  }
}

interface Prepared {
  readonly operation: Registered
  readonly input: unknown
  readonly context: CallContext
}

/** CALL-SUB-05: a child is aborted with its parent, unless it was started to go on. */
async function withParent(
  call: BoundCall,
  context: CallContext,
  answer: Promise<ResponseEnvelope>,
): Promise<ResponseEnvelope> {
  if (!call.parent || call.options.abortPolicy === 'continue-running') return answer
  const off = call.parent.onAbort(reason => context.abort(reason))
  try {
    return await answer
  } finally {
    off()
  }
}

/** A deadline of a local call is checked as a link checks that of a remote one (CALL-ENV-06, CALL-PEND-04). */
function overdue({ options: { deadline }, assembly: { clock } }: BoundCall): CallError | undefined {
  if (deadline === undefined) return undefined
  if (!Number.isFinite(deadline)) return new CallError('INVALID_INPUT', 'a deadline must be a finite number')
  return deadline <= clock.now() / 1000
    ? new CallError('TIMEOUT', 'the deadline has passed already')
    : undefined
}

/** CALL-CTX-03: when the deadline passes, the caller is told, the signal fires, and the later result is discarded. */
function within(
  call: BoundCall,
  context: CallContext,
  answer: Promise<ResponseEnvelope>,
): Promise<ResponseEnvelope> {
  const { deadline } = call.options
  if (deadline === undefined) return answer
  const { clock } = call.assembly
  return new Promise(resolve => {
    const late = () => {
      const error = new CallError('TIMEOUT', `/${call.namespace}/${call.op} was not answered in time`)
      context.abort(error)
      resolve(ResponseEnvelope.failure(call.requestId, error))
    }
    const cancel = clock.after(deadline - clock.now() / 1000, late, { background: true })
    void answer.then(response => {
      cancel()
      resolve(response)
    })
  })
}

async function* values(
  registry: OperationRegistry,
  call: BoundCall,
  { operation, input, context }: Prepared,
) {
  const keeps = call.options.abortPolicy === 'continue-running'
  const off = keeps ? undefined : call.parent?.onAbort(reason => context.abort(reason))
  const iterator = registry.stream(operation, input, context)
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      if (done) return
      const bad = registry.checkOutput(operation, value)
      if (bad) throw bad
      yield value
    }
  } catch (thrown) {
    throw registry.failureOf(operation, thrown)
  } finally {
    off?.()
    await iterator.return?.()
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
  return ResponseEnvelope.success(
    response.requestId,
    throughJson(response.result.value),
    response.result.meta,
  )
}
