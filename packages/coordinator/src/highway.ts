// What people do to runs at work (highway-contract.ts): answer what waits, write to agents, stop work. Every act goes through the kernel's
// user handle, which checks and records it; here ids are found, tasks become workspaces, and what is for the coordinator becomes mail.
import {
  type Clock,
  err,
  type GateId,
  ok,
  type ParleyError,
  type Principal,
  type Result,
  type RunId,
  type SignalId,
} from '@parley/core'
import type { Runtime, UserHandle } from '@parley/kernel'
import { isTerminal } from '@parley/trail/events'
import { driving, refuse, tellCoordinator, workspaceAt } from './acts.ts'
import type { BudgetActs } from './budget-acts.ts'
import type { ControlMessage } from './control.ts'
import type {
  GateDecision,
  GateView,
  HighwayConducting,
  Injection,
  QuestionAnswer,
} from './highway-contract.ts'
import { coordinatorDefaults } from './limits.ts'
import { isOfTrail, type Machine } from './machine/machine.ts'
import { pause } from './pause.ts'
import type { SeenWorkspace } from './projection.ts'
import type { RunDriver } from './run-driver.ts'
import type { Succession } from './succession-acts.ts'
import type { UserActs } from './user-acts.ts'

export interface HighwayOptions {
  readonly runtime: Runtime
  readonly clock: Clock
  readonly find: (text: string) => Promise<Result<RunId>>
  /** Of the runs at work. */
  readonly drivers: ReadonlyMap<RunId, RunDriver>
  readonly machine: Machine
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string, facts?: object) => void
  /** What a person judges of what failed work left, and the end of work with time to finish, are done there. */
  readonly succession: Pick<Succession, 'salvage' | 'windDown'>
}

type By = { readonly principal: Principal }

export class Highway implements Omit<HighwayConducting, keyof BudgetActs | keyof UserActs> {
  readonly #options: HighwayOptions

  constructor(options: HighwayOptions) {
    this.#options = options
  }

  async gates(run?: RunId): Promise<readonly GateView[]> {
    const { drivers } = this.#options
    const chosen = run === undefined ? [...drivers.values()] : [drivers.get(run)]
    const views = chosen.flatMap(each => each?.view.gates ?? [])
    return views.toSorted((one, other) => (one.since < other.since ? -1 : 1))
  }

  async *watchGates(signal?: AbortSignal): AsyncIterable<readonly GateView[]> {
    const { clock, drivers, machine } = this.#options
    let before: string | undefined
    while (!signal?.aborted) {
      const changed = Promise.withResolvers<void>()
      const stop = () => changed.resolve()
      const offs = [...[...drivers.values()].map(driver => driver.onChange(stop)), machine.onChange(stop)]
      signal?.addEventListener('abort', stop)
      try {
        const now = await this.gates()
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

  async respond(
    text: string,
    { principal, ...decision }: GateDecision & By,
  ): Promise<Result<{ readonly run: RunId; readonly gates: readonly string[] }>> {
    const found = await this.#meant(text, 'gate')
    if (!found.ok) return found
    const { run, views } = found.value
    const unwritable = await this.#unwritable(run)
    if (unwritable) return unwritable
    const user = this.#user(principal)
    let failed: ParleyError | undefined
    const answered: string[] = []
    for (const view of views) {
      const { id } = view
      const result = isOffer(view)
        ? await this.#judge(run, id, principal, decision)
        : await answerGate(user, run, id as GateId, decision)
      // One that cannot be answered does not keep the others waiting (W-HWY-26).
      if (result.ok) answered.push(id)
      else failed ??= result.error
    }
    await this.#options.drivers.get(run)?.poke()
    if (failed && answered.length === 0) return err(failed)
    return ok({ run, gates: answered })
  }

  #judge(run: RunId, task: string, principal: Principal, decision: GateDecision): Promise<Result<unknown>> {
    const { reason } = decision
    if (decision.decision === 'modify')
      return Promise.resolve(
        refuse('invalid_argument', 'What failed work left is taken over or not: approve or reject it.'),
      )
    const take = decision.decision === 'approve'
    return this.#options.succession.salvage(run, {
      principal,
      task,
      take,
      ...(reason !== undefined && { reason }),
    })
  }

