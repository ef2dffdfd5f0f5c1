// What waits for people, and their answers (W-HWY): gates, questions of agents, and what failed work left.
import {
  err,
  type GateDecision,
  type GateId,
  ok,
  type ParleyError,
  type Principal,
  pause,
  type QuestionAnswer,
  type Result,
  type RunId,
  refuse,
  type SignalId,
  type WorkspaceId,
} from '@parley/core'
import type { UserHandle } from '@parley/kernel'
import type { GateType } from '@parley/trail/events'
import { coordinatorDefaults } from '../limits.ts'
import { SIDES, sideOf } from '../merge/side.ts'
import type { RunsHost } from '../run/runs-host.ts'
import { oldestFirst } from '../view/gate-view.ts'
import type { GateView } from '../view/people-view.ts'
import type { RunList } from '../view/run-list.ts'
import { Acts, type By } from './acts.ts'
import { meantGates } from './meant-gates.ts'
import { readChanges } from './modifications.ts'
import type { Salvages } from './salvages.ts'

/** Refuses with the kernel's codes, and with `ambiguous` for short ids. */
export class Gates extends Acts {
  readonly #runs: Pick<RunList, 'find'>
  /** Decides about what failed work left, where no gate of the kernel stands behind the question. */
  readonly #salvages: Pick<Salvages, 'decide'>

  constructor(host: RunsHost, runs: Pick<RunList, 'find'>, salvages: Pick<Salvages, 'decide'>) {
    super(host)
    this.#runs = runs
    this.#salvages = salvages
  }

  /** Everything that waits for a person, the oldest first; of one run, if one is named. */
  async list(run?: RunId): Promise<readonly GateView[]> {
    const { drivers } = this.host
    const chosen = run === undefined ? [...drivers.values()] : [drivers.get(run)]
    return oldestFirst(chosen.flatMap(each => each?.gates ?? []))
  }

  /** The same as it is now, and again after every change. */
  async *watch(signal?: AbortSignal): AsyncIterable<readonly GateView[]> {
    const { clock, drivers, machine } = this.host
    let before: string | undefined
    while (!signal?.aborted) {
      const changed = Promise.withResolvers<void>()
      const stop = () => changed.resolve()
      const offs = [...drivers.values(), machine].map(each => each.onChange(stop))
      signal?.addEventListener('abort', stop)
      try {
        const now = await this.list()
        // What holds everything up is told with it.
        const text = JSON.stringify([now, machine.held])
        if (text !== before) yield now
        before = text
        // A run that starts meanwhile has no driver yet that could tell.
        await Promise.race([changed.promise, pause(clock, coordinatorDefaults.gateInterval, signal)])
        await pause(clock, coordinatorDefaults.viewInterval, signal)
      } finally {
        for (const off of offs) off()
        signal?.removeEventListener('abort', stop)
      }
    }
  }

  /** Answers a gate by its id or a unique part of it; by its run, every task of its plan that waits. */
  async respond(
    text: string,
    { principal, ...asked }: GateDecision & By,
  ): Promise<Result<{ readonly run: RunId; readonly gates: readonly string[] }>> {
    const found = await this.find(text, 'gate')
    if (!found.ok) return found
    const run = found.value[0].run as RunId
    const [{ type }] = found.value
    const meant = type === 'escalation' ? ok(asked) : decisionOf(type, asked)
    if (!meant.ok) return meant
    const decision = meant.value
    const unfit = found.value.map(view => noSideIn(view, decision) ?? notAgain(view, decision)).find(each => each)
    const refused = unfit ?? (await this.unwritable(run))
    if (refused) return refused
    const user = this.host.runtime.user(principal.id)
    let failed: ParleyError | undefined
    const answered: string[] = []
    for (const view of found.value) {
      const { id } = view
      const told = wantsAgain(decision)
        ? await this.tell(principal, run, { parley: 'again', workspace: view.workspace! })
        : ok(undefined)
      const result = !told.ok
        ? told
        : isOffer(view)
          ? await this.#judge(run, id, principal, decision)
          : await answerGate(user, run, id as GateId, decision)
      if (result.ok && decision.decision === 'reject') await this.#endUnbegun(user, run, view)
      // One that cannot be answered does not keep the others waiting (W-HWY-26).
      if (result.ok) answered.push(id)
      else failed ??= result.error
    }
    await this.host.drivers.get(run)?.poke()
    if (failed && answered.length === 0) return err(failed)
    return ok({ run, gates: answered })
  }

