// The ALX server without HTTP: what each route does once its request has passed the checks of its form. It stores
// nothing of its own: runs are on the trail, records in the library, and the rest is folded from both.
import {
  ALX_PROTOCOL_VERSION,
  type ApprovalDecision,
  CAPABILITIES,
  type Capability,
  type FeedbackInput,
  type ProtocolInfo,
  type SolveCallInput,
} from '@alx/protocol'
import {
  asParleyError,
  type LibraryRecord,
  type ParleyError,
  pause,
  type RunEnd,
  type RunId,
  type RunPort,
  SystemClock,
  SystemIds,
} from '@parley/core'
import { alxLimits } from '../limits.ts'
import type { KnowledgeService } from '../ports.ts'
import type { RunFold } from '../run/fold.ts'
import type { LiveRun } from '../run/live-run.ts'
import { Runs } from '../run/runs.ts'
import { keepTime } from '../run/time-limit.ts'
import { type IndexedRun, indexedStored, SessionIndex } from '../session/session-index.ts'
import { Sessions } from '../session/sessions.ts'
import { DEFAULT_SETTINGS } from '../settings.ts'
import { type Answer, answerTo, forbidden, refusal, refused } from './answer.ts'
import { type AlxServerOptions, type Caller, type Host, isoOf, mayRead } from './host.ts'
import { runAnswer } from './response.ts'
import { type Solved, Solves, userMismatch } from './solves.ts'

export class AlxServer {
  readonly protocol: ProtocolInfo
  readonly enabled: ReadonlySet<Capability>
  readonly host: Host
  readonly sessions: Sessions
  readonly #solves: Solves
  #ready: Promise<void> | undefined

  constructor({ runs: port, hash, settings, ...options }: AlxServerOptions) {
    const { clock = new SystemClock(), ids = new SystemIds(), capabilities = usual } = options
    this.enabled = new Set(capabilities)
    this.protocol = { protocol_version: ALX_PROTOCOL_VERSION, capabilities: [...this.enabled] }
    const runs = new Runs({
      port,
      self: options.self,
      clock,
      protocol: this.protocol,
      hash,
      onFollow: live => keepTime(live, { clock, now: () => isoOf(clock), onLate: late => void this.#late(late) }),
      atEnd: (live, end) => this.#atEnd(live, end),
      onFault: ({ run, fold }, cause) =>
        options.log('error', 'A run cannot be followed.', { run, correlationId: fold.run.facts.correlationId, cause }),
    })
    this.host = {
      ...options,
      clock,
      ids,
      capabilities,
      port,
      runs,
      index: new SessionIndex(),
      protocol: this.protocol,
      settings: { ...DEFAULT_SETTINGS, ...settings },
      now: () => isoOf(clock),
    }
    this.sessions = new Sessions(this.host)
    this.#solves = new Solves(this.host, this.sessions)
  }

  get knowledge(): KnowledgeService {
    return this.host.knowledge
  }

  /** Reads what there was before; asked for by the first request, too. A failure is tried again by the next one. */
  open(): Promise<void> {
    this.#ready ??= this.#fill().catch((cause: unknown) => {
      this.#ready = undefined
      throw cause
    })
    return this.#ready
  }

  /** Streams and calls that wait are told that the server stops; runs go on. */
  close(): void {
    this.host.runs.close()
  }

