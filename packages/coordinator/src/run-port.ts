// RunPort of core over a conductor: how link, crosstalk and alx start runs, watch and cancel them without knowing the kernel. Whoever holds a
// port acts for principals that an IdentityProvider has vouched for.
import {
  err,
  ok,
  ParleyError,
  type Principal,
  type Result,
  type RunEvent,
  type RunId,
  type RunPage,
  type RunPort,
  type RunRequest,
  type TurnBudget,
  unwrap,
} from '@parley/core'
import { type Entry, RUNTIME, type Trail } from '@parley/trail'
import { type EventBody, isTerminal } from '@parley/trail/events'
import type { Conducting, StoredRun } from './contract.ts'
import { HeardText } from './heard-text.ts'
import type { Limits } from './team/budget-fields.ts'
import type { Team } from './team/team.ts'

/** What a request comes to: who does it, where, and whether somebody must approve it first. */
export interface PreparedRun {
  readonly team: Team
  /** Absolute path of the project's folder. */
  readonly project: string
  readonly approved: boolean
  /** It is started although the same was started often. */
  readonly force?: boolean
}

export interface RunPortOptions {
  readonly conductor: Pick<
    Conducting,
    'solve' | 'abort' | 'keyed' | 'storedRun' | 'account' | 'listen' | 'stopping'
  >
  readonly trail: Pick<Trail, 'run'>
  /** What a request's team means here. Refuses with the codes of `RunPort.start`. */
  readonly teamFor: (request: RunRequest) => Promise<Result<PreparedRun>>
}

/** Whoever has this scope sees and ends every run. */
const OWNER = 'owner'

export function conductorRunPort(options: RunPortOptions): RunPort {
  return {
    start: async request => {
      try {
        return await start(options, request)
      } catch (cause) {
        // A trail that is away refuses; anything else is a defect.
        if (cause instanceof ParleyError) return err(cause)
        throw cause
      }
    },
    watch: (run, { principal, after, signal }) => watch(options, run, principal, after ?? 0, signal),
    cancel: (run, { principal, reason }) => cancel(options, run, principal, reason),
  }
}

