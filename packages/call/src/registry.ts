// The registry of operations (CALL-REG): specs and handlers by path, checked at registration, run in a fixed order.
import { compileForeign, compileOwn, type Principal, type TSchema, type Validator } from '@parley/core'
import { type AccessRule, accessRule, refusal } from './access.ts'
import type { CallContext } from './context.ts'
import { CallError } from './error.ts'
import { callLimits } from './limits.ts'
import { type Handler, isStreaming, type OperationMap } from './operation.ts'
import type { OperationSpec } from './operation-spec.ts'
import { parsePath } from './path.ts'
import type { ResponseMeta } from './profile/profile.ts'
import { ResponseEnvelope, thrownError } from './response.ts'

interface RegistryOptions {
  /** What happens to output that does not fit its schema; it is never changed. Default `warn`. */
  readonly outputValidation?: 'warn' | 'error' | 'off'
  /** Callers get `internal error` instead of the message of an unexpected Error. */
  readonly maskInternalErrors?: boolean
  /** Refusals name the scopes that are missing. */
  readonly explainDenials?: boolean
  readonly warn?: (message: string) => void
  /** The node's own operations below `/services/`. */
  readonly reserved?: boolean
  readonly from?: SpecSource
}

interface SpecSource {
  /** The spec came from outside (a peer, an MCP server): its schemas are bounded, and compiled at once. */
  readonly foreign?: boolean
  /** A constant of the program, compiled by a test: its schemas are not checked, which takes 50 ms of every start. */
  readonly proven?: boolean
}

const OWN: SpecSource = Object.freeze({})
export const PROVEN: SpecSource = Object.freeze({ proven: true })

/** One registered operation, ready to run. Calls in flight keep the one that they started with. */
export interface Registered {
  readonly path: string
  readonly namespace: string
  readonly spec: OperationSpec
  readonly access: AccessRule
  readonly external: boolean
  readonly stream: boolean
  readonly handler: Handler | undefined
  readonly input: Validator<unknown> | undefined
  readonly output: Validator<unknown> | undefined
  readonly codes: readonly string[]
  /** What `details` of its own errors must fit, by code. */
  readonly details: ReadonlyMap<string, Validator<unknown> | undefined>
}

export class OperationRegistry {
  readonly #operations = new Map<string, Registered>()
  readonly #options: RegistryOptions
  readonly #outputValidation: RegistryOptions['outputValidation']
  readonly #listeners = new Set<() => void>()

  constructor(operations: OperationMap = {}, options: RegistryOptions = {}) {
    this.#options = options
    this.#outputValidation = options.outputValidation ?? 'warn'
    this.registerAll(operations, options.from)
  }

  /** Spec and handler at once. Throws for anything wrong, and then nothing is stored; a path again replaces both. */
  register(spec: OperationSpec, handler: Handler, from: SpecSource = OWN): void {
    this.#store({ ...describe(spec, this.#options.reserved, from), handler: checkedHandler(spec, handler) })
  }

  registerSpec(spec: OperationSpec, from: SpecSource = OWN): void {
    const handler = this.#operations.get(spec.name)?.handler
    this.#store({ ...describe(spec, this.#options.reserved, from), handler: handler && checkedHandler(spec, handler) })
  }

  registerHandler(path: string, handler: Handler): void {
    const known = this.#operations.get(path)
    if (!known) throw new TypeError(`no operation ${path} is registered`)
    this.#store({ ...known, handler: checkedHandler(known.spec, handler) })
  }

  /** Each under the path that is its key; one that has a name too must have that one. */
  registerAll(operations: OperationMap, from: SpecSource = OWN): void {
    for (const [path, { spec, handler }] of Object.entries(operations)) {
      const { name = path } = spec
      if (path !== name) throw new TypeError(`the operation ${name} is filed as ${path}`)
      this.register({ ...spec, name }, handler, from)
    }
  }

  find(path: string): Registered | undefined {
    return this.#operations.get(path)
  }

