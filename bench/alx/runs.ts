// Runs through the coordinator on a real trail on disk: such that end as they begin, and such with one task of one
// function. For the programs of this folder.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { functionAdapter } from '@parley/agents'
import { Coordinator, coordinatorRunPort, type RunSetup, soloTeam } from '@parley/coordinator'
import { ok, type Principal, type RunEnd, type RunId, type RunPort, unwrap } from '@parley/core'
import { openTrail, type Trail } from '@parley/trail'
import { loops } from '../trail/measure.ts'

const user: Principal = { id: 'bench', kind: 'user', scopes: ['owner'] }

export class Runs {
  readonly #folder: string
  readonly #trail: Trail
  readonly #coordinator: Coordinator
  /** Runs that are started at once. */
  readonly #concurrency: number
  #keys = 0

  private constructor(folder: string, trail: Trail, coordinator: Coordinator, concurrency: number) {
    this.#folder = folder
    this.#concurrency = concurrency
    this.#trail = trail
    this.#coordinator = coordinator
  }

  static async open(concurrency: number): Promise<Runs> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
    const trail = await openTrail(folder)
    const coordinator = await Coordinator.open({
      trail,
      profile: folder,
      secret: Buffer.alloc(32, 1),
      runs: concurrency * 2,
      turns: concurrency,
      adapter: ({ name }) => functionAdapter(name, () => 'done'),
      worksWithoutFolder: () => true,
    })
    return new Runs(folder, trail, coordinator, concurrency)
  }

  async close(): Promise<void> {
    await this.#coordinator.close()
    await this.#trail.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #port(setup: RunSetup): RunPort {
    return coordinatorRunPort({
      coordinator: this.#coordinator,
      trail: this.#trail,
      setup: async () => ok(setup),
      costUnknown: () => false,
    })
  }

  async #start(port: RunPort) {
    const key = { text: `${this.#keys++}`, reuse: 'always' } as const
    return unwrap(await port.start({ principal: user, intent: 'Do nothing.', origin: 'bench', key })).run
  }

  /** Starts one that is ended and durable when this resolves. */
  starterOfEnded(): () => Promise<RunId> {
    const port = this.#port({ ends: { outcome: 'complete', text: 'done' } })
    return () => this.#start(port)
  }

  /** Starts one with one task, and watches it to its end. */
  starterOfTasks(): () => Promise<RunId> {
    const team = { ...soloTeam('worker', { function: 'nothing', slots: this.#concurrency }), approval: 'none' as const }
    const port = this.#port({ team, approved: true })
    return async () => {
      const run = await this.#start(port)
      await this.watch(run)
      return run
    }
  }

  /** From its beginning to its end, which may have been. */
  async watch(run: RunId): Promise<void> {
    const port = this.#port({ ends: { outcome: 'complete', text: 'done' } })
    let end: RunEnd | undefined
    for await (const page of port.watch(run, { principal: user })) end = page.end
    if (end?.outcome !== 'complete') throw new Error(`a run came to ${JSON.stringify(end)}`)
  }

  ended(milliseconds: number): Promise<number> {
    return this.#rate(this.starterOfEnded(), milliseconds)
  }

  tasks(milliseconds: number): Promise<number> {
    return this.#rate(this.starterOfTasks(), milliseconds)
  }

  async #rate(one: () => Promise<unknown>, milliseconds: number): Promise<number> {
    await one()
    await loops(this.#concurrency, milliseconds / 4, one)
    return loops(this.#concurrency, milliseconds, one)
  }
}
