// The house run: one in each profile, whose root never closes while it is the house and whose coordinator is the node. What belongs to
// no live run is recorded here. At a size limit a successor takes over; its context names the old head.
import { invariant, type ObjectId, ok, type Result, type RunId } from '@parley/core'
import type { ProposedEntry, RunTrail } from '@parley/trail'
import type { Command } from '../command.ts'
import type { Run } from '../run/run.ts'
import type { RunDraft } from '../run/start.ts'
import type { RunHandle } from '../runtime/run-handle.ts'

export const HOUSE_KEY = 'house'

/** What marks a run as the house, in its root's context. */
interface HouseContext {
  readonly house: true
  /** The end of the house before this one. */
  readonly previous: { readonly run: RunId; readonly seq: number; readonly hash: string | null } | null
}

/** What the house needs of the runtime. */
interface HouseHost {
  start(draft: RunDraft): Promise<Result<RunHandle>>
  submit<T>(run: RunId, command: Command): Promise<Result<T>>
  read<T>(run: RunId, reader: (state: Run) => T): Promise<T>
  trail(run: RunId): RunTrail
}

export class House {
  readonly #host: HouseHost
  readonly #limit: number
  #run: RunId
  #rotating: Promise<Result<void>> | undefined

  private constructor(host: HouseHost, run: RunId, limit: number) {
    this.#host = host
    this.#run = run
    this.#limit = limit
  }

  /** Finds the house among the unfinished runs, or founds it. */
  static async open(host: HouseHost, unfinished: readonly RunId[], limit: number): Promise<House> {
    const found: { readonly run: RunId; readonly previous: RunId | undefined }[] = []
    for (const run of unfinished) {
      const context = await houseContext(host, run)
      if (context) found.push({ run, previous: context.previous?.run })
    }
    // A crash between founding the successor and closing the old one leaves two.
    const [current] = found.filter(({ run }) => !found.some(other => other.previous === run))
    if (!current) return new House(host, await establish(host, null), limit)
    for (const { run } of found) if (run !== current.run) await host.submit(run, { type: 'close' })
    await settle(host, current.run)
    return new House(host, current.run, limit)
  }

  get run(): RunId {
    return this.#run
  }

  /** Records entries that belong to no live run; they are system-level here. */
  async record(entries: readonly ProposedEntry[]): Promise<Result<void>> {
    const rotated = await this.#rotate()
    if (!rotated.ok) return rotated
    return this.#host.submit(this.#run, { type: 'record', entries: entries.map(atHouse) })
  }

  async #rotate(): Promise<Result<void>> {
    this.#rotating ??= this.#rotateNow().finally(() => {
      this.#rotating = undefined
    })
    return this.#rotating
  }

  async #rotateNow(): Promise<Result<void>> {
    const { seq } = await this.#host.trail(this.#run).head()
    if (seq < this.#limit) return ok(undefined)
    const old = this.#run
    const head = await this.#host.trail(old).head()
    this.#run = await establish(this.#host, { run: old, ...head })
    return this.#host.submit(old, { type: 'close' })
  }
}

async function establish(host: HouseHost, previous: HouseContext['previous']): Promise<RunId> {
  const context: HouseContext = { house: true, previous }
  const started = await host.start({ context: { ...context }, highway: 'off' })
  if (!started.ok) throw started.error
  await settle(host, started.value.id)
  return started.value.id
}

/** The node is the coordinator, and it has started. */
async function settle(host: HouseHost, run: RunId): Promise<void> {
  const root = await host.read(run, state => state.root && { id: state.root.id, status: state.root.status })
  invariant(root, 'a run that was started has a root')
  if (root.status !== 'idle') return
  const started = await host.submit(run, { type: 'emit', caller: root.id, draft: { type: 'started' } })
  if (!started.ok) throw started.error
}

async function houseContext(host: HouseHost, run: RunId): Promise<HouseContext | undefined> {
  const context = await host.read(run, state => (state.root?.owner === 'system' ? state.root.context : null))
  if (context === null) return undefined
  const object = await host.trail(run).object(context as ObjectId)
  const value = object?.value as Partial<HouseContext> | undefined
  return value?.house === true ? (value as HouseContext) : undefined
}

/** Workspaces and roles of other runs do not exist in the house: the node records, and the body says whose affair it was. */
function atHouse(entry: ProposedEntry): ProposedEntry {
  const filed = { ...entry, workspace: null, actor: 'system' }
  if (filed.event_type !== 'capability_denied') return filed
  const owner = entry.workspace === null ? {} : { workspace: entry.workspace }
  return { ...filed, body: { ...filed.body, ...owner, role: entry.actor } }
}