  /** Calls back whenever an operation was registered or replaced; the answer ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  list(): readonly Registered[] {
    return [...this.#operations.values()].toSorted((one, other) => (one.path < other.path ? -1 : 1))
  }

  #store(registered: Registered): void {
    if (this.#operations.size >= callLimits.operations && !this.#operations.has(registered.path))
      throw new RangeError(`a registry holds at most ${callLimits.operations} operations`)
    this.#operations.set(registered.path, registered)
    for (const listener of this.#listeners) listener()
  }

  /** CALL-REG-04 without its first step: what stands between the caller and the handler. Undefined if nothing does. */
  refuse(
    operation: Registered,
    input: unknown,
    identity: Principal | undefined,
    trusted: boolean,
  ): CallError | undefined {
    if (!operation.handler) return notFound(operation.path)
    const denied = trusted ? undefined : refusal(operation.access, identity, this.#options.explainDenials)
    if (denied) return denied
    if (!operation.input || operation.input.is(input)) return undefined
    const errors = problems(operation.input, input)
    const [first] = errors
    const where = first && `: ${first.path === '' ? '' : `${first.path.slice(1)}: `}${first.message}`
    return new CallError('INVALID_INPUT', `the input of ${operation.path} does not fit its schema${where ?? ''}`, {
      details: { errors },
    })
  }

  /** Runs a query or mutation that nothing stands in the way of. Never rejects. */
  run(operation: Registered, input: unknown, context: CallContext): ResponseEnvelope | Promise<ResponseEnvelope> {
    try {
      const result = operation.handler!(input, context)
      if (isThenable(result)) return this.#later(operation, result, context.requestId)
      return this.#respond(operation, result, context.requestId)
    } catch (thrown) {
      return ResponseEnvelope.failure(context.requestId, this.failureOf(operation, thrown))
    }
  }

  async #later(operation: Registered, result: PromiseLike<unknown>, requestId: string): Promise<ResponseEnvelope> {
    try {
      return this.#respond(operation, await result, requestId)
    } catch (thrown) {
      return ResponseEnvelope.failure(requestId, this.failureOf(operation, thrown))
    }
  }

  #respond(operation: Registered, result: unknown, requestId: string): ResponseEnvelope {
    if (!(result instanceof ResponseEnvelope)) return this.#succeed(operation, result, requestId)
    if (!result.result.ok) return ResponseEnvelope.failure(requestId, this.#checkError(operation, result.result.error))
    return this.#succeed(operation, result.result.value, requestId, result.result.meta)
  }

  #succeed(operation: Registered, given: unknown, requestId: string, meta?: ResponseMeta): ResponseEnvelope {
    // CALL-ENV-06: as on the wire, where there is no undefined.
    const value = given === undefined ? null : given
    const bad = this.checkOutput(operation, value)
    return bad ? ResponseEnvelope.failure(requestId, bad) : ResponseEnvelope.success(requestId, value, meta)
  }

  failureOf(operation: Registered, thrown: unknown): CallError {
    return this.#checkError(operation, thrownError(thrown, operation.codes, this.#options.maskInternalErrors))
  }

  /** CALL-ERR-02. */
  #checkError(operation: Registered, error: CallError): CallError {
    const { code, details } = error
    if (this.#outputValidation !== 'error' || details === undefined) return error
    const schema = operation.details.get(code)
    return !schema || schema.is(details) ? error : invalidOutput(problems(schema, details))
  }

  /** The values of a subscription that nothing stands in the way of. Throws `CallError`. */
  stream(operation: Registered, input: unknown, context: CallContext): AsyncIterator<unknown> {
    const produced = operation.handler!(input, context) as AsyncIterable<unknown> | undefined
    const iterator = produced?.[Symbol.asyncIterator]?.()
    if (!iterator) throw new CallError('INTERNAL', `the handler of ${operation.path} must return an async iterable`)
    return iterator
  }

  /** CALL-REG-07. */
  checkOutput(operation: Registered, value: unknown): CallError | undefined {
    if (this.#outputValidation === 'off' || !operation.output || operation.output.is(value ?? null)) return undefined
    const errors = problems(operation.output, value ?? null)
    if (this.#outputValidation === 'warn') {
      this.#options.warn?.(`the output of ${operation.path} does not fit its schema: ${JSON.stringify(errors[0])}`)
      return undefined
    }
    return invalidOutput(errors)
  }
}

