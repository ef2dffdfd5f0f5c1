// A peer of the kernel benchmark: another durable runtime that runs the same workflow of ten steps, on the same machine
// and in the same run. What is measured is defined here, once for every side.
import { loops } from '../trail/measure.ts'
import { Leftovers } from './leftovers.ts'

export interface PeerResult {
  /** Steps of all workflows that were started; the measurement ends when the last of them has. */
  readonly steps: number
  /** Wall time, from the start of the first workflow to the end of the last. */
  readonly seconds: number
  readonly stepsPerSecond: number
  /** Milliseconds from calling a step until it has returned, as seen inside the workflow. */
  readonly p50: number
  readonly p99: number
}

export interface Peer {
  readonly name: string
  readonly version: string
  /** Keeps so many workflows under way for about so long. One call at a time; rejects when a workflow fails. */
  measure(concurrency: number, seconds: number): Promise<PeerResult>
  /** Ends every process of the peer and removes its files. */
  stop(): Promise<void>
}

export interface Unavailable {
  readonly name: string
  readonly unavailable: string
}

/** Never rejects: a peer that cannot be had says so, and leaves nothing behind. */
export type PeerStart = () => Promise<Peer | Unavailable>

export const STEPS = 10

/** What a step returns: just under 200 bytes of JSON, about the size of a checkpoint's record. */
export function stepResult(step: number) {
  return {
    step,
    status: 'completed',
    summary: 'The change is small and all tests pass; the reviewer asked for nothing.',
    artifact: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  }
}

/**
 * `run` takes one workflow of so many steps to its end and pushes the milliseconds of each step onto `times`. Each of
 * `concurrency` loops starts a workflow when its previous one has ended, until the time is over, so that the
 * measurement lasts up to a workflow longer than asked for. Starting and finishing a workflow is part of the rate, and
 * of no step's latency.
 */
export async function measureWorkflows(
  concurrency: number,
  seconds: number,
  times: number[],
  run: (steps: number) => Promise<unknown>,
): Promise<PeerResult> {
  // Short workflows are enough to compile the code and to open every connection.
  await loops(concurrency, Math.min(1000, seconds * 1000), () => run(1))
  times.length = 0
  let workflows = 0
  const perSecond = await loops(concurrency, seconds * 1000, async () => {
    await run(STEPS)
    workflows++
  })
  const sorted = Float64Array.from(times).sort()
  const percentile = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return {
    steps: workflows * STEPS,
    seconds: workflows / perSecond,
    stepsPerSecond: perSecond * STEPS,
    p50: percentile(0.5),
    p99: percentile(0.99),
  }
}

interface Started extends Pick<Peer, 'version' | 'measure'> {
  /** What has to happen before the leftovers are removed. */
  stop?(): Promise<void>
}

/** What `start` adds to the leftovers is removed when it fails, when the peer is stopped, and when the process ends. */
export async function startPeer(
  name: string,
  start: (leftovers: Leftovers) => Promise<Started>,
): Promise<Peer | Unavailable> {
  const leftovers = new Leftovers()
  try {
    const peer = await start(leftovers)
    return {
      name,
      version: peer.version,
      measure: peer.measure,
      async stop() {
        try {
          await peer.stop?.()
        } finally {
          leftovers.remove()
        }
      },
    }
  } catch (error) {
    leftovers.remove()
    const unavailable = error instanceof Error ? error.message : String(error)
    console.error(`\n!!! ${name} is missing from this comparison: ${unavailable}\n`)
    return { name, unavailable }
  }
}
