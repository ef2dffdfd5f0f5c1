// The operations of the node as members: `node.runs.show({ run })`, typed by what the node registers. A call rejects
// with the error of the operation, which `asFailure` understands.
import {
  type Given,
  type InputOf,
  type OperationMembers,
  type OutputOf,
  operationMembers,
  type PathCalls,
} from '@parley/call'
import type { NodeOperations } from '@parley/node'
import type { MachineView } from './views.ts'

export type NodePath = keyof NodeOperations & string
export type Input<Path extends NodePath> = Given<InputOf<NodeOperations, Path>>
export type Output<Path extends NodePath> = OutputOf<NodeOperations, Path>

export type NodeClient = OperationMembers<NodeOperations>

/** Calls by path. What applies to all of them, such as a token, is added here. */
export interface Calls extends PathCalls {
  close(): void
}

export const nodeClient = (calls: Calls): NodeClient => operationMembers<NodeOperations>(calls)

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