  async #fill(): Promise<void> {
    const { port, self, library, index } = this.host
    const runs: IndexedRun[] = []
    let after: RunId | undefined
    do {
      const page = await port.find({ principal: self, origin: 'alx', ...(after !== undefined && { after }) })
      for (const stored of page.runs) {
        const run = indexedStored(stored)
        if (run) runs.push(run)
      }
      after = page.cursor
    } while (after !== undefined && runs.length < alxLimits.runs)
    const records: LibraryRecord[] = []
    for await (const record of library.read()) if (record.type.startsWith('session.')) records.push(record)
    index.fill(runs, records)
    void this.#warm()
  }

  /** Unfinished runs are followed again, and what a crash cut off behind their end is done. */
  async #warm(): Promise<void> {
    const { index, runs, log } = this.host
    for (const run of index.newestRuns(alxLimits.warmedRuns)) {
      if (runs.stopping) return
      try {
        await runs.read(run)
      } catch (cause) {
        log('warn', 'A run could not be read at the start.', { run, cause })
      }
    }
  }

  async #late({ run, fold }: LiveRun): Promise<void> {
    const { port, log } = this.host
    const { correlationId } = fold.run.facts
    log('warn', 'A run took longer than its limit and is ended.', { run, correlationId })
    try {
      const ended = await port.cancel(run, { principal: 'system', reason: 'The solve took longer than its limit.' })
      if (!ended.ok) throw ended.error
    } catch (cause) {
      log('error', 'A run that is over its limit could not be ended.', { run, correlationId, cause })
    }
  }

  /** Before anybody hears of the end: what the run has made is registered, and why it failed is in the log. */
  async #atEnd({ run, user, fold }: LiveRun, end: RunEnd): Promise<void> {
    const { knowledge, log } = this.host
    const { correlationId } = fold.run.facts
    if (fold.error) log('warn', 'A run failed.', { run, correlationId, code: fold.error.code, cause: end.error })
    const { synthesis } = fold
    if (!synthesis) return
    try {
      const kept = await knowledge.keep(synthesis, user)
      if (!kept.ok) log('error', 'The result of a run was not registered.', { run, correlationId, cause: kept.error })
    } catch (cause) {
      log('error', 'The result of a run was not registered.', { run, correlationId, cause })
    }
  }

  async solve(call: SolveCallInput, caller: Caller): Promise<Solved | Answer> {
    return userMismatch(caller, call.meta?.userId) ?? this.#solves.solve(call, caller)
  }

  /** Waits until the run has ended or waits for a person. */
  async settled({ live, replayed }: Solved): Promise<Answer> {
    await live.until(({ fold }) => fold.over || fold.open !== undefined)
    return this.answer(live, replayed)
  }

  /** The run as it stands. */
  answer(live: LiveRun, replayed = false): Answer {
    return this.#shown(live.at(this.host.now()), replayed)
  }

  #shown(fold: RunFold, replayed: boolean): Answer {
    const { knowledge, settings } = this.host
    const learned = fold.result === null ? null : knowledge.learning(fold.run.runId as RunId)
    return runAnswer(fold, { learning: learned, aliases: settings.aliases, replayed })
  }

  /** Undefined for a run that does not exist and for one of somebody else's. */
  async run(id: string, caller: Caller): Promise<LiveRun | undefined> {
    const { index, runs } = this.host
    const found = index.run(id as RunId)
    return found && mayRead(caller, found.session.userId) ? runs.read(id as RunId) : undefined
  }

  /** ALX-RUN-07: whether its events can still be had. */
  hasEvents({ finishedAt }: RunFold): boolean {
    const { settings, now } = this.host
    return finishedAt === null || Date.parse(now()) <= Date.parse(finishedAt) + settings.eventRetentionMs
  }

  /** ALX-SOLVE-14. */
  async decide(id: string, { approvalId, decision, note }: ApprovalDecision, caller: Caller): Promise<Answer> {
    const live = await this.run(id, caller)
    if (!live) return unknownRun(id)
    const { open } = live.at(this.host.now())
    if (open?.id !== approvalId) {
      // One whose time is over has been decided by that.
      return live.fold.open?.id === approvalId || live.fold.hasDecided(approvalId)
        ? refusal('APPROVAL_ALREADY_DECIDED', 'This approval has been decided.')
        : refusal('APPROVAL_NOT_FOUND', `No approval ${approvalId} waits in this run.`)
    }
    const reason = note?.trim() ? note : undefined
    const answered = await this.#answer(live, approvalId, {
      principal: caller.principal,
      answer:
        open.kind === 'gate'
          ? { decision, ...(reason !== undefined && { reason }) }
          : decision === 'approve'
            ? { answer: 'envelope', text: reason ?? 'Approved.' }
            : { answer: 'abort' },
    })
    if (!answered.ok) return this.#undecided(answered.error, caller)
    await live.until(({ fold }) => fold.open?.id !== approvalId)
    return this.settled({ live, replayed: false })
  }

  /** The coordinator may hear of what waits a moment later than the readers of the trail. */
  async #answer({ fold }: LiveRun, approvalId: string, options: Parameters<RunPort['answer']>[1]) {
    const { port, clock } = this.host
    for (let tried = 1; ; tried++) {
      const answered = await port.answer(approvalId, options)
      const early = !answered.ok && UNHEARD.has(answered.error.code) && fold.open?.id === approvalId
      if (!early || tried === alxLimits.answerTries) return answered
      await pause(clock, alxLimits.answerWaitMs * 2 ** (tried - 1))
    }
  }

  #undecided(cause: ParleyError, { correlationId }: Caller): Answer {
    if (UNHEARD.has(cause.code))
      return refusal('APPROVAL_ALREADY_DECIDED', 'Somebody else has decided about this approval.')
    if (cause.code === 'permission_denied') return forbidden('This user may not decide about this approval.')
    this.host.log('error', 'A decision was not recorded.', { correlationId, cause })
    return answerTo(cause)
  }

  async feedback(input: FeedbackInput, caller: Caller): Promise<Answer> {
    const { executionId } = input
    const live = await this.run(executionId, caller)
    if (!live) return unknownRun(executionId)
    const { finishedAt, error, chosen } = live.at(this.host.now())
    if (finishedAt === null || error)
      return refusal('FEEDBACK_NOT_ELIGIBLE', 'Feedback is for runs that have completed.')
    const { artifactId } = chosen?.artifact ?? {}
    const rated = { run: live.run, user: live.user, ...(artifactId !== undefined && { artifactId }) }
    const made = await this.knowledge.feedback(input, caller.principal, rated)
    return made.ok ? { status: 200, body: made.value } : refused(made.error)
  }
}

export function unknownRun(id: string): Answer {
  return refusal('RUN_NOT_FOUND', `There is no run ${id}.`)
}

/** What was thrown on the way to an answer: the record may be away, and anything else nobody foresaw. */
export function thrownAnswer(cause: unknown): Answer {
  return answerTo(asParleyError(cause))
}

/** What the coordinator says of what does not wait, or not any more, or not yet. */
const UNHEARD: ReadonlySet<string> = new Set(['not_found', 'invalid_state'])

const usual = CAPABILITIES.filter(name => name !== 'signed-requests')
