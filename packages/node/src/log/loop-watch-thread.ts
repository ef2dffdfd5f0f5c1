// The thread that waits for the main thread's beats. It sleeps between them, and takes no stack before a block is long:
// looking into the main thread costs that thread time as well.
import { appendFileSync } from 'node:fs'
import type { Profiler } from 'node:inspector'
import type { Session } from 'node:inspector/promises'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { nodeLimits, nodeTimes } from '../limits.ts'
import type { Block, WatchData } from './loop-watch.ts'

const { beats, file } = workerData as WatchData

for (;;) {
  const beat = Atomics.load(beats, 0)
  const started = performance.now()
  const lasted = () => Math.round(performance.now() - started)
  const patience = nodeTimes.beat + nodeTimes.block
  if (isBack(beat, patience)) continue
  // A process that was stopped as a whole, or a machine that slept: this thread is as late as the other.
  if (lasted() > patience + nodeTimes.block) continue
  let stack: readonly string[] = []
  // Logged again each time the block has lasted twice as long.
  for (let next = nodeTimes.longBlock; !isBack(beat, next - lasted()); next = 2 * lasted()) {
    const seen = await stackOfMain(beat)
    if (seen.length > 0) stack = seen
    if (isBlocked(beat)) tellFile(lasted(), stack)
  }
  parentPort!.postMessage({ milliseconds: lasted(), stack } satisfies Block)
}

function isBlocked(beat: number): boolean {
  return Atomics.load(beats, 0) === beat
}

/** Whether another beat came within the time. */
function isBack(beat: number, milliseconds: number): boolean {
  return Atomics.wait(beats, 0, beat, Math.max(0, milliseconds)) !== 'timed-out'
}

/** The main thread may never come back, so nobody else can write this. */
function tellFile(ms: number, stack: readonly string[]): void {
  if (file === undefined) return
  const time = new Date().toISOString()
  const line = { level: 'warn', time, pid: process.pid, ms, stack, msg: 'the event loop is blocked' }
  try {
    appendFileSync(file, `${JSON.stringify(line)}\n`, { mode: 0o600 })
  } catch {
    // As with any other line of the log: it is no reason to stop.
  }
}

/**
 * Samples of the main thread, without halting it. Nothing where it does not get so far as to begin with them: a call of
 * the system, such as reading a file that is on a disk which does not answer.
 */
async function stackOfMain(beat: number): Promise<readonly string[]> {
  const inspector = await import('node:inspector/promises')
  const session = new inspector.Session()
  try {
    session.connectToMainThread()
    const profile = sample(session, beat)
    // What fails later, or after the session has ended, is of no use any more.
    profile.catch(() => undefined)
    return hottest(await Promise.race([profile, setTimeout(nodeTimes.sampleWithin, undefined)]))
  } catch {
    return []
  } finally {
    session.disconnect()
  }
}

async function sample(session: Session, beat: number): Promise<Profiler.Profile | undefined> {
  await session.post('Profiler.enable')
  await session.post('Profiler.start')
  if (!isBlocked(beat)) return undefined
  await setTimeout(nodeTimes.sample)
  const { profile } = await session.post('Profiler.stop')
  return profile
}

function hottest(profile: Profiler.Profile | undefined): readonly string[] {
  if (profile === undefined) return []
  const parents = new Map(profile.nodes.flatMap(node => (node.children ?? []).map(id => [id, node])))
  // What is in parentheses is the engine's own work, such as collecting garbage: somebody else gave cause for it.
  const [top] = profile.nodes
    .filter(({ callFrame, hitCount = 0 }) => hitCount > 0 && !callFrame.functionName.startsWith('('))
    .sort((one, other) => (other.hitCount ?? 0) - (one.hitCount ?? 0))
  const stack: string[] = []
  for (let node = top; node && parents.has(node.id) && stack.length < nodeLimits.shownFrames; ) {
    stack.push(frameText(node))
    node = parents.get(node.id)
  }
  return stack
}

function frameText({ callFrame, positionTicks = [] }: Profiler.ProfileNode): string {
  const { functionName, url, lineNumber } = callFrame
  const [line] = positionTicks.toSorted((one, other) => other.ticks - one.ticks)
  const name = functionName === '' ? '(anonymous)' : functionName
  if (url === '') return name
  return `${name} ${url.startsWith('file:') ? fileURLToPath(url) : url}:${line?.line ?? lineNumber + 1}`
}
