// Views of runs: of those at work from their drivers, of all others from the trail. A view of a run that is over is
// remembered, so that its trail is read once.
import { err, ok, ParleyError, pause, type Result, type RunId, refuse, unwrap } from '@parley/core'
import { isLibrary } from '@parley/kernel'
import type { TrailObject } from '@parley/trail'
import { coordinatorDefaults, coordinatorLimits } from '../limits.ts'
import { RunProjection } from '../projection/run-projection.ts'
import type { RunDriver } from '../run/run-driver.ts'
import type { RunsHost } from '../run/runs-host.ts'
import { Prompts, type PromptsView } from './prompts.ts'
import { unreadable } from './run-list.ts'
import { hasResult } from './run-result.ts'
import { runView } from './to-view.ts'
import { isOver, type PlanTaskView, type RunView } from './view.ts'

export class RunViews {
  readonly #host: RunsHost
  /** Of runs that are over, the oldest first. */
  readonly #finished = new Map<RunId, RunView>()

  constructor(host: RunsHost) {
    this.#host = host
  }

  async view(run: RunId): Promise<Result<RunView>> {
    const seen = await this.#view(run)
    const { held } = this.#host.machine
    // What was imported goes on elsewhere, if at all.
    return seen.ok && held && !isOver(seen.value.state) && !seen.value.imported
      ? ok({ ...seen.value, machine: held })
      : seen
  }

  async #view(run: RunId): Promise<Result<RunView>> {
    const { drivers, trail, homes } = this.#host
    const at = drivers.get(run)
    const known = at?.knows ? at.view : this.#finished.get(run)
    if (known) return ok(known)
    const read = await this.readable(run)
    if (!read.ok) return read
    const projection = read.value
    if (!projection.root) return refuse('not_found', `There is no run ${run}.`)
    const view = runView(run, projection)
    const origin = trail.imported(run)
    const { kept, ...result } = origin ? {} : await homes.resultOf(run, projection)
    const whole = origin
      ? // Nobody here can answer what it waits for.
        { ...view, gates: [], imported: { from: origin.fingerprint, at: origin.at } }
      : { ...view, ...result, tasks: view.tasks.map(each => withStand(each, kept)) }
    // A disk that fails while the result is looked for must not be what everybody is told from then on.
    const complete = origin || !hasResult(projection) || whole.result || whole.result_unknown
    if (isOver(view.state) && complete) this.#remember(run, whole)
    return ok(whole)
  }

  /** The view as it is, then again after changes, and a last time when the run is over. */
  async *follow(run: RunId, signal?: AbortSignal): AsyncIterable<RunView> {
    const { clock, stopping, machine, drivers, isActive } = this.#host
    for (;;) {
      const driver = drivers.get(run)
      const changed = Promise.withResolvers<void>()
      const off = driver?.onChange(() => changed.resolve())
      const stop = () => changed.resolve()
      const offMachine = machine.onChange(stop)
      signal?.addEventListener('abort', stop)
      try {
        const view = unwrap(await this.view(run))
        // A run that is over is shown when its folders are in order as well.
        if (!driver || !isOver(view.state)) yield view
        if (signal?.aborted || (!driver && (isOver(view.state) || !isActive(run)))) return
        // One that could not be driven at its start is tried again, and has a driver then.
        if (!driver) await Promise.race([changed.promise, pause(clock, coordinatorDefaults.gateInterval, signal)])
        else await changed.promise
        if (stopping.aborted) throw new ParleyError('unavailable', 'The node is stopping.', { retryable: true })
        await pause(clock, coordinatorDefaults.viewInterval, signal)
      } finally {
        off?.()
        offMachine()
        signal?.removeEventListener('abort', stop)
      }
    }
  }

  async prompts(run: RunId): Promise<Result<PromptsView>> {
    const prompts = new Prompts()
    const read = await this.readable(run, object => prompts.see(object))
    if (!read.ok) return read
    return read.value.root ? ok(prompts.view(read.value)) : refuse('not_found', `There is no run ${run}.`)
  }

  /** Something of a run that is over has changed after all. */
  forget(run: RunId): void {
    this.#finished.delete(run)
  }

  /** The last view of a run that has just ended. */
  keep(run: RunId, driver: RunDriver): void {
    const { result, ...view } = driver.view
    this.#remember(run, result && hasResult(driver.projection) ? { ...view, result } : view)
  }

  #remember(run: RunId, view: RunView): void {
    this.#finished.set(run, view)
    const [oldest] = this.#finished.keys()
    if (this.#finished.size > coordinatorLimits.cachedRuns && oldest !== undefined) this.#finished.delete(oldest)
  }

  /** What the trail says. A damaged run is a refusal for whoever asks for it, and nothing to the others. */
  async readable(run: RunId, see?: (object: TrailObject) => void): Promise<Result<RunProjection>> {
    try {
      return ok(await this.project(run, see))
    } catch (cause) {
      return err(unreadable(run, cause))
    }
  }

  /** Throws where the run is damaged. */
  async project(run: RunId, see?: (object: TrailObject) => void): Promise<RunProjection> {
    const trail = this.#host.trail.readable(run)
    const projection = new RunProjection()
    const objects = new Map<string, unknown>()
    let inLibrary = false
    for await (const record of trail.replay({ sound: true })) {
      if ('event_type' in record)
        await projection.apply(
          record,
          async id => objects.get(id) ?? (inLibrary ? undefined : (await trail.object(id))?.value),
        )
      else {
        inLibrary ||= record.kind === 'context' && isLibrary(record.value)
        // Its records are no work of anybody's, and together larger than memory.
        if (!inLibrary || record.kind === 'context') objects.set(record.id, record.value)
        see?.(record)
      }
    }
    return projection
  }
}

/** What became of work that was kept when the run ended. */
function withStand(
  task: PlanTaskView,
  stands: ReadonlyMap<string, 'kept' | 'merged' | 'gone'> | undefined,
): PlanTaskView {
  const { salvage } = task
  const stand = salvage?.state === 'kept' ? stands?.get(salvage.workspace) : undefined
  if (!salvage || stand === undefined || stand === 'kept') return task
  const gone = { state: 'discarded', reason: 'it was let go or cleaned up' } as const
  return { ...task, salvage: { ...salvage, ...(stand === 'merged' ? { state: 'merged' } : gone) } }
}
