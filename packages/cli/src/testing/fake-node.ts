// A node for tests of commands: what each operation that a test brings answers. Another one is a defect of the test.
import type { Operation } from '@parley/call'
import type { NodeOperations } from '@parley/node'
import type { Calls, Input, NodePath, Output } from '../node/client.ts'
import type { RunView } from '../node/views.ts'

/** As much of the output as the command looks at. */
type Shown<Path extends NodePath> = Partial<Output<Path>>
type IsStream<Path extends NodePath> = NodeOperations[Path] extends Operation<'subscription'> ? true : false

export type Answering<Path extends NodePath> = (
  input: Input<Path>,
  options: { readonly signal?: AbortSignal; readonly authToken?: string },
) => IsStream<Path> extends true ? AsyncIterable<Shown<Path>> : Promise<Shown<Path>>

/** What is answered, with what it is refused, or what finds it out. */
export type Brought = {
  readonly [Path in NodePath]?:
    | Answering<Path>
    | Error
    | (IsStream<Path> extends true ? readonly Shown<Path>[] : Shown<Path>)
}

export interface FakeNode extends Calls {
  readonly closed: () => boolean
  /** The inputs that an operation got, in their order. */
  asked<Path extends NodePath>(path: Path): readonly Input<Path>[]
}

export function fakeNode(brought: Brought = {}): FakeNode {
  let closed = false
  const answers: Readonly<Record<string, unknown>> = {
    '/node/status': { machine: null },
    // What is here is called as people call it.
    '/runs/list': { runs: [{ run: 'last' }] },
    ...brought,
  }
  const asked: (readonly [path: string, input: unknown])[] = []
  const answer = (path: string, input: unknown, options: object = {}): unknown => {
    asked.push([path, input])
    if (ACTS.has(path)) {
      // After its answer.
      const { resolve } = acted
      acted = Promise.withResolvers<void>()
      setImmediate(resolve)
    }
    const found = answers[path]
    if (found === undefined) throw new Error(`the test did not bring ${path}`)
    if (found instanceof Error) throw found
    return typeof found === 'function' ? found(input, options) : found
  }
  return {
    call: async (path, input, options) => answer(path, input, options),
    subscribe: (path, input, options) => {
      const found = answer(path, input, options) as AsyncIterable<unknown> | readonly unknown[]
      return Symbol.asyncIterator in found ? found : each(found)
    },
    close: () => {
      closed = true
    },
    closed: () => closed,
    asked: path => asked.filter(([each]) => each === path).map(([, input]) => input) as never,
  }
}

async function* each<T>(values: readonly T[]): AsyncIterable<T> {
  yield* values
}

/** What a person does, after which a run goes on. */
const ACTS: ReadonlySet<string> = new Set(['/gates/respond', '/escalations/respond', '/runs/abort'])
let acted = Promise.withResolvers<void>()

/**
 * Follows through the given views. The next round comes when somebody follows again, or has acted; the last one may
 * never come to an end.
 */
export function following(...rounds: readonly (readonly RunView[])[]): Answering<'/runs/follow'> {
  const left = [...rounds]
  return async function* (_input, { signal }) {
    for (;;) {
      const act = acted.promise
      const views = left.length > 1 ? left.shift()! : left[0]!
      for (const view of views) {
        if (signal?.aborted) return
        yield view
      }
      if (!['waiting', 'working'].includes(views.at(-1)?.state ?? 'working')) return
      if (left.length === 1 && views === left[0]) return aborted(signal)
      await Promise.race([act, aborted(signal)])
      if (signal?.aborted) return
    }
  }
}

/** Resolves when whoever listens has gone. */
export function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) resolve()
    signal?.addEventListener('abort', () => resolve(), { once: true })
  })
}
