// What is seen of a world from outside, as it happens: batches that are handed in and settled, commands and their
// answers, notices. Every invariant is asked here; the first that is broken is kept until somebody looks.
import { ParleyError, type Result, type RunId } from '@parley/core'
import type { Delivery, Notice, Runtime } from '@parley/kernel'
import type { Appended, Batch } from '@parley/trail/testing'
import type { Command } from '../../packages/kernel/src/command.ts'
import { RunModel } from '../model/model.ts'
import { Statistics } from '../statistics.ts'
import { count } from '../world/transport.ts'
import type { TrailWatcher } from '../world/watched-trail.ts'
import { answerProblem, authorityProblem, DENIALS, isReadable } from './answers.ts'
import { foldChecked, Violation, violated } from './invariants.ts'
import { markerProblem, type Opened, RECOVERY_ENTRIES } from './recovery.ts'
import { type Standing, standingProblem } from './standing.ts'

/** A rule broken on purpose: what is appended instead of a batch. */
export type Tamper = (run: RunModel, batch: Batch) => Batch

/** One command on its way. */
export interface Asked {
  readonly run: string
  readonly command: Command
  /** How the person stands who gave it. */
  readonly standing?: Standing | undefined
  /** Whether what it reads was within reach when it was given; sight may grow and the tree change meanwhile. */
  readonly reach?: boolean | undefined
}

/** What is watched ends with the life of the process that does it. */
export interface Watched {
  readonly asked: Set<Asked>
  /** Calls that have no answer yet. */
  calls: number
  over: boolean
}

export interface WatchOptions {
  readonly carriesSignals: boolean
  /** States of runs are kept, so that not all of a trail is read again. */
  readonly keepsStates: boolean
  /** How a user stands; undefined where everybody may do everything. */
  readonly standing: (user: string) => Standing | undefined
}

export class Watch {
  readonly statistics = new Statistics()
  readonly models = new Map<string, RunModel>()
  /** Batches handed in and not settled, by run. */
  readonly underway = new Map<string, Batch[]>()
  /**
   * Batches that failed since the last one that did not: a disk that failed may still have kept them, until the power
   * goes.
   */
  readonly doubtful: Batch[] = []
  /** Storage fails now and then, or what it held up is not finished yet. */
  troubled = false
  /** Runs that were opened and are not recovered yet. */
  readonly recovering = new Map<string, Opened>()
  /** A runtime is being opened and nobody acts yet. */
  opening = false
  /** How often each envelope and signal was carried, and how often it was brought to its receiver. */
  readonly carried = new Map<string, number>()
  readonly arrived = new Map<string, number>()
  readonly #tamper: Tamper | undefined
  readonly #options: WatchOptions
  #violation: unknown
  #moves = 0
  #appending = 0
  #tending = 0
  #failures = 0
  #committed: { readonly run: string; readonly batch: Batch }[] = []
  #answers: { readonly command: Command; readonly result: Result<unknown> }[] = []

  constructor(options: WatchOptions, tamper: Tamper | undefined) {
    this.#options = options
    this.#tamper = tamper
  }

  /** Something happened. */
  moved(): void {
    this.#moves++
  }

  get moves(): number {
    return this.#moves
  }

  get appending(): number {
    return this.#appending
  }

  /** Housekeeping that is under way. */
  get tending(): number {
    return this.#tending
  }

  /** Appends that failed so far; each makes a run read its trail again. */
  get failures(): number {
    return this.#failures
  }

  model(run: string): RunModel {
    let model = this.models.get(run)
    if (!model) {
      model = new RunModel(run)
      this.models.set(run, model)
    }
    return model
  }

  // Batches

  batches(life: Watched): TrailWatcher {
    const tamper = this.#tamper
    return {
      tamper: tamper && ((run, batch) => tamper(this.model(run), batch)),
      appending: (run, batch) => {
        if (life.over) return
        this.#moves++
        this.#appending++
        const underway = this.underway.get(run)
        if (underway) underway.push(batch)
        else this.underway.set(run, [batch])
      },
      appended: (run, batch, result) => {
        if (life.over) return
        this.#moves++
        this.#appending--
        this.guard(() => this.#settled(run, batch, result))
      },
    }
  }

  #settled(run: RunId, batch: Batch, result: Result<Appended>): void {
    const underway = this.underway.get(run)!
    const index = underway.indexOf(batch)
    underway.splice(index, 1)
    if (!result.ok) {
      this.#failures++
      this.doubtful.push(batch)
      if (!this.troubled)
        throw new Violation('W-TRAIL-03 the trail takes what the kernel decides', result.error.message)
      return
    }
    this.doubtful.length = 0
    if (index !== 0) throw new Violation('W-TRAIL-07 batches become durable in order', `${index} before it in ${run}`)
    this.fold(run, batch)
    if (batch.entries.length === 0) return
    const model = this.model(run)
    model.head = result.value.head
    if (model.seq !== result.value.last)
      throw new Violation('W-TRAIL-10 no gaps', `${run}: entry ${result.value.last} is the ${model.seq}th`)
  }

