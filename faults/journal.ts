// Everything that any client was told, as it was told: what must be there, just so and once, whatever has failed since.
// A contradiction is noticed at once; the rest is for `check.ts`.
import { faultLimits } from './limits.ts'

export interface ToldEntry {
  readonly id: string
  readonly hash: string
}

export interface ToldRun {
  readonly run: string
  readonly intent: string
  readonly tasks: readonly string[]
  readonly gated: boolean
  /** By their place. */
  readonly entries: Map<number, ToldEntry>
  /** A watch has delivered everything up to here. */
  cursor: number
  readonly tasksDone: Set<string>
  state: string
  over: boolean
  /** Faults by which its work may fail for good; the record may not. */
  readonly excuses: string[]
  /** Checked after its end: nothing more of it is watched. */
  retired: boolean
}

export interface DeliveredEntry {
  readonly seq: number
  readonly id: string
  readonly integrity: { readonly entry_hash: string }
}

export class Journal {
  readonly runs = new Map<string, ToldRun>()
  /** Heads that were told, of any run. */
  readonly heads = new Map<string, { readonly seq: number; readonly hash: string }>()
  /** Answers to gates that were acknowledged, with their runs. */
  readonly gates = new Map<string, string>()
  /** Letters that were acknowledged, with their runs. */
  readonly envelopes = new Map<string, string>()
  readonly keys: string[] = []
  readonly imported = new Set<string>()
  /** Snapshots by id, with their runs. */
  readonly snapshots = new Map<string, string>()
  /** Of runs that somebody wanted to start: whether that was acknowledged. */
  readonly intents = new Map<string, boolean>()
  /** A fault by which work may fail, while it lasts. */
  #spoiling: string | undefined
  /** Such faults, by the intents of runs that were being started then. */
  readonly #doubts = new Map<string, string>()
  readonly findings: string[] = []
  readonly faults: string[] = []
  readonly #lines: string[] = []
  readonly #began = performance.now()

  note(line: string): void {
    const at = ((performance.now() - this.#began) / 1000).toFixed(3)
    this.#lines.push(`${at} ${line}`)
    if (this.#lines.length > faultLimits.keptLines) this.#lines.shift()
  }

  found(what: string): void {
    this.findings.push(what)
    this.note(`FOUND: ${what}`)
  }

  fault(what: string): void {
    this.faults.push(what)
    this.note(`fault ${this.faults.length}: ${what}`)
  }

  lines(count: number = faultLimits.shownLines): readonly string[] {
    return this.#lines.slice(-count)
  }

  /**
   * Work may fail for good by this, as long as it lasts: what is at work, what is being started, and what begins
   * meanwhile.
   */
  spoils(what: string): void {
    this.#spoiling = what
    for (const told of this.atWork) told.excuses.push(what)
    for (const [intent, acknowledged] of this.intents) if (!acknowledged) this.#doubts.set(intent, what)
  }

  /** It is over, and whoever asked for a run meanwhile has an answer. */
  spoilsNoMore(): void {
    for (const [intent, acknowledged] of this.intents)
      if (!acknowledged && this.#spoiling !== undefined) this.#doubts.set(intent, this.#spoiling)
    this.#spoiling = undefined
  }

  began(run: string, about: Pick<ToldRun, 'intent' | 'tasks' | 'gated'>): ToldRun {
    const told: ToldRun = {
      run,
      ...about,
      entries: new Map(),
      cursor: 0,
      tasksDone: new Set(),
      state: 'working',
      over: false,
      excuses: [this.#spoiling ?? this.#doubts.get(about.intent) ?? []].flat(),
      retired: false,
    }
    if (this.runs.has(run)) this.found(`${run} was told as the answer to two requests`)
    this.runs.set(run, told)
    return told
  }

  get atWork(): readonly ToldRun[] {
    return [...this.runs.values()].filter(({ over }) => !over)
  }

  /** What a watch delivers: everything behind the cursor, in order and without a gap. */
  delivered(told: ToldRun, entries: readonly DeliveredEntry[]): void {
    for (const entry of entries) {
      if (entry.seq !== told.cursor + 1)
        this.found(`a watch of ${told.run} delivered entry ${entry.seq} behind entry ${told.cursor}`)
      told.cursor = Math.max(told.cursor, entry.seq)
      this.seen(told, entry)
    }
  }

  /** The same place always holds the same entry, and every entry has one place. */
  seen(told: ToldRun, { seq, id, integrity: { entry_hash: hash } }: DeliveredEntry): void {
    const before = told.entries.get(seq)
    if (before && (before.id !== id || before.hash !== hash))
      this.found(`entry ${seq} of ${told.run} was ${before.id} (${before.hash}) and is now ${id} (${hash})`)
    else told.entries.set(seq, { id, hash })
  }

  head(run: string, seq: number, hash: string): void {
    const before = this.heads.get(run)
    if (before && before.seq > seq) this.found(`the head of ${run} was ${before.seq} and is now ${seq}`)
    else if (before && before.seq === seq && before.hash !== hash)
      this.found(`the head of ${run} at ${seq} was ${before.hash} and is now ${hash}`)
    else this.heads.set(run, { seq, hash })
    const told = this.runs.get(run)?.entries.get(seq)
    if (told && told.hash !== hash)
      this.found(`entry ${seq} of ${run} was told with the hash ${told.hash}, its head has ${hash}`)
  }

  /** What a view of a run says: a task that is done stays done, a run that is over stays as it is. */
  viewed(
    told: ToldRun,
    view: {
      readonly state: string
      readonly tasks: readonly { readonly id: string; readonly state: string }[]
    },
  ): void {
    for (const { id, state } of view.tasks) {
      if (state === 'done') told.tasksDone.add(id)
      else if (told.tasksDone.has(id)) this.found(`task ${id} of ${told.run} was done and is now ${state}`)
    }
    if (told.over && view.state !== told.state)
      this.found(`${told.run} was over as ${told.state} and is now ${view.state}`)
    told.state = view.state
  }
}