  /** Work that has not begun waits for the message that was withheld: it ends with that, by the same person. */
  async #endUnbegun(user: UserHandle, run: RunId, { type, workspace }: GateView): Promise<void> {
    if (type !== 'envelope_delivery' || workspace === undefined) return
    const work = this.host.drivers.get(run)?.projection.workspaces.get(workspace as WorkspaceId)
    // Whoever may not end it leaves that to the coordinator, which asks.
    if (work?.state === 'idle') await user.abort(run, work.id)
  }

  async #judge(
    run: RunId,
    task: string,
    principal: Principal,
    { decision, reason }: GateDecision,
  ): Promise<Result<unknown>> {
    if (decision === 'modify')
      return refuse('invalid_argument', 'What failed work left is taken over or not: approve or reject it.')
    return this.#salvages.decide(run, { principal, task, take: decision === 'approve', reason })
  }

  /** Answers a question by its id, by a unique part of it, or by its run if there is just one. */
  async reply(text: string, { principal, ...answer }: QuestionAnswer & By): Promise<Result<{ readonly run: RunId }>> {
    const found = await this.find(text, 'question')
    if (!found.ok) return found
    const [view] = found.value
    const run = view.run as RunId
    if (answer.answer === 'envelope' && answer.text.trim() === '')
      return refuse('invalid_argument', 'A reply needs a text.')
    const refused = await this.unwritable(run)
    if (refused) return refused
    const told =
      answer.answer === 'envelope'
        ? ({ type: 'envelope', payload: { format: 'text', content: answer.text } } as const)
        : ({ type: answer.answer === 'abort' ? 'abort' : 'delegation' } as const)
    const user = this.host.runtime.user(principal.id)
    const result = await user.answerEscalation(run, view.id as SignalId, told)
    await this.host.drivers.get(run)?.poke()
    return result.ok ? ok({ run }) : result
  }

  /** What a name means, or none; `last` is the newest run. See `meantGates`. */
  async find(
    name: string | undefined,
    kind: GateView['kind'],
    all = false,
  ): Promise<Result<readonly [GateView, ...GateView[]]>> {
    const run = name === 'last' ? await this.#runs.find(name) : undefined
    if (run && !run.ok) return run
    return meantGates(await this.list(), run?.value ?? name, kind, all)
  }
}

/** A question of the coordinator's own, which no gate of the kernel stands behind. */
function isOffer({ id, workspace }: GateView): boolean {
  return id === workspace
}

/** What `find` gives at once is of one type, or is not modified. */
function decisionOf(type: GateType, asked: GateDecision): Result<GateDecision> {
  if (asked.decision !== 'modify') return ok(asked)
  const read = readChanges(type, asked.changes)
  return read.ok ? ok({ ...asked, changes: read.value }) : read
}

function wantsAgain(answer: GateDecision): boolean {
  return answer.decision === 'reject' && answer.again === true
}

function notAgain({ type, workspace, subject }: GateView, answer: GateDecision) {
  if (!wantsAgain(answer)) return undefined
  const { mode } = (subject ?? {}) as { readonly mode?: unknown }
  if (type === 'integration' && workspace !== undefined && mode === 'normal') {
    if (answer.reason !== undefined) return undefined
    return refuse('invalid_argument', 'Say what should be different: the agent that does it again reads it.')
  }
  return refuse('invalid_argument', 'Only finished work can be sent back, where it waits to be merged.')
}

/** Where a person decides whose version is taken, they name one of both. */
function noSideIn({ subject }: GateView, answer: GateDecision) {
  const { proposal } = (subject ?? {}) as { readonly proposal?: { readonly resolution?: unknown } }
  if (typeof proposal?.resolution !== 'string' || sideOf(proposal.resolution) === undefined) return undefined
  const { resolution } = answer.decision === 'modify' ? answer.changes : {}
  if (resolution === undefined || SIDES.some(side => side === resolution)) return undefined
  return refuse('invalid_argument', `The resolution is one of ${SIDES.join(', ')}.`)
}

function answerGate(user: UserHandle, run: RunId, gate: GateId, decision: GateDecision): Promise<Result<unknown>> {
  switch (decision.decision) {
    case 'approve':
      return user.approve(run, gate, decision.reason)
    case 'reject':
      return user.reject(run, gate, decision.reason)
    case 'modify':
      return user.modify(run, gate, decision.changes, decision.reason)
  }
}
