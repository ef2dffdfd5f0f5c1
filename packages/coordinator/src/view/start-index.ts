// How runs began, by their root contexts. A start never changes, so what was read once is kept, within bounds; the rest
// is found over the trail's index, which reads it off the main thread. Nothing here outlives the process.
import { canonicalize, parseTimestamp, type RunId, type StoredRun, type WorkspaceId } from '@parley/core'
import type { FollowedEntry, Trail } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import { coordinatorLimits } from '../limits.ts'
import type { RunFacts } from '../run/facts.ts'

export interface RunStart extends StoredRun {
  /** The idempotency key of the request. */
  readonly key: string | undefined
}

/** The same without a large context, which stays the object that it is on the trail. */
type KeptStart = Omit<RunStart, 'context'> & Partial<Pick<RunStart, 'context'>>

export class StartIndex {
  readonly #trail: Pick<Trail, 'starts'>
  /** The oldest first; undefined for a run that no coordinator started. */
  readonly #kept = new Map<RunId, KeptStart | undefined>()

  constructor(trail: Pick<Trail, 'starts'>) {
    this.#trail = trail
  }

  /** Undefined where there is no such run, or a coordinator did not start it. Throws where it cannot be read. */
  async start(run: RunId): Promise<RunStart | undefined> {
    const [kept] = await this.starts([run])
    return kept && this.whole(kept)
  }

  /** In the order asked for. Those that no coordinator started are left out. */
  async starts(runs: readonly RunId[]): Promise<readonly KeptStart[]> {
    const unknown = runs.filter(run => !this.#kept.has(run))
    const read = new Map((await this.#read(unknown)).map(start => [start.run, start]))
    const found = runs.flatMap(run => read.get(run) ?? this.#kept.get(run) ?? [])
    for (const start of read.values()) this.#keep(start)
    return found
  }

  /** Of a run that has just begun: it need not be looked up. */
  note(run: RunId, entry: Pick<FollowedEntry, 'body' | 'timestamp'>, facts: RunFacts): void {
    this.#keep(startOf(run, entry, facts)!)
  }

  async whole({ context, ...start }: KeptStart): Promise<RunStart> {
    if (context !== undefined) return { ...start, context }
    const [read] = await this.#read([start.run])
    return { ...start, context: read?.context ?? {} }
  }

  async #read(runs: readonly RunId[]): Promise<readonly RunStart[]> {
    if (runs.length === 0) return []
    return (await this.#trail.starts(runs)).flatMap(({ run, entry, context }) => {
      return startOf(run, entry, (context ?? {}) as Partial<RunFacts>) ?? []
    })
  }

  #keep(start: RunStart): void {
    const { context, ...rest } = start
    const isSmall = canonicalize(context).length <= coordinatorLimits.keptContextBytes
    this.#kept.set(start.run, isSmall ? start : rest)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > coordinatorLimits.keptStarts && oldest !== undefined) this.#kept.delete(oldest)
  }
}

/** Undefined for a run that no coordinator started. */
function startOf(
  run: RunId,
  { body, timestamp }: Pick<FollowedEntry, 'body' | 'timestamp'>,
  { plan, principal, origin, stored = {}, key }: Partial<RunFacts>,
): RunStart | undefined {
  if (plan === undefined || principal === undefined || origin === undefined) return undefined
  const { workspace_id: root } = body as EventBody<'workspace_created'>
  const started = parseTimestamp(timestamp)!
  return { run, root: root as WorkspaceId, started, principal, origin, context: stored, key }
}
