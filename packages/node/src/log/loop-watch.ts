// Notices when the event loop is blocked: then nobody gets an answer, no turn can be ended, and nothing is logged. A
// thread counts on a beat of the main thread; it tells the length of a block afterwards, and says so by itself while a
// block goes on.
import { Worker } from 'node:worker_threads'
import { nodeLimits, nodeTimes } from '../limits.ts'
import type { LogLevel, NodeLog } from './log.ts'

/** What the thread is given. */
export interface WatchData {
  /** One number, which every beat changes. */
  readonly beats: Int32Array
  /** Where a line goes that the main thread cannot write. */
  readonly file: string | undefined
}

/** What the thread tells when a block is over. */
export interface Block {
  readonly milliseconds: number
  /** What was at work, the innermost first; known of long ones only, and not where the system itself did not return. */
  readonly stack: readonly string[]
}

/** Blocks are warnings: a log that leaves warnings out needs no watch. The answer stops it. */
export function watchLoop(log: NodeLog, level: LogLevel, file: string | undefined): () => void {
  if (level === 'error' || level === 'silent') return () => undefined
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const worker = new Worker(threadFile, {
    name: 'loop watch',
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: nodeLimits.watchMemoryMiB, maxYoungGenerationSizeMb: 1 },
    workerData: { beats, file } satisfies WatchData,
  })
  const timer = setInterval(() => {
    Atomics.add(beats, 0, 1)
    Atomics.notify(beats, 0)
  }, nodeTimes.beat)
  // A start has much to do at once; only a long block is worth a line then.
  let told = performance.now()
  let untold = 0
  worker.on('message', ({ milliseconds, stack }: Block) => {
    if (performance.now() - told < nodeTimes.blockAgain && stack.length === 0) {
      untold++
      return
    }
    log.warn('the event loop was blocked', { ms: milliseconds, ...(stack.length > 0 && { stack }), untold })
    told = performance.now()
    untold = 0
  })
  // The watch is no reason to stop the node, nor to keep a process alive.
  worker.on('error', cause => log.warn('the watch over the event loop has ended', { cause }))
  worker.unref()
  timer.unref()
  return () => {
    clearInterval(timer)
    void worker.terminate()
  }
}

const threadFile = new URL(`./loop-watch-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
