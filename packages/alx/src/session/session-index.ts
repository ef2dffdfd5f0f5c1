// Which sessions and runs of ALX there are: an index in memory over the roots of runs and the records of the library,
// from which it is built again at every start. How a run stands is here only if it is over.
import { formatTimestamp, type LibraryRecord, type RunId, type StoredRun } from '@parley/core'
import { alxLimits } from '../limits.ts'
import { readSolveFacts, type SolveFacts } from '../run/facts.ts'
import { intentText } from './intent.ts'

/** What is kept of a run that is over. */
export interface RunSummary {
  readonly finishedAt: string
  readonly ok: boolean
  /** Of the error, if it failed. */
  readonly code: string | undefined
  readonly suggestion: string | undefined
  readonly artifactId: string | null
  readonly progress: number | null
}

export interface SessionRun {
  readonly kind: 'run'
  readonly run: RunId
  /** As the trail writes it; the order of items. */
  readonly at: string
  /** Under which it was started, with whose it is. */
  readonly key: string | undefined
  summary: RunSummary | undefined
}

export type SessionItem =
  | SessionRun
  | { readonly kind: 'reset'; readonly at: string; readonly position: number }
  | { readonly kind: 'forked'; readonly at: string; readonly position: number; readonly child: string }
  | { readonly kind: 'fork'; readonly at: string; readonly position: number; readonly parent: string }

export interface Session {
  readonly id: string
  readonly userId: string
  readonly intent: string
  readonly createdAt: string
  /** In the order of their beginning. */
  readonly items: SessionItem[]
  /** Somebody is starting a run in it, or changing it: nobody else may. */
  held: boolean
}

export class SessionIndex {
  readonly #sessions = new Map<string, Session>()
  readonly #ofUser = new Map<string, Set<Session>>()
  readonly #runs = new Map<RunId, { readonly session: Session; readonly item: SessionRun }>()
  readonly #keys = new Map<string, { readonly run: RunId; readonly fingerprint: string }>()

  session(id: string): Session | undefined {
    return this.#sessions.get(id)
  }

  get count(): number {
    return this.#sessions.size
  }

  /** Of everybody. */
  all(): Iterable<Session> {
    return this.#sessions.values()
  }

  sessionsOf(user: string): Iterable<Session> {
    return this.#ofUser.get(user) ?? []
  }

  run(run: RunId) {
    return this.#runs.get(run)
  }

  /** The run that a user has started under a key. */
  keyed(user: string, key: string) {
    return this.#keys.get(keyOf(user, key))
  }

  /** The newest first. */
  newestRuns(count: number): RunId[] {
    return [...this.#runs.keys()].slice(-count).reverse()
  }

  /** Everything that there was before, the oldest first. */
  fill(runs: readonly IndexedRun[], records: readonly LibraryRecord[]): void {
    const all = [
      ...runs.map(run => ({ at: run.at, add: () => this.addRun(run) })),
      ...records.map(record => ({ at: record.timestamp as string, add: () => this.addRecord(record) })),
    ]
    for (const { add } of all.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))) add()
  }

  addRun({ run, user, at, session: id, intent, key, fingerprint }: IndexedRun): void {
    if (this.#runs.has(run)) return
    const session = this.#sessions.get(id) ?? this.#open(id, user, intent, at)
    const own = key === undefined ? undefined : keyOf(user, key)
    const item: SessionRun = { kind: 'run', run, at, key: own, summary: undefined }
    session.items.push(item)
    this.#runs.set(run, { session, item })
    if (own !== undefined) this.#keys.set(own, { run, fingerprint })
    this.#bound()
  }

  addRecord({ at: position, type, by, timestamp: at, body }: LibraryRecord): void {
    const { sessionId, forkedSessionId, intent } = body as unknown as SessionRecordBody
    const session = this.#sessions.get(sessionId)
    if (type === 'session.reset') session?.items.push({ kind: 'reset', at, position })
    if (type !== 'session.fork' || forkedSessionId === undefined) return
    session?.items.push({ kind: 'forked', at, position, child: forkedSessionId })
    this.#open(forkedSessionId, by, intent ?? '', at).items.push({ kind: 'fork', at, position, parent: sessionId })
    this.#bound()
  }

  #open(id: string, userId: string, intent: string, at: string): Session {
    const session: Session = { id, userId, intent, createdAt: at, items: [], held: false }
    this.#sessions.set(id, session)
    const own = this.#ofUser.get(userId) ?? new Set()
    this.#ofUser.set(userId, own.add(session))
    return session
  }

  #bound(): void {
    while (this.#sessions.size > alxLimits.sessions || this.#runs.size > alxLimits.runs) {
      const [oldest] = this.#sessions.values()
      if (!oldest) return
      this.#sessions.delete(oldest.id)
      this.#ofUser.get(oldest.userId)?.delete(oldest)
      for (const item of oldest.items) {
        if (item.kind !== 'run') continue
        this.#runs.delete(item.run)
        if (item.key !== undefined) this.#keys.delete(item.key)
      }
    }
  }
}

/** The bodies of `session.reset` and `session.fork`. */
export interface SessionRecordBody {
  readonly sessionId: string
  readonly forkedSessionId?: string
  readonly intent?: string
}

export interface IndexedRun {
  readonly run: RunId
  readonly user: string
  readonly at: string
  readonly session: string
  readonly intent: string
  readonly key?: string | undefined
  readonly fingerprint: string
}

export function indexed(run: RunId, user: string, at: string, facts: SolveFacts): IndexedRun {
  const { session, intent, key, fingerprint } = facts
  return { run, user, at, session, intent: intentText(intent), key, fingerprint }
}

export function indexedStored({ run, principal, started, context }: StoredRun): IndexedRun | undefined {
  const facts = readSolveFacts(context)
  return facts && indexed(run, principal, formatTimestamp(started), facts)
}

function keyOf(user: string, key: string): string {
  return `${user}\0${key}`
}
