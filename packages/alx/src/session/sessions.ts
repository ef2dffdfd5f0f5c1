// Sessions as their owners see and change them (section 6): status, list, timeline, reset and fork.
import type { SessionSummary, SessionTimelineEvent } from '@alx/protocol'
import type { RunId } from '@parley/core'
import { alxLimits } from '../limits.ts'
import type { RunFold } from '../run/fold.ts'
import { type Answer, answerTo, refusal, refused } from '../server/answer.ts'
import { type Caller, type Host, mayRead } from '../server/host.ts'
import { Listings, timelinePage } from './paging.ts'
import type { Session, SessionRun } from './session-index.ts'
import { type RunState, runState, type SessionState, sessionState, stateOfSummary, summaryOf } from './session-state.ts'
import { timelineOf } from './timeline.ts'

export interface ListQuery {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly status?: string | undefined
}

interface Standing extends SessionState {
  readonly latest: RunState | undefined
}

export class Sessions {
  readonly #host: Host
  readonly #listings: Listings

  constructor(host: Host) {
    this.#host = host
    this.#listings = new Listings(host.clock, host.ids)
  }

  /** Nobody else starts a run in the session, or changes it, meanwhile. Refused while a run of it is unfinished. */
  async hold<T>(session: Session, act: () => Promise<T>): Promise<T | Answer> {
    const busy = refusal('SESSION_BUSY', 'A run of this session has not ended.')
    if (session.held) return busy
    session.held = true
    try {
      const status = (await this.#standing(session)).latest?.status
      return status === 'running' || status === 'awaiting_approval' ? busy : await act()
    } finally {
      session.held = false
    }
  }

  get count(): number {
    return this.#host.index.count
  }

  async status(id: string, caller: Caller): Promise<Answer> {
    const session = this.#visible(id, caller)
    return session ? { status: 200, body: await this.#shown(session) } : unknown(id)
  }

  /** `null`: those of everybody, for the owner of the server. */
  async list(userId: string | null, { limit, cursor, status }: ListQuery): Promise<Answer> {
    const query = JSON.stringify([userId, status ?? null])
    const page =
      cursor === undefined
        ? this.#listings.first(query, await this.#ordered(userId, status), limit)
        : this.#listings.next(query, cursor, limit)
    if ('code' in page) return refused(page)
    const listed = page.items.flatMap(id => this.#host.index.session(id) ?? [])
    const sessions = await each(listed, async session => {
      const { status, progress, updatedAt } = await this.#standing(session)
      const { id: sessionId, intent } = session
      return { sessionId, intent, status, progress, updatedAt, summary: await this.#summary(session) }
    })
    return { status: 200, body: { userId, sessions, nextCursor: page.nextCursor } }
  }

  async timeline(
    id: string,
    caller: Caller,
    {
      limit,
      cursor,
      type,
    }: { readonly limit: number; readonly cursor?: string | undefined; readonly type?: string | undefined },
  ): Promise<Answer> {
    const session = this.#visible(id, caller)
    if (!session) return unknown(id)
    const all = await this.#events(session)
    const chosen = type === undefined ? all : all.filter(event => event.type === type)
    const page = timelinePage(chosen, JSON.stringify([id, type ?? null]), cursor, limit)
    if ('code' in page) return refused(page)
    const { status } = await this.#standing(session)
    const { userId } = session
    const summary = await this.#summary(session)
    return {
      status: 200,
      body: { sessionId: id, userId, status, summary, timeline: page.items, nextCursor: page.nextCursor },
    }
  }

  /** ALX-SESS-11. */
  async reset(id: string, caller: Caller): Promise<Answer> {
    const session = this.#visible(id, caller)
    if (!session) return unknown(id)
    return this.hold(session, async () => {
      const failed = await this.#record('session.reset', caller, { sessionId: id })
      return failed ?? { status: 200, body: await this.#shown(session) }
    })
  }

  /** ALX-SESS-12. */
  async fork(id: string, caller: Caller): Promise<Answer> {
    const session = this.#visible(id, caller)
    if (!session) return unknown(id)
    const child = this.#host.ids.next('ses')
    const { intent } = session
    const failed = await this.#record('session.fork', caller, { sessionId: id, forkedSessionId: child, intent })
    return failed ?? { status: 201, body: await this.#shown(this.#host.index.session(child)!) }
  }

  /** The newest runs since the last reset, the oldest of them first; those of the parent before a fork among them. */
  async lastRuns(session: Session, count: number): Promise<readonly RunFold[]> {
    const folds: RunFold[] = []
    let items = session.items
    while (folds.length < count) {
      const item = items.at(-1)
      if (item === undefined || item.kind === 'reset') break
      items = items.slice(0, -1)
      if (item.kind === 'run') folds.unshift(await this.#fold(item.run))
      if (item.kind === 'fork') {
        const parent = this.#host.index.session(item.parent)
        items = parent?.items.filter(({ at }) => at < item.at) ?? []
      }
    }
    return folds
  }

  async #record(type: 'session.reset' | 'session.fork', caller: Caller, body: Record<string, unknown>) {
    const { library, index, log } = this.#host
    const made = await library.append({ type, by: caller.principal, body })
    if (made.ok) {
      index.addRecord(made.value)
      return undefined
    }
    log('error', 'A session could not be changed.', { correlationId: caller.correlationId, cause: made.error })
    return answerTo(made.error)
  }

  #visible(id: string, caller: Caller): Session | undefined {
    const session = this.#host.index.session(id)
    return session && mayRead(caller, session.userId) ? session : undefined
  }

  async #shown(session: Session) {
    const { status, progress, nextStep } = await this.#standing(session)
    const { id: sessionId, userId, intent, createdAt } = session
    const summary = await this.#summary(session)
    return { sessionId, userId, intent, status, progress, nextStep, summary, createdAt: `${createdAt.slice(0, 23)}Z` }
  }

  /** ALX-SESS-07: newest change first. */
  async #ordered(userId: string | null, status: string | undefined): Promise<readonly string[]> {
    const own = [...(userId === null ? this.#host.index.all() : this.#host.index.sessionsOf(userId))]
    const stands = await each(own, async session => ({ session, ...(await this.#standing(session)) }))
    return stands
      .filter(each => status === undefined || each.status === status)
      .sort((a, b) => compare(b.updatedAt, a.updatedAt) || compare(a.session.id, b.session.id))
      .map(({ session }) => session.id)
  }

  async #standing(session: Session): Promise<Standing> {
    const { settings } = this.#host
    const last = session.items.findLast(item => item.kind === 'run')
    const latest = last && (await this.#state(last as SessionRun))
    return { ...sessionState(session, latest, this.#host.now(), settings.abandonAfterMs), latest }
  }

  async #state(item: SessionRun): Promise<RunState> {
    if (item.summary) return stateOfSummary(item.summary)
    return runState(await this.#fold(item.run))
  }

  /** As it stands now. */
  async #fold(run: RunId): Promise<RunFold> {
    const { runs, index } = this.#host
    const live = await runs.read(run)
    if (!live) throw new Error(`The run ${run} is in the index and not on record.`)
    const found = index.run(run)
    // What the clock alone says is not kept: the trail has the last word.
    if (found) found.item.summary ??= summaryOf(live.fold)
    return live.at(this.#host.now())
  }

  async #summary(session: Session): Promise<SessionSummary & { readonly updatedAt: string }> {
    const runs = session.items.filter(item => item.kind === 'run')
    const states = await each(runs, async item => ({ run: item.run, ...(await this.#state(item)) }))
    const good = states.filter(({ status }) => status === 'completed')
    const gains = good.flatMap(({ run }) => this.#host.knowledge.learning(run).improvement ?? [])
    const total = gains.reduce((sum, gain) => sum + gain, 0)
    return {
      text: `${runs.length} ${runs.length === 1 ? 'run' : 'runs'}, ${good.length} of them successful.`,
      runCount: runs.length,
      successCount: good.length,
      avgImprovement: gains.length === 0 ? null : total / gains.length,
      lastArtifactId: states.findLast(({ artifactId }) => artifactId !== null)?.artifactId ?? null,
      updatedAt: (await this.#standing(session)).updatedAt,
    }
  }

  async #events(session: Session): Promise<readonly SessionTimelineEvent[]> {
    const runs = session.items.filter(item => item.kind === 'run')
    const folds = await each(runs, ({ run }) => this.#fold(run))
    return timelineOf(session, new Map(folds.flatMap(fold => (fold.over ? [[fold.run.runId, fold]] : []))))
  }
}

/** Some at once, in order. */
async function each<T, R>(items: readonly T[], make: (item: T) => Promise<R>): Promise<R[]> {
  const made: R[] = []
  for (let at = 0; at < items.length; at += alxLimits.readsAtOnce)
    made.push(...(await Promise.all(items.slice(at, at + alxLimits.readsAtOnce).map(make))))
  return made
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function unknown(id: string): Answer {
  return refusal('SESSION_NOT_FOUND', `There is no session ${id}.`)
}
