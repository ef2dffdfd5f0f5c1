// One system under test with its names: calls by name, the trail since the last mark, time, restarts. What scenarios do
// with it is in kit.ts.
import { AssertionError } from 'node:assert'
import type { RunDraft } from './drafts.ts'
import { type Faults, NotTested, required } from './faults.ts'
import type {
  Caller,
  Entry,
  Host,
  Level,
  Notice,
  Outcome,
  RefusalCode,
  Refused,
  Restarted,
  RestartOptions,
  Setup,
  System,
} from './host.ts'
import { Names } from './names.ts'
import type { OperationName, Value } from './operations.ts'
import { amongMismatch, listMismatch, type Row, shownEntry } from './rows.ts'
import type { ScenarioOptions } from './scenario.ts'

/** Names as callers: of a workspace for its agent, `runtime`, `outsider`; any other is a user's. */
export type CallerName = string | Caller

export class Stage {
  readonly names = new Names()
  /** The level that is tested: what a row demands only above it is left out. */
  readonly level: Level
  readonly #host: Host
  readonly #options: ScenarioOptions
  #system: System | undefined
  /** The run that names and calls are about. */
  run = ''
  #seen = 0
  #stood = 0

  constructor(host: Host, level: Level, options: ScenarioOptions) {
    this.#host = host
    this.level = level
    this.#options = options
  }

  // The system

  /** Starts a system; a scenario with `opened: false` may be refused here. One that ran before is closed. */
  async open(setup: Setup = this.#options.setup ?? {}): Promise<Outcome<System>> {
    await this.close()
    const { level } = this
    const opened = await this.#host.open(level < this.#host.level ? { level, ...setup } : setup)
    if (opened.ok) this.#system = opened.value
    return opened
  }