  /** A batch is on record. */
  fold(run: string, batch: Batch): void {
    const { entries, objects = [] } = batch
    this.statistics.count(entries)
    this.#committed.push({ run, batch })
    foldChecked(this.model(run), {
      entries,
      objects,
      at: 0,
      carriesSignals: this.#options.carriesSignals,
      carried: this.carried,
    })
    const opened = this.recovering.get(run)
    if (opened) this.#recovers(run, opened, entries)
    // What a gate held up is checked once more when it is let through (W-HWY-07): it may be denied by now.
    const passed = entries.some(entry => entry.event_type === 'gate_resolved')
    const odd = this.opening && !passed && entries.find(entry => !RECOVERY_ENTRIES.has(entry.event_type))
    if (odd) throw new Violation('W-REC-11 a restart simply goes on', `it wrote ${odd.event_type}`)
  }

  /** Recovery brings mail and signals by itself (W-REC-17, -18) and says at its end what it did. */
  #recovers(run: string, opened: Opened, entries: Batch['entries']): void {
    for (const entry of entries) {
      const { envelope_id: envelope, signal_id: signal } = entry.body as Readonly<Record<string, string>>
      if (entry.event_type === 'envelope_delivered' || entry.event_type === 'envelope_redelivered') {
        count(this.arrived, envelope!)
        opened.delivered++
      }
      if (entry.event_type === 'signal_delivered') count(this.arrived, signal!)
      if (entry.event_type !== 'recovery_completed') continue
      this.recovering.delete(run)
      const exact = { storage: !this.troubled, reading: !this.#options.keepsStates }
      violated(
        'W-REC-20 W-REC-22 the marker of a recovery tells what it was',
        markerProblem(this.model(run), opened, entry, exact),
      )
    }
    if (this.model(run).ended) this.recovering.delete(run)
  }

  // Deliveries

  /** W-ENV-08: what is not on the trail yet is not carried. */
  carrying({ kind, id }: Delivery): void {
    this.#moves++
    count(this.carried, id)
    this.guard(() => {
      const known = [...this.models.values()].some(run =>
        kind === 'envelope' ? run.envelopes.has(id) : run.signals.has(id),
      )
      if (!known) throw new Violation('W-ENV-08 W-SIG-06 only what is on record is carried', id)
    })
  }

  refused(cause: unknown): void {
    this.#moves++
    this.guard(() => defect(cause))
  }

  // Commands

