// The operations of the node as members: `node.runs.show({ run })`, typed by what the node registers. A call rejects
// with the error of the operation, which `asFailure` understands.
import {
  type CallMembers,
  type ClientCallOptions,
  type ClientSubscribeOptions,
  type Given,
  type InputOf,
  type OutputOf,
  pathProxy,
  type StreamMembers,
} from '@parley/call'
import type { NodeOperations } from '@parley/node'
import type { MachineView } from './views.ts'

export type NodePath = keyof NodeOperations & string
export type Input<Path extends NodePath> = Given<InputOf<NodeOperations, Path>>
export type Output<Path extends NodePath> = OutputOf<NodeOperations, Path>

export type NodeClient = CallMembers<NodeOperations> & { readonly streams: StreamMembers<NodeOperations> }

/** Calls by path. What applies to all of them, such as a token, is added here. */
export interface Calls {
  call(path: string, input: unknown, options?: ClientCallOptions): Promise<unknown>
  subscribe(path: string, input: unknown, options?: ClientSubscribeOptions): AsyncIterable<unknown>
  close(): void
}

export function nodeClient({ call, subscribe }: Calls): NodeClient {
  type Arguments = readonly [unknown, ClientCallOptions?]
  const streams = pathProxy((path, given) => subscribe(path, ...(given as Arguments)))
  const calls = pathProxy((path, given) => call(path, ...(given as Arguments)))
  return new Proxy(calls, {
    get: (target, name) => (name === 'streams' ? streams : Reflect.get(target, name)),
  }) as NodeClient
}

/** Opens at the first call. */
export function onFirstUse(open: () => Promise<Calls>): Calls {
  let opened: Promise<Calls> | undefined
  const calls = () => (opened ??= open())
  return {
    call: async (path, input, options) => (await calls()).call(path, input, options),
    async *subscribe(path, input, options) {
      yield* (await calls()).subscribe(path, input, options)
    },
    close: () => void opened?.then(({ close }) => close()),
  }
}

/** What holds the node up. A node of another version may not say. */
export async function machineFault(api: NodeClient): Promise<MachineView | undefined> {
  return (await api.node.status({})).machine ?? undefined
}