async function start(
  { conductor, teamFor }: RunPortOptions,
  request: RunRequest,
): Promise<Result<{ readonly run: RunId }>> {
  const { principal, idempotencyKey, budget = {}, timeoutMs } = request
  // What is there already is the answer, whatever could be started now.
  const before =
    idempotencyKey === undefined ? undefined : await conductor.keyed(principal.id, idempotencyKey)
  if (before !== undefined) return ok({ run: before })
  const bad = unusable(budget, timeoutMs)
  if (bad) return err(bad)
  const prepared = await teamFor(request)
  if (!prepared.ok) return prepared
  const { team, project, approved, force } = prepared.value
  return conductor.solve({
    intent: request.intent,
    project,
    team: limited(team, budget, timeoutMs),
    principal,
    origin: request.origin,
    approved,
    ...(force !== undefined && { force }),
    ...(request.told && { context: request.told }),
    ...(request.context && { facts: request.context }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  })
}

function unusable({ tokens, usd }: TurnBudget, timeoutMs: number | undefined): ParleyError | undefined {
  if (![tokens, usd, timeoutMs].every(each => each === undefined || (Number.isFinite(each) && each >= 0)))
    return new ParleyError('invalid_argument', 'A budget or a time limit is a number, and not below zero.')
  if (tokens === 0 || usd === 0)
    return new ParleyError('budget_exceeded', 'Nothing is left to be spent on this run.')
  if (timeoutMs === 0) return new ParleyError('invalid_argument', 'No time is left for this run.')
  return undefined
}

/** The request's own limits where they are narrower than those of the team. */
function limited(team: Team, { tokens, usd }: TurnBudget, timeoutMs: number | undefined): Team {
  const { limits } = team
  const budget: Limits = {
    ...limits.budget,
    ...narrower('token_limit', limits.budget.token_limit, tokens),
    ...narrower('cost_limit', limits.budget.cost_limit, usd),
  }
  const { graceMs, ...rest } = limits
  const time = narrower('timeoutMs', limits.timeoutMs, timeoutMs)
  // Where nothing but the time to finish is left, nobody could begin.
  const fits = graceMs !== undefined && graceMs < (time.timeoutMs ?? 0)
  return { ...team, limits: { ...rest, budget, ...time, ...(fits && { graceMs }) } }
}

function narrower<Name extends string>(name: Name, ...limits: readonly (number | undefined)[]) {
  const least = Math.min(...limits.map(each => each ?? Number.POSITIVE_INFINITY))
  return (Number.isFinite(least) ? { [name]: least } : {}) as { readonly [N in Name]?: number }
}

/** The same for a run that does not exist and for one that is none of the principal's business. */
async function visible(
  { conductor }: RunPortOptions,
  run: RunId,
  principal: Principal,
): Promise<Result<StoredRun>> {
  const stored = await conductor.storedRun(run)
  if (!stored.ok) return stored
  const may = principal.scopes.includes(OWNER) || stored.value.principal === principal.id
  return may ? stored : err(new ParleyError('not_found', `There is no run ${run}.`))
}

async function cancel(
  options: RunPortOptions,
  run: RunId,
  principal: Principal,
  reason: string,
): Promise<Result<void>> {
  const seen = await visible(options, run, principal)
  if (!seen.ok) return seen
  const ended = await options.conductor.abort(run, { principal, reason })
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
  const { conductor, trail } = options
  const { root } = unwrap(await visible(options, run, principal))
  const left = new AbortController()
  const quiet = AbortSignal.any([left.signal, conductor.stopping, ...(signal ? [signal] : [])])
  const heard = new HeardText()
  const off = conductor.listen(run, ({ kind, event }) => {
    if (kind === 'work' && event.type === 'text') heard.push(event)
  })
  const pages = trail.run(run).watch({ after }, RUNTIME, quiet)
  const nextPage = () => {
    const next = pages.next()
    // Whoever waits for it hears of a failure; until then it is nobody's.
    next.catch(() => undefined)
    return next
  }
  let last: Pick<RunPage, 'events' | 'cursor'> = { events: [], cursor: after }
  try {
    let next = (await endedBefore(trail, run, root, after)) ? undefined : nextPage()
    while (next) {
      const page = await Promise.race([next, heard.ready()])
      if (signal?.aborted) return
      if (conductor.stopping.aborted) throw stopping(last.cursor)
      if (page?.done) return
      const entries: readonly Entry[] = page?.value.entries ?? []
      last = { events: entries.map(eventOf), cursor: entries.at(-1)?.seq ?? last.cursor }
      if (entries.some(entry => isEnd(entry, root))) break
      const text = heard.take()
      yield { ...last, ...(text !== undefined && { text }) }
      // Not before somebody wants it: no more than one page is held.
      if (page) next = nextPage()
    }
    // It comes when the turns of the run have ended, and what they used is known.
    const { end } = unwrap(await conductor.account(run))
    if (signal?.aborted) return
    if (!end) throw stopping(last.cursor)
    const text = heard.take()
    yield { ...last, ...(text !== undefined && { text }), end }
  } finally {
    off()
    left.abort()
    await pages.return(undefined)
  }
}

/** Whether the end of the run lies where a watcher has been already. */
async function endedBefore(
  trail: Pick<Trail, 'run'>,
  run: RunId,
  root: string,
  after: number,
): Promise<boolean> {
  if (after === 0) return false
  const last = { event_type: 'workspace_state_changed', body: { workspace_id: root } }
  const [entry] = unwrap(await trail.run(run).query({ ...last, order: 'descending', limit: 1 })).entries
  return entry !== undefined && entry.seq <= after && isEnd(entry, root)
}

function isEnd({ event_type, body }: Entry, root: string): boolean {
  if (event_type !== 'workspace_state_changed') return false
  const { workspace_id, to_state } = body as EventBody<'workspace_state_changed'>
  return workspace_id === root && isTerminal(to_state)
}

function eventOf({ seq, id, timestamp, event_type, body }: Entry): RunEvent {
  return { seq, id, timestamp, type: event_type, body: body as RunEvent['body'] }
}

function stopping(cursor: number): ParleyError {
  return new ParleyError('unavailable', 'The node is stopping; go on watching when it is up again.', {
    retryable: true,
    details: { cursor },
  })
}