  async reply(
    text: string,
    { principal, ...answer }: QuestionAnswer & By,
  ): Promise<Result<{ readonly run: RunId }>> {
    const found = await this.#meant(text, 'question')
    if (!found.ok) return found
    const { run, views } = found.value
    const [view] = views
    const signal = view!.id as SignalId
    const user = this.#user(principal)
    if (answer.answer === 'envelope' && answer.text.trim() === '')
      return refuse('invalid_argument', 'A reply needs a text.')
    const unwritable = await this.#unwritable(run)
    if (unwritable) return unwritable
    const told =
      answer.answer === 'envelope'
        ? ({ type: 'envelope', payload: { format: 'text', content: answer.text } } as const)
        : ({ type: answer.answer === 'abort' ? 'abort' : 'delegation' } as const)
    const result = await user.answerEscalation(run, signal, told)
    await this.#options.drivers.get(run)?.poke()
    return result.ok ? ok({ run }) : result
  }

  async inject(
    run: RunId,
    { principal, to, text, type, priority }: Injection & By,
  ): Promise<Result<{ readonly envelope: string }>> {
    if (text.trim() === '') return refuse('invalid_argument', 'A message needs a text.')
    const driver = this.#driving(run)
    if (!driver.ok) return driver
    const target = to === undefined ? ok(driver.value.seen.root!) : workspaceAt(driver.value, to)
    if (!target.ok) return target
    const unwritable = await this.#unwritable(run)
    if (unwritable) return unwritable
    const sent = await this.#user(principal).inject(run, {
      to: target.value.id,
      type: type ?? (to === undefined ? 'directive' : 'feedback'),
      payload: { format: 'text', content: text },
      ...(priority && { priority }),
    })
    await driver.value.poke()
    return sent.ok ? ok({ envelope: sent.value.envelope }) : sent
  }

  async suspend(
    run: RunId,
    { principal, reason, task }: By & { readonly reason: string; readonly task?: string },
  ): Promise<Result<void>> {
    const user = this.#user(principal)
    return this.#eachAtWork(run, task, ['active', 'blocked'], 'at work', each =>
      user.suspend(run, each.id, reason),
    )
  }

  async resume(run: RunId, { principal, task }: By & { readonly task?: string }): Promise<Result<void>> {
    const user = this.#user(principal)
    return this.#eachAtWork(run, task, ['suspended'], 'suspended', each => user.resume(run, each.id))
  }

  async abort(
    run: RunId,
    {
      principal,
      reason,
      task,
      grace,
    }: By & { readonly reason: string; readonly task?: string; readonly grace?: number },
  ): Promise<Result<void>> {
    const unwritable = await this.#unwritable(run)
    if (unwritable) return unwritable
    const user = this.#user(principal)
    if (grace !== undefined)
      return this.#options.succession.windDown(run, {
        principal,
        reason,
        grace,
        ...(task !== undefined && { task }),
      })
    if (task !== undefined) {
      const states = ['idle', 'active', 'blocked', 'suspended', 'integrating', 'conflicted']
      return this.#eachAtWork(run, task, states, 'at work', async each => {
        // The protocol has no place for the reason beside the act itself: the coordinator is told, first, since the run may end with it.
        const told = await this.#tell(user, run, { parley: 'abort', task, reason })
        if (!told.ok && isOfTrail(told.error.code)) return told
        return user.abort(run, each.id)
      })
    }
    const { runtime, log } = this.#options
    const handle = await runtime.open(run)
    if (!handle.ok) return handle
    if (!runtime.active.includes(run)) return refuse('invalid_state', `The run ${run} is over already.`)
    const told = await this.#tell(user, run, { parley: 'abort', reason })
    // Whoever may not say so may not end it, and what cannot be recorded cannot be done; a root that takes no mail any more is ended all the same.
    if (!told.ok && (told.error.code === 'permission_denied' || isOfTrail(told.error.code))) return told
    log('info', `${principal.id} ends ${run}: ${reason}`, { run })
    return handle.value.stop()
  }

  /** The kernel would hold it until the trail is back (W-REC-08): a person is told within seconds that nothing was done. */
  async #unwritable(run: RunId): Promise<Result<never> | undefined> {
    const { runtime, clock, machine } = this.#options
    const looks = coordinatorDefaults.degradedWait / coordinatorDefaults.degradedLook
    for (let look = 0; runtime.isDegraded(run); look++) {
      if (look >= looks)
        return refuse(
          'trail_unavailable',
          `Nothing was done: the record of ${run} cannot be written. ${machine.held?.message ?? 'Try again.'}`,
        )
      await pause(clock, coordinatorDefaults.degradedLook)
    }
    return undefined
  }

  #user(principal: Principal): UserHandle {
    return this.#options.runtime.user(principal.id)
  }

  #tell(user: UserHandle, run: RunId, message: ControlMessage): Promise<Result<unknown>> {
    return tellCoordinator(this.#options.drivers.get(run), user, run, message)
  }

  #driving(run: RunId): Result<RunDriver> {
    return driving(this.#options.drivers.get(run), run)
  }

  async #eachAtWork(
    run: RunId,
    task: string | undefined,
    states: readonly string[],
    word: string,
    act: (workspace: SeenWorkspace) => Promise<Result<void>>,
  ): Promise<Result<void>> {
    const driver = this.#driving(run)
    if (!driver.ok) return driver
    const { seen } = driver.value
    const meant = task === undefined ? undefined : workspaceAt(driver.value, task)
    if (meant && !meant.ok) return meant
    const all = meant ? [meant.value] : [...seen.workspaces.values()].filter(each => each !== seen.root)
    const fitting = all.filter(({ state }) => states.includes(state) && !isTerminal(state))
    if (fitting.length === 0)
      return refuse(
        'invalid_state',
        task === undefined ? `Nothing of ${run} is ${word}.` : `${task} is not ${word}.`,
      )
    const unwritable = await this.#unwritable(run)
    if (unwritable) return unwritable
    for (const each of fitting) {
      const done = await act(each)
      // Others of the run may have moved on meanwhile; of one that was named it is the answer.
      if (!done.ok && (task !== undefined || done.error.code !== 'invalid_state')) return done
    }
    await driver.value.poke()
    return ok(undefined)
  }

  /** What waits and is named by its id, a beginning of it, or by its run: then every task of the plan that waits, or the only question. */
  async #meant(
    text: string,
    kind: GateView['kind'],
  ): Promise<Result<{ readonly run: RunId; readonly views: readonly GateView[] }>> {
    const waiting = await this.gates()
    const fits = waiting.filter(({ id }) => id === text || id.startsWith(text) || bare(id).startsWith(text))
    const exact = fits.find(({ id }) => id === text) ?? (fits.length === 1 ? fits[0] : undefined)
    if (exact) return exact.kind === kind ? one(exact) : wrongKind(exact)
    if (fits.length > 1) return ambiguous(text, fits)
    const run = await this.#options.find(text)
    if (!run.ok) return run.error.code === 'not_found' ? nothing(text) : run
    const ofRun = waiting.filter(each => each.run === run.value)
    const right = ofRun.filter(each => each.kind === kind)
    if (kind === 'gate' && right.length > 0 && right.every(({ type }) => type === 'task_approval'))
      return ok({ run: run.value, views: right })
    if (right.length === 1) return one(right[0]!)
    if (right.length > 1) return ambiguous(text, right)
    return ofRun[0] ? wrongKind(ofRun[0]) : nothing(text)
  }
}

