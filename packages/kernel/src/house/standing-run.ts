// A run of the node's own that never ends: the node coordinates it. At a size limit a successor takes over, with the
// head of the old run in its context.
import { invariant, type ObjectId, ok, type Result, type RunId, unwrap } from '@parley/core'
import type { ReadableRun } from '@parley/trail'
import type { Command } from '../command.ts'
import { type Run, rootOf } from '../run/run.ts'
import type { RunDraft } from '../run/start.ts'
import type { RunHandle } from '../runtime/handle/run-handle.ts'
import { openChildren } from '../workspace/workspace.ts'

export const HOUSE_KEY = 'house'
export const LIBRARY_KEY = 'library'

/** Members of a root's context that mark a run as the runtime's own. */
export const STANDING_KEYS = [HOUSE_KEY, LIBRARY_KEY] as const

export interface Previous {
  readonly run: RunId
  readonly seq: number
  readonly hash: string | null
}

interface StandingContext {
  readonly previous: Previous | null
}

export interface StandingHost {
  readonly owner: string
  newId(): RunId
  start(draft: RunDraft, id: RunId): Promise<Result<RunHandle>>
  open(run: RunId): Promise<Result<RunHandle>>
  submit<T>(run: RunId, command: Command): Promise<Result<T>>
  read<T>(run: RunId, reader: (state: Run) => T): Promise<T>
  trail(run: RunId): ReadableRun
}

export interface StandingKind {
  readonly key: (typeof STANDING_KEYS)[number]
  readonly taxonomy?: object
  /** What else the context of a new run says; `previous` is read before anything of it may change. */
  readonly carried: (previous: Previous | null) => Promise<object>
  /** Brings a run whose root is active to where it takes commands; done again at each opening. */
  readonly prepare?: (run: RunId) => Promise<Result<void>>
  /** What a run that is founded although none is unfinished comes after; nothing by default. */
  readonly last?: () => Promise<Previous | null>
}

export class StandingRun {
  readonly #host: StandingHost
  readonly #kind: StandingKind
  readonly #limit: number
  #run: RunId
  #seq: number
  #rotating: Promise<Result<void>> | undefined
  /** A successor is founded only when all of this has arrived. */
  readonly #arriving = new Set<Promise<unknown>>()

  private constructor(host: StandingHost, kind: StandingKind, run: RunId, limit: number, seq: number) {
    this.#host = host
    this.#kind = kind
    this.#run = run
    this.#limit = limit
    this.#seq = seq
  }

  /** The one among the unfinished runs of this kind that has no successor, or a new one. */
  static async open(
    host: StandingHost,
    kind: StandingKind,
    unfinished: readonly RunId[],
    limit: number,
  ): Promise<StandingRun> {
    const found: { readonly run: RunId; readonly previous: RunId | undefined }[] = []
    for (const run of unfinished) {
      const context = await contextOf(host, kind, run)
      if (context) found.push({ run, previous: context.previous?.run })
    }
    // A crash between founding the successor and closing the old one leaves two.
    const [current] = found.filter(({ run }) => !found.some(other => other.previous === run))
    if (!current) {
      const run = unwrap(await establish(host, kind, (await kind.last?.()) ?? null))
      unwrap(await settle(host, kind, run))
      return new StandingRun(host, kind, run, limit, 0)
    }
    for (const { run } of found) if (run !== current.run) await retire(host, run)
    unwrap(await settle(host, kind, current.run))
    const { seq } = await host.trail(current.run).head()
    return new StandingRun(host, kind, current.run, limit, seq)
  }

  get run(): RunId {
    return this.#run
  }

  /** The present run's trail, then those of its predecessors. */
  async trails(): Promise<readonly ReadableRun[]> {
    const trails: ReadableRun[] = []
    for (let run: RunId | undefined = this.#run; run !== undefined; ) {
      trails.push(this.#host.trail(run))
      run = (await contextOf(this.#host, this.#kind, run))?.previous?.run
    }
    return trails
  }

  async submit<T>(command: Command): Promise<Result<T>> {
    if (this.#seq >= this.#limit || this.#rotating) {
      const ready = await this.ready()
      if (!ready.ok) return ready
    }
    const run = this.#run
    const answer = this.#host.submit<T>(run, command)
    this.#arriving.add(answer)
    const result = await answer
    this.#arriving.delete(answer)
    const { seq } = await this.#host.trail(run).head()
    if (run === this.#run) this.#seq = seq
    return result
  }

  /** Founds a successor if it is time for one. */
  async ready(): Promise<Result<void>> {
    if (this.#seq >= this.#limit)
      this.#rotating ??= this.#rotate().finally(() => {
        this.#rotating = undefined
      })
    while (this.#rotating) {
      const rotated = await this.#rotating
      if (!rotated.ok) return rotated
    }
    return ok(undefined)
  }

  read<T>(reader: (state: Run) => T): Promise<T> {
    return this.#host.read(this.#run, reader)
  }

  async #rotate(): Promise<Result<void>> {
    // Nothing may change behind the head that the successor begins with.
    await Promise.allSettled(this.#arriving)
    const old = this.#run
    const head = await this.#host.trail(old).head()
    const successor = await establish(this.#host, this.#kind, { run: old, ...head })
    if (!successor.ok) return successor
    // From here on it is the one, whatever else fails: after a restart it would be the one that is found.
    this.#run = successor.value
    this.#seq = 0
    const settled = await settle(this.#host, this.#kind, successor.value)
    return settled.ok ? retire(this.#host, old) : settled
  }
}

async function establish(
  host: StandingHost,
  { key, taxonomy, carried }: StandingKind,
  previous: Previous | null,
): Promise<Result<RunId>> {
  const id = host.newId()
  const context = { [key]: true, previous, ...(await carried(previous)) }
  const started = await host.start({ owner: host.owner, context, highway: 'off', ...(taxonomy && { taxonomy }) }, id)
  if (started.ok) return ok(id)
  // The first words of its coordinator may have failed, and the run be there all the same.
  const opened = await host.open(id)
  return opened.ok ? ok(id) : started
}

async function retire(host: StandingHost, run: RunId): Promise<Result<void>> {
  const root = await activate(host, run)
  if (!root.ok) return root
  const atWork = await host.read(run, ({ root: each }) => (each ? openChildren(each).map(({ id }) => id) : []))
  for (const workspace of atWork) {
    const caller = await host.read(run, state => rootOf(state).id)
    const aborted = await host.submit(run, { type: 'abort', caller, workspace })
    if (!aborted.ok) return aborted
  }
  return host.submit(run, { type: 'close' })
}

async function settle(host: StandingHost, { prepare }: StandingKind, run: RunId): Promise<Result<void>> {
  const active = await activate(host, run)
  return active.ok && prepare ? prepare(run) : active
}

async function activate(host: StandingHost, run: RunId): Promise<Result<void>> {
  const root = await host.read(run, state => state.root && { id: state.root.id, status: state.root.status })
  invariant(root, 'a run that was started has a root')
  if (root.status !== 'idle') return ok(undefined)
  const started = await host.submit(run, { type: 'emit', caller: root.id, draft: { type: 'started' } })
  return started.ok ? ok(undefined) : started
}

async function contextOf(host: StandingHost, { key }: StandingKind, run: RunId): Promise<StandingContext | undefined> {
  const context = await host.read(run, state => (state[key] ? state.root?.context : undefined))
  if (context == null) return undefined
  const object = await host.trail(run).object(context as ObjectId)
  const value = object?.value as (Partial<StandingContext> & Readonly<Record<string, unknown>>) | undefined
  return value?.[key] === true ? (value as unknown as StandingContext) : undefined
}
