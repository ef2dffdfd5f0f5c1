// RunPort of core over the coordinator: how link starts, watches, cancels, answers and finds runs without knowing the
// kernel. The holder of a port acts for principals that an IdentityProvider has vouched for.
import {
  err,
  ok,
  ParleyError,
  type Principal,
  type Result,
  type RunEntry,
  type RunId,
  type RunPage,
  type RunPort,
  type RunRequest,
  refuse,
  type StoredRun,
  unwrap,
} from '@parley/core'
import type { FollowedEntry, Trail } from '@parley/trail'
import { type EventBody, isTerminal } from '@parley/trail/events'
import type { Coordination, RunSetup } from '../contract.ts'
import { given } from '../given.ts'
import { SpokenText } from '../turn/spoken-text.ts'

interface RunPortOptions {
  readonly coordinator: Pick<Coordination, 'start' | 'records' | 'interventions' | 'listeners' | 'gates' | 'stopping'>
  readonly trail: Pick<Trail, 'readable'>
  /** How a request is carried out here. Refuses with the codes of `RunPort.start`. */
  readonly setup: (request: RunRequest) => Promise<Result<RunSetup>>
  /** Whether a turn of the run was cut off before its agent said what it cost. Asked when the run is over. */
  readonly costUnknown: (run: RunId) => boolean
}

/** Whoever has this scope sees and ends every run. */
const OWNER = 'owner'

export function coordinatorRunPort(options: RunPortOptions): RunPort {
  const { coordinator } = options
  return {
    start: request => start(options, request),
    watch: (run, { principal, after, signal }) => watch(options, run, principal, after ?? 0, signal),
    cancel: (run, { principal, reason }) => cancel(options, run, principal, reason),
    answer: (waiting, { principal, answer }) =>
      'decision' in answer
        ? coordinator.gates.respond(waiting, { ...answer, principal })
        : coordinator.gates.reply(waiting, { ...answer, principal }),
    stored: (run, { principal }) => storedHead(options, run, principal),
    find: ({ principal, ...query }) => coordinator.records.find(query, stored => sees(principal, stored)),
  }
}

async function start({ coordinator, setup }: RunPortOptions, request: RunRequest): ReturnType<RunPort['start']> {
  const { principal, key } = request
  try {
    // What is there already is the answer, whatever could be started now.
    const before = key && (await coordinator.records.keyed(principal.id, key))
    if (before !== undefined) return ok({ run: before })
    const ready = await setup(request)
    return ready.ok ? await coordinator.start(request, ready.value) : ready
  } catch (cause) {
    // A trail that is away refuses; anything else is a defect.
    if (cause instanceof ParleyError) return err(cause)
    throw cause
  }
}

function sees(principal: Principal, { principal: starter }: Pick<StoredRun, 'principal'>): boolean {
  return principal.scopes.includes(OWNER) || starter === principal.id
}

/** The same for a run that does not exist and for one that is none of the principal's business. */
async function visible({ coordinator }: RunPortOptions, run: RunId, principal: Principal): Promise<Result<StoredRun>> {
  const stored = await coordinator.records.storedRun(run)
  if (!stored.ok) return stored
  return sees(principal, stored.value) ? stored : refuse('not_found', `There is no run ${run}.`)
}

async function storedHead(options: RunPortOptions, run: RunId, principal: Principal): ReturnType<RunPort['stored']> {
  const stored = await visible(options, run, principal)
  if (!stored.ok) return stored
  const { seq } = await options.trail.readable(run).head()
  return ok({ ...stored.value, head: seq })
}

async function cancel(
  options: RunPortOptions,
  run: RunId,
  principal: Principal | 'system',
  reason: string,
): Promise<Result<void>> {
  const { interventions } = options.coordinator
  const seen = principal === 'system' ? ok(undefined) : await visible(options, run, principal)
  if (!seen.ok) return seen
  const ended = await (principal === 'system'
    ? interventions.abandon(run, reason)
    : interventions.abort(run, { principal, reason }))
  // It has come to its end by itself.
  return !ended.ok && ended.error.code === 'invalid_state' ? ok(undefined) : ended
}

async function* watch(
  options: RunPortOptions,
  run: RunId,
  principal: Principal,
  after: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<RunPage> {
  const { coordinator, trail } = options
  const { root } = unwrap(await visible(options, run, principal))
  const left = new AbortController()
  const quiet = AbortSignal.any([left.signal, coordinator.stopping, ...(signal ? [signal] : [])])
  const spoken = new SpokenText()
  const off = coordinator.listeners.listen(run, ({ kind, event }) => {
    if (kind === 'work' && event.type === 'text') spoken.push(event)
  })
  const pages = trail.readable(run).follow(after, quiet)
  const nextPage = () => {
    const next = pages.next()
    // Whoever waits for it hears of a failure; until then it is nobody's.
    next.catch(() => undefined)
    return next
  }
  const whole = coordinator.records.written(run)?.after(after) ?? []
  const isWhole = whole.some(entry => isEnd(entry, root))
  let last = pageOf(isWhole ? whole : [], after)
  try {
    let next = isWhole || (await endedBefore(trail, run, root, after)) ? undefined : nextPage()
    while (next) {
      const page = await Promise.race([next, spoken.ready()])
      if (signal?.aborted) return
      if (coordinator.stopping.aborted) throw stopping(last.cursor)
      if (page?.done) return
      const entries: readonly FollowedEntry[] = page?.value.entries ?? []
      last = pageOf(entries, last.cursor)
      if (entries.some(entry => isEnd(entry, root))) break
      const text = spoken.take()
      yield { ...last, ...given({ text }) }
      // Not before somebody wants it: no more than one page is held.
      if (page) next = nextPage()
    }
    // It comes when the turns of the run have ended, and what they used is known.
    const { end } = unwrap(await coordinator.records.account(run))
    if (signal?.aborted) return
    if (!end) throw stopping(last.cursor)
    const text = spoken.take()
    yield { ...last, ...given({ text }), end: options.costUnknown(run) ? { ...end, unknownCost: true } : end }
  } finally {
    off()
    left.abort()
    await pages.return(undefined)
  }
}

/** Whether the end of the run lies where a watcher has been already. */
async function endedBefore(trail: Pick<Trail, 'readable'>, run: RunId, root: string, after: number): Promise<boolean> {
  if (after === 0) return false
  const last = { event_type: 'workspace_state_changed', body: { workspace_id: root } }
  const [entry] = unwrap(await trail.readable(run).query({ ...last, order: 'descending', limit: 1 })).entries
  return entry !== undefined && entry.seq <= after && isEnd(entry, root)
}

function isEnd({ event_type, body }: FollowedEntry, root: string): boolean {
  if (event_type !== 'workspace_state_changed') return false
  const { workspace_id, to_state } = body as EventBody<'workspace_state_changed'>
  return workspace_id === root && isTerminal(to_state)
}

function pageOf(entries: readonly FollowedEntry[], after: number): Pick<RunPage, 'events' | 'cursor'> {
  return { events: entries.map(eventOf), cursor: entries.at(-1)?.seq ?? after }
}

function eventOf({ seq, id, timestamp, event_type, body }: FollowedEntry): RunEntry {
  return { seq, id, timestamp, type: event_type, body: body as RunEntry['body'] }
}

function stopping(cursor: number): ParleyError {
  return new ParleyError('unavailable', 'The node is stopping; go on watching when it is up again.', {
    retryable: true,
    details: { cursor },
  })
}