/** A question of the coordinator's own, which no gate of the kernel stands behind. */
function isOffer({ id, workspace }: GateView): boolean {
  return id === workspace
}

const bare = (id: string) => id.replace(/^[a-z]+_/, '')

function one(view: GateView) {
  return ok({ run: view.run as RunId, views: [view] })
}

function nothing(text: string) {
  return refuse(
    'not_found',
    `Nothing that waits is named '${text}'. It was answered already, or its run is over.`,
  )
}

function ambiguous(text: string, fits: readonly GateView[]) {
  return refuse('ambiguous', `'${text}' fits ${fits.length} things that wait; name one of them.`, {
    gates: fits.slice(0, 20).map(({ id }) => id),
  })
}

function wrongKind({ id, kind }: GateView) {
  return refuse(
    'invalid_argument',
    kind === 'question'
      ? `${id} is a question: it takes a reply.`
      : `${id} is a gate: approve, reject or modify it.`,
    { gate: id },
  )
}

function answerGate(
  user: UserHandle,
  run: RunId,
  gate: GateId,
  decision: GateDecision,
): Promise<Result<unknown>> {
  switch (decision.decision) {
    case 'approve':
      return user.approve(run, gate, decision.reason)
    case 'reject':
      return user.reject(run, gate, decision.reason)
    case 'modify':
      return user.modify(run, gate, decision.changes, decision.reason)
  }
}
