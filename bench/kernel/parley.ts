// Parley's side of the kernel benchmark: runs on a real trail on disk, and what is done in them. What a peer calls a
// workflow is a task here, and a step is a checkpoint in it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CheckpointId, unwrap } from '@parley/core'
import { type RunHandle, Runtime, type Worker } from '@parley/kernel'
import { openTrail, type Trail } from '@parley/trail'
import { measureWorkflows, type PeerResult, stepResult } from '../kernel-peers/peer.ts'
import { loops } from '../trail/measure.ts'

/** A run whose one worker has an open task. */
interface OpenTask {
  readonly run: RunHandle
  readonly worker: Worker
  parent: CheckpointId | null
}

/** Nobody is asked for anything here: gates wait for people. */
const OWNER = 'owner'

export class Parley {
  readonly #folder: string
  readonly #trail: Trail
  readonly #runtime: Runtime

  private constructor(folder: string, trail: Trail, runtime: Runtime) {
    this.#folder = folder
    this.#trail = trail
    this.#runtime = runtime
  }

  /** With signatures is the default of a profile; without them the trail is chained all the same. */
  static async open(signed: boolean): Promise<Parley> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
    const trail = await openTrail(folder, signed ? {} : { signer: null })
    // With everything that costs something: users, proofs of envelopes and checkpoints, clocks.
    const runtime = await Runtime.open({ trail, users: 'house', secret: Buffer.alloc(32, 1) })
    unwrap(await runtime.users.accept({ user: OWNER, method: 'bench' }))
    return new Parley(folder, trail, runtime)
  }

  async close(): Promise<void> {
    await this.#runtime.close()
    await this.#trail.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async run(): Promise<RunHandle> {
    const run = unwrap(await this.#runtime.start({ owner: OWNER, highway: { gates: { task_approval: false } } }))
    unwrap(await run.coordinator.started())
    return run
  }

  async #openTasks(count: number): Promise<OpenTask[]> {
    return Promise.all(
      Array.from({ length: count }, async () => {
        const run = await this.run()
        return { run, worker: await openTask(run), parent: null }
      }),
    )
  }

  /** Steps in tasks that are open all the time. */
  async steps(concurrency: number, seconds: number): Promise<PeerResult> {
    const free = await this.#openTasks(concurrency)
    const times: number[] = []
    return measureWorkflows(concurrency, seconds, times, async steps => {
      const task = free.pop()!
      for (let step = 0; step < steps; step++) await checkpoint(task, step, times)
      free.push(task)
    })
  }

  /** The same steps with everything around them: the task is created, assigned, worked on, completed and integrated. */
  async workflows(concurrency: number, seconds: number): Promise<PeerResult> {
    const free = await Promise.all(Array.from({ length: concurrency }, () => this.run()))
    const times: number[] = []
    return measureWorkflows(concurrency, seconds, times, async steps => {
      const run = free.pop()!
      const task: OpenTask = { run, worker: await openTask(run), parent: null }
      for (let step = 0; step < steps; step++) await checkpoint(task, step, times)
      await finish(task)
      free.push(run)
    })
  }

  /** Whole tasks with one checkpoint each; returns tasks per second. */
  async tasks(concurrency: number, milliseconds: number): Promise<number> {
    const runs = await Promise.all(Array.from({ length: concurrency }, () => this.run()))
    const whole = async (index: number) => {
      const run = runs[index]!
      const task: OpenTask = { run, worker: await openTask(run), parent: null }
      await checkpoint(task, 0, [])
      await finish(task)
    }
    await loops(concurrency, milliseconds / 4, whole)
    return loops(concurrency, milliseconds, whole)
  }

  /** From sending until the receipt is on disk; the envelope itself was on disk before it was delivered. */
  async envelopes(concurrency: number, milliseconds: number) {
    const tasks = await this.#openTasks(concurrency)
    const times: number[] = []
    const send = async (index: number) => {
      const { run, worker } = tasks[index]!
      const start = performance.now()
      const receipt = nextReceipt(run)
      const payload = { format: 'json', content: JSON.stringify(stepResult(0)) }
      const { envelope } = unwrap(await run.coordinator.feedback(worker.workspace, payload))
      await receipt.of(envelope)
      times.push(performance.now() - start)
      // Mail is read, or the inbox would fill up; nobody waits for that.
      void worker.consume()
    }
    await loops(concurrency, milliseconds / 4, send)
    times.length = 0
    const perSecond = await loops(concurrency, milliseconds, send)
    const sorted = Float64Array.from(times).sort()
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
    return { perSecond, p50: at(0.5), p99: at(0.99) }
  }

  /** Bytes of heap that one more open run takes, and one more idle workspace in a run. */
  async memory(count: number): Promise<{ readonly run: number; readonly workspace: number }> {
    await this.#spread(count / 20, 2)
    const before = heap()
    await this.#spread(count, 0)
    const runs = heap()
    const kept = await this.#spread(count / 50, 50)
    const after = heap()
    const perRun = (runs - before) / count
    return { run: perRun, workspace: (after - runs - perRun * kept.length) / (kept.length * 50) }
  }

  async #spread(runs: number, workspaces: number): Promise<RunHandle[]> {
    return Promise.all(
      Array.from({ length: runs }, async () => {
        const run = await this.run()
        for (let index = 0; index < workspaces; index++)
          unwrap(await run.coordinator.createWorkspace({ role: 'worker' }))
        return run
      }),
    )
  }
}

async function openTask(run: RunHandle): Promise<Worker> {
  const { coordinator } = run
  const graph = unwrap(await coordinator.submitGraph([{ name: 'step', description: 'Ten steps.' }]))
  const worker = unwrap(await coordinator.createWorkspace({ role: 'worker', task: graph.tasks[0]! }))
  unwrap(await worker.receive())
  unwrap(await worker.started())
  return worker
}

async function checkpoint(task: OpenTask, step: number, times: number[]): Promise<void> {
  const start = performance.now()
  const created = await task.worker.checkpoint({
    type: 'artifact',
    payload: { content: JSON.stringify(stepResult(step)) },
    intent: 'A step is done.',
    parent: task.parent,
    status: 'final',
    confidence: 'high',
  })
  task.parent = unwrap(created).checkpoint
  times.push(performance.now() - start)
}

async function finish({ run, worker }: OpenTask): Promise<void> {
  unwrap(await worker.complete())
  unwrap(await run.coordinator.accept(worker.workspace))
}

/** The receipt for an envelope of the coordinator, which may come before the sender knows the envelope's id. */
function nextReceipt(run: RunHandle) {
  const seen = new Set<string>()
  let wanted: string | undefined
  let found: () => void
  const arrived = new Promise<void>(resolve => {
    found = resolve
  })
  const off = run.coordinator.subscribe(notice => {
    if (notice.kind !== 'signal' || notice.type !== 'acknowledged' || notice.ref === undefined) return
    seen.add(notice.ref)
    if (notice.ref === wanted) found()
  })
  return {
    async of(envelope: string) {
      wanted = envelope
      if (!seen.has(envelope)) await arrived
      off()
    },
  }
}

function heap(): number {
  if (!globalThis.gc) return Number.NaN
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed
}
