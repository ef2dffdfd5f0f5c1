// The library run of a profile: founded with its first record, and succeeded at a size limit like the house. Its
// records have positions that go on over all its runs: `base`, in the context of each, is where its own begin.
import {
  asParleyError,
  err,
  type ObjectId,
  ok,
  ParleyError,
  type Result,
  type RunId,
  type Timestamp,
  type WorkspaceId,
} from '@parley/core'
import type { ReadableRun, Trail } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import { LIBRARY_KEY, type Previous, type StandingHost, type StandingKind, StandingRun } from '../house/standing-run.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import { rootOf } from '../run/run.ts'
import { LIBRARY_ROLE, parleyTaxonomy } from '../taxonomy/parley.ts'
import type { Created } from '../workspace/create.ts'
import { openChildren } from '../workspace/workspace.ts'
import { type Filed, type Filing, libraryWorker } from './file.ts'

interface LibraryHost extends StandingHost {
  readonly store: Pick<Trail, 'runs' | 'starts'>
  /** Runs that cannot be read: halted for good, and away for now. */
  readonly halted: ReadonlyMap<RunId, ParleyError>
  readonly away: ReadonlyMap<RunId, ParleyError>
  /** The node coordinates it. */
  own(run: RunId): void
}

interface LibraryContext {
  readonly base: number
  readonly previous: { readonly run: RunId } | null
}

/** A run of the library; its records are at `base` plus their `seq`. */
export interface LibraryPart {
  readonly run: RunId
  readonly base: number
}

export interface FiledRecord {
  readonly at: number
  readonly timestamp: Timestamp
}

export class LibraryRun {
  readonly #host: LibraryHost
  readonly #limit: number
  readonly #kind: StandingKind
  #unfinished: readonly RunId[]
  #standing: StandingRun | undefined
  /** It was looked for among all runs, and nobody else founds one. */
  #none = false
  #opening: Promise<Result<StandingRun | undefined>> | undefined
  /** A root's context never changes. One of each of its runs, of which there are few. */
  readonly #contexts = new Map<RunId, LibraryContext>()

