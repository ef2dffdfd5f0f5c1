// A solve from its checks to its run (ALX-SOLVE-03, checks 8 to 14). What is refused before the run leaves no trace.
import { type ProtocolError, requestFingerprint, type SolveCallInput } from '@alx/protocol'
import { asParleyError, formatTimestamp, type TurnContextPart } from '@parley/core'
import { alxLimits } from '../limits.ts'
import { type SolveFacts, storedSolveFacts } from '../run/facts.ts'
import type { LiveRun } from '../run/live-run.ts'
import { internalError } from '../run/outcome.ts'
import { envelopeOf } from '../run/synthesis.ts'
import { intentText } from '../session/intent.ts'
import { indexed, type Session } from '../session/session-index.ts'
import type { Sessions } from '../session/sessions.ts'
import { type Answer, answerTo, forbidden, refusal, refused } from './answer.ts'
import { type Caller, type Host, mayRead } from './host.ts'
import { httpOf, reasonOf } from './response.ts'
import { type Selected, select } from './selecting.ts'

/** The run that answers a solve: a new one, or that of an earlier call under the same key. */
export interface Solved {
  readonly live: LiveRun
  readonly replayed: boolean
}

export class Solves {
  readonly #host: Host
  readonly #sessions: Sessions
  /** Keys under which a run is being started, with what was asked. */
  readonly #starting = new Map<string, string>()

  constructor(host: Host, sessions: Sessions) {
    this.#host = host
    this.#sessions = sessions
  }

  async solve(call: SolveCallInput, caller: Caller): Promise<Solved | Answer> {
    const { idempotencyKey: key, dryRun = false } = call.options ?? {}
    const fingerprint = requestFingerprint(call)
    if (key === undefined) return this.#inSession(call, caller, fingerprint)
    const earlier = this.#earlier(caller, key, fingerprint)
    if (earlier) return earlier
    if (dryRun) return this.#inSession(call, caller, fingerprint)
    // From here to the start nobody else may begin one under this key.
    const reserved = keyOf(caller, key)
    this.#starting.set(reserved, fingerprint)
    try {
      return await this.#inSession(call, caller, fingerprint)
    } finally {
      this.#starting.delete(reserved)
    }
  }

  /** ALX-SOLVE-15. Undefined where the key is new. */
  #earlier(caller: Caller, key: string, fingerprint: string): Promise<Solved | Answer> | Answer | undefined {
    const { index, runs } = this.#host
    const starting = this.#starting.get(keyOf(caller, key))
    const known = index.keyed(caller.principal.id, key)
    const before = starting ?? known?.fingerprint
    if (before === undefined) return undefined
    if (before !== fingerprint)
      return refusal('IDEMPOTENCY_CONFLICT', 'This idempotency key was used for another request.')
    const busy = refusal('IDEMPOTENCY_IN_PROGRESS', 'The first call under this idempotency key has not ended.')
    if (!known) return busy
    return runs.read(known.run).then(live => {
      if (!live) return refused(internalError())
      const { over, open } = live.at(this.#host.now())
      return over || open ? { live, replayed: true } : busy
    })
  }

