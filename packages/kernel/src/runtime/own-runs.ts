// The runs that the node itself coordinates: the house and the library. Hosts drive none of them.
import type { ParleyError, Result, RunId } from '@parley/core'
import { House } from '../house/house.ts'
import type { StandingHost } from '../house/standing-run.ts'
import { LibraryRun, markOf } from '../library/library.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import type { Run } from '../run/run.ts'
import type { RunDraft } from '../run/start.ts'
import type { RunHandle } from './handle/run-handle.ts'
import type { RuntimeOptions } from './runtime-options.ts'

type OwnHost = Pick<StandingHost, 'newId' | 'open' | 'submit' | 'read' | 'trail'> & {
  readonly options: Pick<RuntimeOptions, 'trail' | 'operator' | 'houseEntries' | 'libraryEntries'>
  startOwn(draft: RunDraft, id: RunId): Promise<Result<RunHandle>>
  isAtWork(run: RunId): boolean
  readonly halted: ReadonlyMap<RunId, ParleyError>
  readonly away: ReadonlyMap<RunId, ParleyError>
}

export class OwnRuns {
  readonly #host: OwnHost
  readonly #ids = new Set<RunId>()
  #house: House | undefined
  #library: LibraryRun | undefined

  constructor(host: OwnHost) {
    this.#host = host
  }

  get house(): House {
    if (!this.#house) throw new Error('The house run is opened with the runtime.')
    return this.#house
  }

  get library(): LibraryRun {
    if (!this.#library) throw new Error('The library is opened with the runtime.')
    return this.#library
  }

  has(run: RunId): boolean {
    return this.#ids.has(run)
  }

  add(run: RunId): void {
    this.#ids.add(run)
  }

  /** Those among runs at work whose state says so. */
  async mark(runs: readonly RunId[], holds: (state: Run) => boolean): Promise<readonly RunId[]> {
    const found: RunId[] = []
    for (const run of runs) if (await this.#host.read(run, holds)) found.push(run)
    for (const run of found) this.add(run)
    return found
  }

  async openHouse(unfinished: readonly RunId[]): Promise<void> {
    const { houseEntries = kernelLimits.houseEntries } = this.#host.options
    this.#house = await House.open(this.#standing(), unfinished, houseEntries)
  }

  async openLibrary(found: readonly RunId[]): Promise<void> {
    const { trail: store, libraryEntries = kernelLimits.libraryEntries } = this.#host.options
    const { halted, away } = this.#host
    for (const run of away.keys()) if ((await markOf(this.#host.trail(run))) === 'library') this.add(run)
    // What recovery has halted is not among them any more.
    const unfinished = found.filter(run => this.#host.isAtWork(run))
    const host = { ...this.#standing(), store, halted, away, own: (run: RunId) => this.add(run) }
    this.#library = new LibraryRun(host, unfinished, libraryEntries)
    // What a crash in the middle of a succession has left. If that fails now, whoever uses the library is told.
    if (unfinished.length > 0) await this.#library.run()
  }

  #standing(): StandingHost {
    const host = this.#host
    return {
      owner: host.options.operator ?? kernelDefaults.operator,
      newId: () => host.newId(),
      start: (draft, id) => host.startOwn(draft, id),
      open: run => host.open(run),
      submit: (run, command) => host.submit(run, command),
      read: (run, reader) => host.read(run, reader),
      trail: run => host.trail(run),
    }
  }
}