  /** Sees every command of the handles with its answer. */
  commands(runtime: Runtime, life: Watched): void {
    const submit = runtime.submit.bind(runtime)
    runtime.submit = <T>(run: RunId, command: Command) => {
      const standing = 'user' in command ? this.#options.standing(command.user) : undefined
      const reach = command.type === 'read' ? isReadable(this.models.get(run), command) : undefined
      const asked: Asked = { run, command, standing, reach }
      life.asked.add(asked)
      this.#moves++
      const answer = submit<T>(run, command)
      void answer.then(result => {
        if (life.over) return
        this.#moves++
        life.asked.delete(asked)
        this.guard(() => this.#answered(asked, result))
      })
      return answer
    }
  }

  #answered({ run, command, standing, reach }: Asked, result: Result<unknown>): void {
    this.statistics.answer(command.type, result)
    this.#answers.push({ command, result })
    if (!result.ok) defect(result.error)
    const model = this.models.get(run)
    violated('0.3 0.5 an answer agrees with the trail', answerProblem(model, command, result, reach))
    violated('W-ROLE-04 only those who may give an order are obeyed', authorityProblem(model, command, result))
    if ('user' in command)
      violated(
        'W-USER-13 only people who may give an order are obeyed',
        standingProblem(model, command, result, standing, this.#options.standing(command.user)),
      )
  }

  /** A call of the public API: it may take its time, but it never throws. */
  launch(life: Watched, call: () => Promise<unknown>): void {
    this.#moves++
    life.calls++
    void call().then(
      () => {
        life.calls--
        this.#moves++
      },
      cause => {
        life.calls--
        if (!life.over) this.fail(new Violation('0.5 a refusal is a value', `a call threw ${stackOf(cause)}`))
      },
    )
  }

  /** Housekeeping, which ends by itself whatever the clock says. */
  tend(life: Watched, work: () => Promise<void>): void {
    this.#moves++
    this.#tending++
    void work()
      .catch((cause: unknown) => {
        if (!life.over) this.fail(cause)
      })
      .finally(() => {
        if (life.over) return
        this.#moves++
        this.#tending--
      })
  }

  /** 0.7: a notice names what is on the trail already, and mail is announced once. */
  notices(run: string, life: Watched): (notice: Notice) => void {
    const announced = new Set<string>()
    return notice => {
      if (life.over) return
      this.#moves++
      this.guard(() => {
        const wrong = noticeProblem(this.model(run), notice, announced)
        if (wrong !== undefined) throw new Violation('0.7 a notice follows its entry', wrong)
      })
    }
  }

  // Findings

  guard(check: () => void): void {
    try {
      check()
    } catch (cause) {
      this.fail(cause)
    }
  }

  fail(cause: unknown): void {
    this.#violation ??= cause
  }

  /** For errors that nobody caught: the runtime threw where no caller could see it. */
  uncaught(cause: unknown): void {
    this.fail(new Violation('0.5 the runtime does not throw', stackOf(cause)))
  }

  raise(): void {
    if (this.#violation !== undefined) throw this.#violation
  }

  /** A step begins: what is committed and answered from here on belongs to it. */
  begin(): void {
    this.#committed = []
    this.#answers = []
  }

  /** A life is over: what it had on its way is known only from the disk. */
  forget(): void {
    this.#appending = 0
    this.#tending = 0
    this.begin()
  }

  /** A step in which everything was refused left nothing but denials. */
  checkRefusals(house: string): void {
    if (this.#answers.length === 0 || !this.#answers.every(({ result }) => isRefused(result))) return
    // What the record of a refusal costs may cross a mark of a budget (W-BUDGET-03), and more may follow from that.
    if (this.#committed.some(({ batch }) => batch.entries[0]?.event_type.startsWith('budget_'))) return
    for (const { run, batch } of this.#committed) {
      const changed = batch.entries.find(entry => !isDenial(entry))
      const what = changed?.event_type ?? batch.objects?.[0]?.kind
      const asked = this.#answers.map(each => each.command.type).join(', ')
      if (what !== undefined && run !== house)
        throw new Violation('0.5 a refused command leaves everything unchanged', `${asked} left ${what}`)
    }
  }
}

/** What waits at a gate was taken, and a guard that rejects may fail the source of a merge (W-HWY-11). */
function isRefused(result: Result<unknown>): boolean {
  if (result.ok) return false
  return result.error.code !== 'gated' && result.error.details.reason !== 'gate_rejected_by_human'
}

/** What nobody asked for by a command. */
const HOUSEKEEPING: ReadonlySet<string> = new Set(['trail_compacted', 'trail_snapshot_created'])

function isDenial({ event_type, body }: Batch['entries'][number]): boolean {
  if (event_type === 'human_injection') return (body as { readonly status?: string }).status === 'rejected'
  return DENIALS.has(event_type) || HOUSEKEEPING.has(event_type)
}

/** Refusals have codes of their own; this one means that the kernel met a defect. */
function defect(cause: unknown): void {
  if (cause instanceof ParleyError && cause.code === 'internal')
    throw new Violation('0.5 the kernel never fails by itself', stackOf(cause.cause ?? cause))
}

function noticeProblem(run: RunModel, notice: Notice, announced: Set<string>): string | undefined {
  switch (notice.kind) {
    case 'mail': {
      const status = run.envelopes.get(notice.envelope)?.status
      if (status !== 'delivered' && status !== 'acknowledged') return `${notice.envelope} is ${status}`
      if (announced.has(notice.envelope)) return `${notice.envelope} is announced twice`
      announced.add(notice.envelope)
      return undefined
    }
    case 'signal': {
      const signal = run.signals.get(notice.signal)
      if (!signal?.deliveries || signal.to !== notice.to) return `${notice.signal} is not delivered to ${notice.to}`
      if (announced.has(notice.signal)) return `${notice.signal} is announced twice`
      announced.add(notice.signal)
      return undefined
    }
    case 'undeliverable': {
      const reason = run.envelopes.get(notice.envelope)?.undeliverable
      return reason === notice.reason ? undefined : `${notice.envelope} is ${reason}`
    }
    case 'gate_opened':
      return run.gates.has(notice.gate) || run.gateEnds.has(notice.gate) ? undefined : `${notice.gate} is not there`
    case 'gate_ended':
      return run.gateEnds.get(notice.gate)?.action === notice.action
        ? undefined
        : `${notice.gate} did not end by ${notice.action}`
    case 'unresolvable':
      return notice.tasks.every(id => run.tasks.has(id)) ? undefined : 'it names tasks that are not there'
    default:
      return undefined
  }
}

function stackOf(cause: unknown): string {
  return String((cause as Error | undefined)?.stack ?? cause)
}