  async #inSession(call: SolveCallInput, caller: Caller, fingerprint: string): Promise<Solved | Answer> {
    const { sessionId } = call.options ?? {}
    if (sessionId === undefined) return this.#begin(call, caller, fingerprint, undefined)
    const session = this.#host.index.session(sessionId)
    if (!session || !mayRead(caller, session.userId))
      return refusal('SESSION_NOT_FOUND', `There is no session ${sessionId}.`)
    return this.#sessions.hold(session, () => this.#begin(call, caller, fingerprint, session))
  }

  async #begin(
    call: SolveCallInput,
    caller: Caller,
    fingerprint: string,
    session: Session | undefined,
  ): Promise<Solved | Answer> {
    const selected = await select(this.#host, call, caller)
    const { context, meta, intent, options: { dryRun = false, idempotencyKey: key } = {} } = call
    const { attempts, selection, forced, refusal: error, result, plan } = selected
    if (dryRun) return this.#preview(selected, session)
    const facts: SolveFacts = {
      session: session?.id ?? this.#host.ids.next('ses'),
      correlationId: caller.correlationId,
      intent,
      forced,
      fingerprint,
      selection,
      attempts,
      ...(context && { context }),
      ...(meta && { meta }),
      ...(key !== undefined && { key }),
      ...(error && { refusal: error }),
      ...(result !== undefined && { result }),
      ...(plan && plan.timeoutMs === undefined && { limitMs: this.#host.settings.runLimitMs }),
      ...(plan?.told && { told: plan.told.map(({ kbHash }) => kbHash) }),
    }
    const blocks = plan?.told?.map(({ part }) => part) ?? []
    const told = plan ? [...contextPart(context), ...(await this.#before(session)), ...blocks] : []
    return this.#start(facts, caller, told)
  }

  async #start(facts: SolveFacts, caller: Caller, told: readonly TurnContextPart[]): Promise<Solved | Answer> {
    const { port, ids, index, runs, knowledge, clock, log } = this.#host
    const { principal, correlationId } = caller
    for (const { artifact } of facts.refusal ? [] : facts.attempts) {
      if (artifact.origin !== 'generated' || !artifact.payload) continue
      const kept = await knowledge.keep(envelopeOf(artifact), principal.id)
      if (!kept.ok) return refused(kept.error)
    }
    const at = formatTimestamp(clock.now())
    const begun = await port
      .start({
        principal,
        intent: intentText(facts.intent),
        origin: 'alx',
        told,
        context: storedSolveFacts(facts),
        // A start under a key is no loop that a breaker must end, and so every start has one.
        key: { text: facts.key === undefined ? `~${ids.next('solve')}` : `=${facts.key}`, reuse: 'always' },
      })
      .catch((cause: unknown) => ({ ok: false as const, error: asParleyError(cause) }))
    if (!begun.ok) {
      log('error', 'A run could not be started.', { correlationId, cause: begun.error })
      return answerTo(begun.error)
    }
    const { run } = begun.value
    index.addRun(indexed(run, principal.id, at, facts))
    return { live: await runs.started(run, principal.id, facts), replayed: false }
  }

  /** ALX-SOLVE-11: what a run would be, without one. */
  #preview({ attempts, forced, refusal: error, result, selection }: Selected, session: Session | undefined): Answer {
    const { ids, settings } = this.#host
    const [first] = attempts
    const executionId = ids.next('run')
    const now = this.#host.now()
    const status = error ? 'failed' : 'planned'
    const steps = (first?.steps ?? []).map(({ stepId, name }, index) => ({
      stepId,
      index,
      attempt: 0,
      name: name.slice(0, 256),
      status: 'pending',
      startedAt: null,
      finishedAt: null,
    }))
    const body = {
      success: error === undefined,
      executionId,
      artifact: first?.artifact ?? null,
      result: error ? null : (result ?? null),
      confidence: first?.confidence ?? null,
      execution: {
        executionId,
        sessionId: session?.id ?? null,
        status,
        startedAt: now,
        finishedAt: now,
        durationMs: 0,
        dryRun: true,
        forced,
        attempt: 0,
      },
      steps,
      learning: null,
      ...(error && { error }),
      ...(settings.aliases && previewAliases(error, { attempts, forced, selection })),
    }
    return { status: httpOf(status, error), body }
  }

  /** What was asked and answered in the session since its last reset. */
  async #before(session: Session | undefined): Promise<readonly TurnContextPart[]> {
    if (!session) return []
    const folds = await this.#sessions.lastRuns(session, alxLimits.toldRuns)
    return folds.flatMap(({ run: { facts }, result }) => {
      if (result === null) return []
      return [{ kind: 'memory', title: intentText(facts.intent), text: result.slice(0, alxLimits.toldResult) }]
    })
  }
}

function previewAliases(error: ProtocolError | undefined, parts: Pick<Selected, 'attempts' | 'forced' | 'selection'>) {
  return {
    confidenceScore: parts.attempts[0]?.confidence ?? null,
    fallbackUsed: false,
    reason: reasonOf({ ...parts, ...(error && { refusal: error }) }),
    selectMeta: parts.selection,
    ...(error && { code: error.code }),
  }
}

function contextPart(context: SolveCallInput['context']): readonly TurnContextPart[] {
  if (!context || Object.keys(context).length === 0) return []
  const text = JSON.stringify(context, null, 2).slice(0, alxLimits.toldContext)
  return [{ kind: 'context', title: 'Context of the request', text }]
}

function keyOf({ principal }: Caller, key: string): string {
  return `${principal.id}\0${key}`
}

/** ALX-SOLVE-03, check 8. */
export function userMismatch({ principal, development }: Caller, userId: string | undefined): Answer | undefined {
  if (development || userId === undefined || userId === principal.id) return undefined
  return forbidden('The credentials are those of another user than the one that is named.')
}

export function isSolved(solved: Solved | Answer): solved is Solved {
  return 'live' in solved
}