function invalidOutput(errors: ReturnType<typeof problems>): CallError {
  return new CallError('INTERNAL', 'output validation failed', { details: { errors } })
}

/** Anything that can be awaited. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value instanceof Promise) return true
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

export function notFound(path: string): CallError {
  return new CallError('NOT_FOUND', `operation not found: ${path}`)
}

/** Discovery and registration (CALL-DISC-03). */
export const RESERVED_SERVICE = 'services'

function describe(spec: OperationSpec, reserved = false, from: SpecSource = OWN): Omit<Registered, 'handler'> {
  const path = parsePath(spec.name)
  if (!path || path.path !== spec.name || path.node !== undefined)
    throw new TypeError(`'${spec.name}' is no local operation path: /{service}/{op}`)
  if (path.service === RESERVED_SERVICE && !reserved)
    throw new TypeError(`${spec.name}: the service '${RESERVED_SERVICE}' belongs to the protocol`)
  const { namespace } = spec
  if (namespace !== undefined && namespace !== path.service)
    throw new TypeError(`${spec.name}: its namespace is '${path.service}', not '${String(namespace)}'`)
  if (!['query', 'mutation', 'subscription'].includes(spec.opType))
    throw new TypeError(`${spec.name}: there is no operation type '${spec.opType}'`)
  const codes = (spec.errorSchemas ?? []).map(({ code }) => code)
  if (codes.includes('') || new Set(codes).size !== codes.length)
    throw new TypeError(`${spec.name}: error codes must be there and differ`)
  return {
    path: path.path,
    namespace: path.service,
    spec,
    access: accessOf(spec),
    external: spec.visibility !== 'internal',
    stream: spec.opType === 'subscription',
    input: validatorOf(spec.name, spec.inputSchema, from),
    output: validatorOf(spec.name, spec.outputSchema, from),
    codes,
    details: detailsOf(spec, from),
  }
}

/** Access that is not stated, which only untyped code can do, must not let everybody in. */
function accessOf({ name, accessControl }: OperationSpec): AccessRule {
  try {
    return accessRule(accessControl)
  } catch (cause) {
    throw new TypeError(`${name}: ${(cause as TypeError).message}`)
  }
}

/** CALL-REG-05: a subscription streams, and nothing else does. */
function checkedHandler(spec: OperationSpec, handler: Handler): Handler {
  const wanted = spec.opType === 'subscription'
  if (isStreaming(handler) === wanted) return handler
  throw new TypeError(
    wanted
      ? `${spec.name} is a subscription: its handler must be an async generator function, or marked with streaming()`
      : `${spec.name} is a ${spec.opType}: its handler must not stream`,
  )
}

/** CALL-REG-06. `{}` and `true` take everything. */
function validatorOf(name: string, given: unknown, { foreign, proven }: SpecSource): Validator<unknown> | undefined {
  if (given === undefined || given === true || isEmpty(given)) return undefined
  const validator = foreign ? compileForeign(given) : compileOwn(given, { proven })
  if (validator.ok) return validator.value
  throw new TypeError(`${name}: ${validator.error.message}`)
}

/** By code. Most errors of an operation have details of the same form, which is looked at once. */
function detailsOf({ name, errorSchemas = [] }: OperationSpec, from: SpecSource): Registered['details'] {
  const byText = new Map<string, Validator<unknown> | undefined>()
  const validator = (schema: TSchema) => {
    const text = JSON.stringify(schema)
    if (!byText.has(text)) byText.set(text, validatorOf(name, schema, from))
    return byText.get(text)
  }
  return new Map(errorSchemas.map(({ code, schema }) => [code, validator(schema)]))
}

function isEmpty(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0
}

function problems(validator: Validator<unknown>, value: unknown) {
  const found = validator.problems(value).slice(0, callLimits.validationErrors)
  return found.map(({ pointer: path, expected, actual }) => ({ path, message: `expected ${expected}, got ${actual}` }))
}