  /** Starts a run, whose root is named R; calls and rows are about it from here on. */
  async start(draft: RunDraft = {}): Promise<Outcome<{ readonly run: string; readonly root: string }>> {
    const defaults: RunDraft = { owner: 'ux', highway: 'off', ...this.#options.run }
    const started = await this.call('runtime', 'start_run', { ...defaults, ...draft })
    if (!started.ok) return started
    this.run = started.value.run
    this.name(started.value.root, 'R')
    this.#seen = 0
    return started
  }

  async close(): Promise<void> {
    const system = this.#system
    this.#system = undefined
    await system?.close()
  }

  get system(): System {
    if (!this.#system) throw new Error('The scenario has not opened a system.')
    return this.#system
  }

  /** Faults; one that the host lacks ends the scenario as not tested. */
  get faults(): Required<Faults> {
    return required(this.system.faults)
  }

  /** Ends the scenario as not tested, for what cannot be brought about at this level. */
  notTested(why: string): never {
    throw new NotTested(why)
  }

  // Names and calls

  name(id: string, name: string): string {
    this.names.set(id, name)
    return id
  }

  id(name: string): string {
    return this.names.id(name)
  }

  caller(name: CallerName): Caller {
    if (typeof name === 'object') return name
    const { run } = this
    if (name === 'runtime' || name === 'outsider') return { kind: name, run }
    if (this.names.has(name)) return { kind: 'agent', run, workspace: this.id(name) }
    return { kind: 'user', run, user: name }
  }

  /** Asks for an operation. Fields that hold ids take names; ids in the answer are the system's own. */
  call<O extends OperationName>(
    caller: CallerName,
    operation: O,
    params: Readonly<Record<string, unknown>> = {},
  ): Promise<Outcome<Value<O>>> {
    const resolved = this.names.resolved(params) as Readonly<Record<string, unknown>>
    return this.system.call(this.caller(caller), operation, resolved)
  }

  /** The same for what must succeed: the value. */
  async do<O extends OperationName>(
    caller: CallerName,
    operation: O,
    params: Readonly<Record<string, unknown>> = {},
  ): Promise<Value<O>> {
    return must(await this.call(caller, operation, params), `${operation} by ${nameOfCaller(caller)}`)
  }

  /** The same for what must be refused with this code, and this reason where one is given. */
  async refuses<O extends OperationName>(
    code: RefusalCode,
    caller: CallerName,
    operation: O,
    params: Readonly<Record<string, unknown>> = {},
    reason?: string,
  ): Promise<Refused> {
    const outcome = await this.call(caller, operation, params)
    return refused(outcome, code, reason, `${operation} by ${nameOfCaller(caller)}`)
  }

  // The trail

  /** All entries of the run, past every access rule. */
  entries(): Promise<readonly Entry[]> {
    return this.system.entries(this.run)
  }

  /** Everything from here on is new to `added`. */
  async mark(): Promise<void> {
    await this.system.settle()
    this.#seen = (await this.entries()).length
    this.#stood = (await this.system.standing?.())?.length ?? 0
  }

  /**
   * The entries since the last mark, which moves on: those of the run, and among them by time those that belong to no
   * run where the system keeps them apart. What it says about outages of its trail is left out unless it is asked for.
   */
  async added({ outages = false } = {}): Promise<readonly Entry[]> {
    await this.system.settle()
    const [own, standing] = [await this.entries(), (await this.system.standing?.()) ?? []]
    const added = [...own.slice(this.#seen), ...standing.slice(this.#stood)]
    this.#seen = own.length
    this.#stood = standing.length
    const sorted = added.toSorted((one, other) => (one.timestamp < other.timestamp ? -1 : 1))
    return outages ? sorted : sorted.filter(entry => !isOutage(entry))
  }

  /** Exactly these entries were added since the last mark, in this order; bodies need only contain what is given. */
  async expectAdded(rows: readonly Row[]): Promise<void> {
    const outages = rows.some(([type, , , body]) => type === 'system_degraded' && body?.scope === 'trail_storage')
    fail(listMismatch(await this.added({ outages }), rows, this.names))
  }

  /** These entries were added in this order, whatever stands between them. Returns all that were added. */
  async expectAmong(rows: readonly Row[]): Promise<readonly Entry[]> {
    const added = await this.added({ outages: true })
    fail(amongMismatch(added, rows, this.names))
    return added
  }

  /** No entry of these types was added since the last mark, which moves on. Returns all that were. */
  async expectNone(...types: readonly string[]): Promise<readonly Entry[]> {
    const added = await this.added({ outages: true })
    const wrong = added.filter(entry => types.includes(entry.event_type))
    if (wrong.length > 0)
      fail(`Unexpected on the trail:\n${wrong.map(entry => shownEntry(entry, this.names)).join('\n')}`)
    return added
  }

  // Time, restarts, notices

  settle(): Promise<void> {
    return this.system.settle()
  }

  /** Lets time pass; what falls due on the way happens at its moment. */
  advance(milliseconds: number): Promise<void> {
    return this.system.advance(milliseconds)
  }

  async restart(options: RestartOptions = {}): Promise<Restarted> {
    await this.system.settle()
    return this.system.restart(options)
  }

  /** The notices so far, with names for ids. */
  async notices(kind?: Notice['kind']): Promise<readonly Notice[]> {
    await this.system.settle()
    const all = this.names.named(this.system.notices()) as readonly Notice[]
    return kind === undefined ? all : all.filter(notice => notice.kind === kind)
  }
}

function isOutage({ event_type, body }: Entry): boolean {
  return event_type === 'system_degraded' && body.scope === 'trail_storage'
}

function fail(why: string | undefined): void {
  if (why !== undefined) throw new AssertionError({ message: why })
}

function nameOfCaller(caller: CallerName): string {
  return typeof caller === 'string' ? caller : caller.kind
}

/** The value of what must have succeeded. */
export function must<T>(outcome: Outcome<T>, what = 'It'): T {
  if (outcome.ok) return outcome.value
  throw new AssertionError({ message: `${what} was refused with ${shownRefusal(outcome)}` })
}

/** The refusal of what must have been refused. */
export function refused(outcome: Outcome<unknown>, code: RefusalCode, reason?: string, what = 'It'): Refused {
  const wanted = reason === undefined ? code : `${code}(${reason})`
  if (outcome.ok) throw new AssertionError({ message: `${what} was not refused; expected ${wanted}` })
  if (outcome.refused !== code || (reason !== undefined && outcome.reason !== reason))
    throw new AssertionError({
      message: `${what} was refused with ${shownRefusal(outcome)}; expected ${wanted}`,
    })
  return outcome
}

export function shownRefusal({ refused: code, reason, message }: Refused): string {
  return `${code}${reason === undefined ? '' : `(${reason})`}${message === undefined ? '' : `: ${message}`}`
}