  constructor(host: LibraryHost, unfinished: readonly RunId[], limit: number) {
    this.#host = host
    this.#unfinished = unfinished
    this.#limit = limit
    this.#kind = {
      key: LIBRARY_KEY,
      taxonomy: parleyTaxonomy,
      carried: async previous => ({ base: await this.#base(previous) }),
      prepare: run => this.#prepare(run),
      last: () => this.#last(),
    }
  }

  /** Undefined before its first record. Refuses where it is damaged or cannot be read now. */
  async run(): Promise<Result<RunId | undefined>> {
    const opened = await this.#open(false)
    return opened.ok ? ok(opened.value?.run) : opened
  }

  /** It takes a record now: who calls `file` next, before anybody else, is filed next. */
  async ready(): Promise<Result<void>> {
    const opened = await this.#open(true)
    return opened.ok ? opened.value!.ready() : opened
  }

  /** Without a user it is the node's own. Durable when it resolves; refused, nothing of it is. */
  async file(user: string | undefined, filing: Filing): Promise<Result<FiledRecord>> {
    const standing = this.#standing
    if (!standing) return err(new ParleyError('unavailable', 'The library is not open.', { retryable: true }))
    const filed = await standing.submit<Filed>(
      user === undefined ? { type: 'file_own', ...filing } : { type: 'file', user, ...filing },
    )
    if (!filed.ok) return filed
    const { run, seq, timestamp } = filed.value
    return ok({ at: (await this.#context(run)).base + seq, timestamp })
  }

  /** The runs that hold what is behind a position, the oldest first. Throws where one of them cannot be read. */
  async parts(after: number): Promise<readonly LibraryPart[]> {
    const opened = await this.#open(false)
    if (!opened.ok) throw opened.error
    const parts: LibraryPart[] = []
    for (let run = opened.value?.run; run !== undefined; ) {
      const { base, previous } = await this.#context(run)
      parts.push({ run, base })
      run = base > after ? previous?.run : undefined
    }
    return parts.toReversed()
  }

  async #context(run: RunId): Promise<LibraryContext> {
    const known = this.#contexts.get(run)
    if (known) return known
    const [start] = await this.#host.store.starts([run])
    const context = start?.context as LibraryContext | undefined
    if (typeof context?.base !== 'number') throw damaged(`the beginning of ${run} is missing`)
    this.#contexts.set(run, context)
    return context
  }

  async #open(found: boolean): Promise<Result<StandingRun | undefined>> {
    if (this.#standing) return ok(this.#standing)
    // Who only looks does not wait for whoever founds it, but the other way round it would be founded twice.
    while (this.#opening) await this.#opening
    if (this.#standing) return ok(this.#standing)
    this.#opening = this.#find(found)
      .catch(cause => err(asParleyError(cause)))
      .finally(() => {
        this.#opening = undefined
      })
    return this.#opening
  }

  async #find(found: boolean): Promise<Result<StandingRun | undefined>> {
    const refused = await this.#bringBack()
    if (refused) return err(refused)
    this.#none ||= this.#unfinished.length === 0 && !(await this.#last())
    if (this.#none && !found) return ok(undefined)
    this.#standing = await StandingRun.open(this.#host, this.#kind, this.#unfinished, this.#limit)
    this.#unfinished = []
    return ok(this.#standing)
  }

  /** What could be its newest run must not be passed over: records would be missing, and positions given out twice. */
  async #bringBack(): Promise<ParleyError | undefined> {
    const { halted, away, trail } = this.#host
    for (const [id, error] of away) {
      const mark = await markOf(trail(id))
      if (mark === 'other') continue
      const opened = await this.#host.open(id)
      if (!opened.ok) return error
      if (!(await this.#host.read(id, state => state.library))) continue
      this.#host.own(id)
      this.#unfinished = [...this.#unfinished, id]
    }
    for (const [id, error] of halted) {
      const mark = await markOf(trail(id))
      if (mark === 'library' || (mark === 'unknown' && this.#unfinished.length === 0))
        return damaged(error.message, error)
    }
    return undefined
  }

  /**
   * Where a trail was restored from its cold tier, the newest run of its library is lost: it had not ended. The library
   * goes on behind the last one that is left, far enough to give out no position twice.
   */
  async #last(): Promise<Previous | null> {
    const { store, trail } = this.#host
    const own = (await store.runs()).filter(({ imported }) => !imported).map(({ run }) => run)
    const ended = (await store.starts(own)).filter(({ context }) => isLibrary(context))
    const [last] = ended.toSorted((one, other) => baseOf(other.context) - baseOf(one.context))
    return last ? { run: last.run, ...(await trail(last.run).head()) } : null
  }

  async #base(previous: Previous | null): Promise<number> {
    if (!previous) return 0
    const { base } = await this.#context(previous.run)
    return base + previous.seq + (this.#standing ? 0 : kernelLimits.lostLibrary)
  }

  /** Its worker makes the results, at work as long as the run. */
  async #prepare(run: RunId): Promise<Result<void>> {
    const { root, ready, worker } = await this.#host.read(run, state => {
      const root = rootOf(state)
      const at = openChildren(root).find(({ role }) => role === LIBRARY_ROLE)
      return { root: root.id, ready: libraryWorker(state) !== undefined, worker: at && { id: at.id, said: at.ready } }
    })
    if (ready) return ok(undefined)
    let id: WorkspaceId | undefined = worker?.id
    if (id === undefined) {
      const draft = { role: LIBRARY_ROLE, timeout: kernelDefaults.libraryTimeout }
      const created = await this.#host.submit<Created>(run, { type: 'create_workspace', caller: root, draft })
      if (!created.ok) return created
      id = created.value.workspace
    }
    for (const type of worker?.said ? (['started'] as const) : (['ready', 'started'] as const)) {
      const said = await this.#host.submit(run, { type: 'emit', caller: id, draft: { type } })
      if (!said.ok) return said
    }
    return ok(undefined)
  }
}

/** Of a context that came from a trail. */
export function isLibrary(context: unknown): boolean {
  return (context as { readonly library?: unknown } | null | undefined)?.[LIBRARY_KEY] === true
}

function baseOf(context: unknown): number {
  return (context as Partial<LibraryContext>).base ?? 0
}

function damaged(what: string, cause?: ParleyError): ParleyError {
  const message = `The library takes and shows nothing: ${what.replace(/\.$/, '')}. Verify the trail, and restore it from a backup.`
  return new ParleyError('trail_damaged', message, { ...(cause && { details: cause.details, cause }) })
}

/** What the beginning of a run says, where that can be read. */
export async function markOf(trail: ReadableRun): Promise<'library' | 'other' | 'unknown'> {
  try {
    const page = await trail.query({ limit: 1 })
    const [first] = page.ok ? page.value.entries : []
    if (!first) return 'unknown'
    const { context } = first.body as EventBody<'workspace_created'>
    if (context === undefined) return 'other'
    return isLibrary((await trail.object(context as ObjectId))?.value) ? 'library' : 'other'
  } catch {
    return 'unknown'
  }
}
