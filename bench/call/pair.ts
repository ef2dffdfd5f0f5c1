// The two processes of a side, started and asked from the benchmark's own.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { Leftovers } from '../kernel-peers/leftovers.ts'
import { freePorts, temporaryFolder } from '../kernel-peers/server.ts'
import type { Order } from './end.ts'
import type { Calls } from './side.ts'
import type { Entry } from './sides.ts'

/** Longer than any order takes. */
const ANSWER_MILLISECONDS = 120_000

export class End {
  readonly #child: ChildProcess

  constructor(leftovers: Leftovers, args: readonly string[], execArgv: readonly string[] = []) {
    this.#child = fork(join(import.meta.dirname, 'end.ts'), args, {
      execArgv: [...process.execArgv, ...execArgv],
    })
    leftovers.add(() => this.#child.kill('SIGKILL'))
  }

  order<T>(order: Order): Promise<T> {
    this.#child.send(order)
    return this.answer<T>()
  }

  answer<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const exited = (code: number | null) => settle(() => reject(new Error(`a process ended with ${code}`)))
      const answered = (answer: { readonly result?: T; readonly error?: string }) =>
        settle(() => (answer.error === undefined ? resolve(answer.result!) : reject(new Error(answer.error))))
      const late = setTimeout(() => settle(() => reject(new Error('no answer came'))), ANSWER_MILLISECONDS)
      const settle = (end: () => void) => {
        clearTimeout(late)
        this.#child.off('exit', exited).off('message', answered)
        end()
      }
      this.#child.once('exit', exited).once('message', answered)
    })
  }

  /** Ends by itself when nobody listens to it any more. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = new Promise(resolve => this.#child.once('exit', resolve))
    this.#child.disconnect()
    await gone
  }
}

export interface Seen extends Calls {
  /** Microseconds of processor time for each call or value, in both processes together; a broker's is not in it. */
  readonly processor: number
}

export class Pair {
  readonly entry: Entry
  readonly version: string
  readonly #ends: readonly End[]
  readonly #leftovers: Leftovers

  private constructor(entry: Entry, version: string, ends: readonly End[], leftovers: Leftovers) {
    this.entry = entry
    this.version = version
    this.#ends = ends
    this.#leftovers = leftovers
  }

  /** Undefined, loudly, if the side cannot be had; it leaves nothing behind then. */
  static async start(key: string, entry: Entry): Promise<Pair | undefined> {
    const leftovers = new Leftovers()
    try {
      const [port] = await freePorts(1)
      const folder = temporaryFolder(leftovers)
      const version = await entry.prepare?.(leftovers, { folder, port: port! })
      const ends: End[] = []
      for (const role of ['server', 'client']) {
        const end = new End(leftovers, [role, key, folder, String(port)], profiling(role, key))
        ends.push(end)
        await end.answer()
      }
      return new Pair(entry, version ?? '', ends, leftovers)
    } catch (error) {
      leftovers.remove()
      const reason = error instanceof Error ? error.message : String(error)
      console.error(`\n!!! ${entry.name} is missing from this comparison: ${reason}\n`)
      return undefined
    }
  }

  get name(): string {
    return this.version === '' ? this.entry.name : `${this.entry.name} (${this.version})`
  }

  async calls(concurrency: number, milliseconds: number): Promise<Seen> {
    const before = await this.#processorTime()
    const calls = await this.#ends[1]!.order<Calls>({ do: 'calls', concurrency, milliseconds })
    const used = (await this.#processorTime()) - before
    return { ...calls, processor: used / calls.count }
  }

  async stream(count: number): Promise<Seen> {
    const before = await this.#processorTime()
    const perSecond = await this.#ends[1]!.order<number>({ do: 'stream', count })
    const used = (await this.#processorTime()) - before
    return { count, perSecond, p50: Number.NaN, p99: Number.NaN, processor: used / count }
  }

  async #processorTime(): Promise<number> {
    let sum = 0
    for (const end of this.#ends) sum += await end.order<number>({ do: 'cpu' })
    return sum
  }

  async stop(): Promise<void> {
    for (const end of this.#ends.toReversed()) await end.stop()
    this.#leftovers.remove()
  }
}

/** `PARLEY_BENCH_PROFILE=folder` leaves a CPU profile of each process there. */
function profiling(role: string, key: string): string[] {
  const folder = process.env.PARLEY_BENCH_PROFILE
  if (folder === undefined) return []
  return ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${key}-${role}.cpuprofile`]
}
