// Operations as they are registered: a spec, and the function behind it, apart (CALL-REG-01). A map of them is also a
// type, from which callers know inputs and outputs.
import type { Static, TSchema } from '@parley/core'
import type { OperationContext } from './context.ts'
import type { OperationSpec, OperationType } from './operation-spec.ts'
import type { ResponseEnvelope } from './response.ts'

type Awaitable<T> = T | PromiseLike<T>
/** Who has nothing to say returns nothing: it travels as `null`. */
type Given<Output> = null extends Output ? Output | undefined : Output

/** Returns a value, or an envelope where it wants to add how the value came about. */
type CallHandler<Input = unknown, Output = unknown> = (
  input: Input,
  context: OperationContext,
) => Awaitable<Given<Output> | ResponseEnvelope<Output>>

export type StreamHandler<Input = unknown, Output = unknown> = (
  input: Input,
  context: OperationContext,
) => AsyncIterable<Output>

export type Handler = CallHandler | StreamHandler

/** Functions that were marked as streaming because nothing about them shows it (CALL-REG-05). */
const streams = new WeakSet<object>()

/** Says that a function which is no async generator returns an async iterable. */
export function streaming<H extends StreamHandler<never, unknown>>(handler: H): H {
  streams.add(handler)
  return handler
}

export function isStreaming(handler: Handler): boolean {
  return streams.has(handler) || Object.prototype.toString.call(handler) === '[object AsyncGeneratorFunction]'
}

/** A spec whose path may be left to the map that it stands in. */
type SpecInMap<Type extends OperationType, Input extends TSchema, Output extends TSchema> = Omit<
  OperationSpec<Input, Output>,
  'name' | 'opType'
> & { readonly name?: string; readonly opType: Type }

export interface Operation<
  Type extends OperationType = OperationType,
  Input extends TSchema = TSchema,
  Output extends TSchema = TSchema,
> {
  readonly spec: SpecInMap<Type, Input, Output>
  readonly handler: Handler
}

export function operation<const Type extends OperationType, Input extends TSchema, Output extends TSchema>(
  spec: SpecInMap<Type, Input, Output>,
  handler: Type extends 'subscription'
    ? StreamHandler<Static<Input>, Static<Output>>
    : CallHandler<Static<Input>, Static<Output>>,
): Operation<Type, Input, Output> {
  return { spec, handler: handler as Handler }
}

/** Operations by path, for example `'/fs/readFile'`. */
export type OperationMap = Readonly<Record<string, Operation>>

/** A worker's operations as a head's callers know them: `/text/count` of the node `dev1` is `/dev1/text/count`. */
export type RoutedOperations<Node extends string, M extends OperationMap> = {
  readonly [Path in PathOf<M> as `/${Node}${Path}`]: M[Path]
}

export type PathOf<M extends OperationMap> = keyof M & string
/** Of a map that nothing is known about, any. */
export type ServiceOf<M extends OperationMap> = string extends keyof M
  ? string
  : PathOf<M> extends `/${infer Service}/${string}`
    ? Service
    : never
export type OpOf<M extends OperationMap, Service extends string> = string extends keyof M
  ? string
  : Extract<PathOf<M>, `/${Service}/${string}`> extends `/${Service}/${infer Op}`
    ? Op
    : never
export type InputOf<M extends OperationMap, Path extends string> =
  M[Path] extends Operation<OperationType, infer Input> ? Static<Input> : unknown
export type OutputOf<M extends OperationMap, Path extends string> =
  M[Path] extends Operation<OperationType, TSchema, infer Output> ? Static<Output> : unknown

type TypeOf<M extends OperationMap, Path extends string> = M[Path] extends Operation<infer Type> ? Type : OperationType
export type CallOpOf<M extends OperationMap, Service extends string> = {
  [Op in OpOf<M, Service>]: TypeOf<M, `/${Service}/${Op}`> extends 'subscription' ? never : Op
}[OpOf<M, Service>]
export type StreamOpOf<M extends OperationMap, Service extends string> = {
  [Op in OpOf<M, Service>]: 'subscription' extends TypeOf<M, `/${Service}/${Op}`> ? Op : never
}[OpOf<M, Service>]

/** Input and options behind an operation's name. Where `null` is an input, none has to be given. */
export type CallArguments<Input, Options> = null extends Input
  ? [input?: Input, options?: Options]
  : [input: Input, options?: Options]
