// Operations as members: `client.notes.add(input)` is `/notes/add`, `client.dev1.text.count(input)` `/dev1/text/count`.
// At run time every name is one; the compiler knows which exist, from the map of operations.
import type { Static, TSchema } from '@parley/core'
import type { CallArguments, Operation, OperationMap, PathOf } from '../operation.ts'
import type { ClientCallOptions, ClientSubscribeOptions } from './options.ts'

type CallPath<M extends OperationMap> = {
  [Path in PathOf<M>]: M[Path] extends Operation<'subscription'> ? never : Path
}[PathOf<M>]
type StreamPath<M extends OperationMap> = Exclude<PathOf<M>, CallPath<M>>

/** The next segment of a path behind a prefix. */
type NextOf<Path extends string, Prefix extends string> = Path extends `${Prefix}/${infer Next}/${string}`
  ? Next
  : Path extends `${Prefix}/${infer Last}`
    ? Last
    : never

/** An input as callers write it: lists are read-only, and optional members may be undefined, which JSON leaves out. */
export type Given<T> = T extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Given<T[Name]> | (object extends Pick<T, Name> ? undefined : never) }
    : T

type CallMember<O> =
  O extends Operation<infer _Type, infer Input extends TSchema, infer Output extends TSchema>
    ? (...given: CallArguments<Given<Static<Input>>, ClientCallOptions>) => Promise<Static<Output>>
    : unknown
type StreamMember<O> =
  O extends Operation<infer _Type, infer Input extends TSchema, infer Output extends TSchema>
    ? (
        ...given: CallArguments<
          Given<Static<Input>>,
          ClientSubscribeOptions<NoInfer<Given<Static<Input>>>, NoInfer<Static<Output>>>
        >
      ) => AsyncIterable<Static<Output>>
    : unknown

/** A function where a path ends, and members where paths continue. */
export type CallMembers<M extends OperationMap, Prefix extends string = '', Taken extends PropertyKey = never> = {
  readonly [Name in Exclude<NextOf<CallPath<M>, Prefix>, Taken>]: CallMember<M[`${Prefix}/${Name}`]> &
    CallMembers<M, `${Prefix}/${Name}`>
}
export type StreamMembers<M extends OperationMap, Prefix extends string = ''> = {
  readonly [Name in NextOf<StreamPath<M>, Prefix>]: StreamMember<M[`${Prefix}/${Name}`]> &
    StreamMembers<M, `${Prefix}/${Name}`>
}

export type OperationMembers<M extends OperationMap> = CallMembers<M> & { readonly streams: StreamMembers<M> }

/** Anything that calls by path: a client, or what passes calls on to one. */
export interface PathCalls {
  call(path: string, input: unknown, options?: ClientCallOptions): Promise<unknown>
  subscribe(path: string, input: unknown, options?: ClientSubscribeOptions): AsyncIterable<unknown>
}

/** Operations as members over calls by path, the streams among them below `streams`. */
export function operationMembers<M extends OperationMap>({ call, subscribe }: PathCalls): OperationMembers<M> {
  type Arguments = readonly [unknown, ClientCallOptions?]
  const streams = pathProxy((path, given) => subscribe(path, ...(given as Arguments)))
  const calls = pathProxy((path, given) => call(path, ...(given as Arguments)))
  return new Proxy(calls, {
    get: (target, name) => (name === 'streams' ? streams : Reflect.get(target, name)),
  }) as OperationMembers<M>
}

type Use = (path: string, given: readonly unknown[]) => unknown

/** What every name leads on from, and what calls `use` with the path of names that led to it. */
export function pathProxy(use: Use, path = ''): object {
  return new Proxy(NOTHING, {
    // `await` must not be taken for a call of an operation `then`.
    get: (_target, name) =>
      typeof name === 'string' && name !== 'then' ? pathProxy(use, `${path}/${name}`) : undefined,
    apply: (_target, _this, given: readonly unknown[]) => use(path, given),
  })
}

const NOTHING = () => undefined
