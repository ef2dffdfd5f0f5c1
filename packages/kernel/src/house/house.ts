// The house run of a profile: the node coordinates it, users live in it, and what belongs to no live run is recorded in
// it. At a size limit a successor takes over, with the old head and the users in its context.
import { invariant, type ObjectId, ok, type Result, type RunId, unwrap } from '@parley/core'
import type { ProposedEntry, ReadableRun } from '@parley/trail'
import type { Command } from '../command.ts'
import type { Run } from '../run/run.ts'
import type { RunDraft } from '../run/start.ts'
import type { RunHandle } from '../runtime/handle/run-handle.ts'
import { type CarriedUser, carriedUsers } from '../user/evolve.ts'

export const HOUSE_KEY = 'house'

interface HouseContext {
  readonly house: true
  readonly previous: { readonly run: RunId; readonly seq: number; readonly hash: string | null } | null
  readonly users?: readonly CarriedUser[]
}

interface HouseHost {
  readonly owner: string
  newId(): RunId
  start(draft: RunDraft, id: RunId): Promise<Result<RunHandle>>
  open(run: RunId): Promise<Result<RunHandle>>
  submit<T>(run: RunId, command: Command): Promise<Result<T>>
  read<T>(run: RunId, reader: (state: Run) => T): Promise<T>
  trail(run: RunId): ReadableRun
}

export class House {
  readonly #host: HouseHost
  readonly #limit: number
  #run: RunId
  #seq: number
  #rotating: Promise<Result<void>> | undefined
  /** A successor is founded only when all of this has arrived. */
  readonly #arriving = new Set<Promise<unknown>>()

  private constructor(host: HouseHost, run: RunId, limit: number, seq = 0) {
    this.#host = host
    this.#run = run
    this.#limit = limit
    this.#seq = seq
  }

  static async open(host: HouseHost, unfinished: readonly RunId[], limit: number): Promise<House> {
    const found: { readonly run: RunId; readonly previous: RunId | undefined }[] = []
    for (const run of unfinished) {
      const context = await houseContext(host, run)
      if (context) found.push({ run, previous: context.previous?.run })
    }
    // A crash between founding the successor and closing the old one leaves two.
    const [current] = found.filter(({ run }) => !found.some(other => other.previous === run))
    if (!current) {
      const run = unwrap(await establish(host, { house: true, previous: null }))
      unwrap(await settle(host, run))
      return new House(host, run, limit)
    }
    for (const { run } of found) if (run !== current.run) await retire(host, run)
    unwrap(await settle(host, current.run))
    const { seq } = await host.trail(current.run).head()
    return new House(host, current.run, limit, seq)
  }

  get run(): RunId {
    return this.#run
  }

  async trails(): Promise<readonly ReadableRun[]> {
    const trails: ReadableRun[] = []
    for (let run: RunId | undefined = this.#run; run !== undefined; ) {
      trails.push(this.#host.trail(run))
      run = (await houseContext(this.#host, run))?.previous?.run
    }
    return trails
  }

  record(entries: readonly ProposedEntry[]): Promise<Result<void>> {
    return this.submit({ type: 'record', entries: entries.map(atHouse) })
  }

  async submit<T>(command: Command): Promise<Result<T>> {
    if (this.#seq >= this.#limit)
      this.#rotating ??= this.#rotate().finally(() => {
        this.#rotating = undefined
      })
    while (this.#rotating) {
      const rotated = await this.#rotating
      if (!rotated.ok) return rotated
    }
    const run = this.#run
    const answer = this.#host.submit<T>(run, command)
    this.#arriving.add(answer)
    const result = await answer
    this.#arriving.delete(answer)
    const { seq } = await this.#host.trail(run).head()
    if (run === this.#run) this.#seq = seq
    return result
  }

  read<T>(reader: (state: Run) => T): Promise<T> {
    return this.#host.read(this.#run, reader)
  }

  async #rotate(): Promise<Result<void>> {
    // Nothing may change behind the head and the users that the successor begins with.
    await Promise.allSettled(this.#arriving)
    const old = this.#run
    const head = await this.#host.trail(old).head()
    const users = await this.#host.read(old, carriedUsers)
    const previous = { run: old, ...head }
    const successor = await establish(this.#host, { house: true, previous, ...(users.length > 0 && { users }) })
    if (!successor.ok) return successor
    // From here on it is the house, whatever else fails: after a restart it would be the one that is found.
    this.#run = successor.value
    this.#seq = 0
    const settled = await settle(this.#host, successor.value)
    return settled.ok ? retire(this.#host, old) : settled
  }
}

async function establish(host: HouseHost, context: HouseContext): Promise<Result<RunId>> {
  const id = host.newId()
  const started = await host.start({ owner: host.owner, context: { ...context }, highway: 'off' }, id)
  if (started.ok) return ok(id)
  // The first words of its coordinator may have failed, and the run be there all the same.
  const opened = await host.open(id)
  return opened.ok ? ok(id) : started
}

async function retire(host: HouseHost, run: RunId): Promise<Result<void>> {
  const settled = await settle(host, run)
  return settled.ok ? host.submit(run, { type: 'close' }) : settled
}

async function settle(host: HouseHost, run: RunId): Promise<Result<void>> {
  const root = await host.read(run, state => state.root && { id: state.root.id, status: state.root.status })
  invariant(root, 'a run that was started has a root')
  if (root.status !== 'idle') return ok(undefined)
  const started = await host.submit(run, { type: 'emit', caller: root.id, draft: { type: 'started' } })
  return started.ok ? ok(undefined) : started
}

async function houseContext(host: HouseHost, run: RunId): Promise<HouseContext | undefined> {
  const context = await host.read(run, state => (state.house ? state.root?.context : undefined))
  if (context == null) return undefined
  const object = await host.trail(run).object(context as ObjectId)
  const value = object?.value as Partial<HouseContext> | undefined
  return value?.house === true ? (value as HouseContext) : undefined
}

/** Workspaces and roles of other runs do not exist here: the node is the actor, and the body names them. */
function atHouse(entry: ProposedEntry): ProposedEntry {
  const filed = { ...entry, workspace: null, actor: entry.actor === 'protocol' ? 'protocol' : 'system' }
  if (filed.event_type !== 'capability_denied') return filed
  // A person is the same everywhere.
  if (filed.body.user_id !== null) return { ...filed, actor: filed.body.user_id }
  const owner = entry.workspace === null ? {} : { workspace: entry.workspace }
  return { ...filed, body: { ...filed.body, ...owner, role: entry.actor } }
}
