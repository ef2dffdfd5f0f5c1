// A thousand clients of one run, and clients that do not read (ALX-RUN-06, -07): clients in another process, sockets of
// the machine. What a client costs and how long an event takes is measured, printed, and bounded.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { alxLimits } from '../limits.ts'
import { AlxFixture, framesOf, step } from '../testing/fixture.ts'
import { eventsProblem } from '../testing/fuzz/answer-check.ts'
import { heldBytes, turn } from '../testing/memory.ts'
import { scriptedRun } from '../testing/scripted-run.ts'
import type { FleetReport } from '../testing/stream-fleet.ts'
import { TravelClock } from '../testing/travel-clock.ts'
import { Streams } from './streams.ts'

const FLEET = fileURLToPath(new URL('../testing/stream-fleet.ts', import.meta.url))
const KIBIBYTE = 1024

const bounds = {
  clients: 1000,
  /** Bytes that a client costs the server while nothing happens. */
  clientBytes: 64 * KIBIBYTE,
  /** From the record to the client, on a machine that others use too. */
  p99Ms: 5000,
  /** How much later events may come where clients do not read, and what of that no machine can tell from chance. */
  slower: 3,
  chanceMs: 1500,
}

function fleet(url: string, readers: number, sleepers = 0): ChildProcess {
  const child = fork(FLEET, [url, readers, sleepers].map(String), { execArgv: process.execArgv })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function report(child: ChildProcess): Promise<FleetReport> {
  const [message] = (await once(child, 'message')) as [FleetReport]
  return message
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}

test(`ALX-RUN-07 ${bounds.clients} clients of one run each get exactly its events, at a bounded cost`, async () => {
  const steps = Array.from({ length: 12 }, (_, at) => step(`s${at}`))
  const f = await AlxFixture.open({ steps })
  const begun = Promise.withResolvers<void>()
  const go = Promise.withResolvers<string>()
  f.scripts.s0 = () => {
    begun.resolve()
    return go.promise
  }
  const solved = f.solve()
  await begun.promise
  const { runs } = await f.server.host.port.find({ principal: f.server.host.self, origin: 'alx' })
  const { run } = runs[0]!
  const before = await heldBytes()
  const others = f.server.host.runs.readersOf(run)
  const child = fleet(`${f.url}/v1/runs/${run}/events`, bounds.clients)
  while (f.server.host.runs.readersOf(run) < others + bounds.clients) await turn()
  const each = ((await heldBytes()) - before) / bounds.clients
  const early = (await f.events(run)).length
  go.resolve('done')
  const { text, different, latencies } = await report(child)
  expect((await solved).status).toBe(200)
  expect(different).toHaveLength(1)
  const events = await f.events(run)
  expect(events).toHaveLength(2 * steps.length + 3)
  expect(framesOf(text).map(({ data }) => data)).toEqual(events)
  expect(latencies).toHaveLength((events.length - early) * bounds.clients)
  const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)]
  console.log(
    `${bounds.clients} clients: p50 ${p50} ms, p99 ${p99} ms, ${(each / KIBIBYTE).toFixed(1)} KiB held for each`,
  )
  expect(p99).toBeLessThan(bounds.p99Ms)
  expect(each).toBeLessThan(bounds.clientBytes)
  expect(f.server.host.runs.readersOf(run)).toBe(0)
})

const READERS = 50
const SLEEPERS = 5
/** More for each client than the buffers of the machine hold: 6 MB. */
const LONG = { steps: 300, padding: 20_000 }

/** Latencies of readers, and what came of clients that did not read. */
async function follow(sleepers: number) {
  const clock = new TravelClock()
  const streams = new Streams(clock, () => new Date().toISOString())
  const run = scriptedRun(clock, LONG)
  const waiting: (() => number)[] = []
  const server = createServer((request, response) => {
    waiting.push(() => response.writableLength)
    streams.open({ live: run.live, response, headers: {}, after: Number(request.headers['last-event-id'] ?? 0) })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const child = fleet(`http://127.0.0.1:${port}`, READERS, sleepers)
  while (streams.size < READERS + sleepers) await turn()
  const read = report(child)
  while (run.left > 0) {
    run.take()
    // Readers keep up, as they do with a run that takes its time.
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  const { text, different, latencies } = await read
  expect(different).toHaveLength(1)
  const events = framesOf(text).map(({ data }) => data)
  expect([events.length, eventsProblem(events)]).toEqual([3 * LONG.steps + 3, undefined])
  return {
    clock,
    streams,
    child,
    waiting,
    p99: quantile(latencies, 0.99),
    seqs: events.map(({ seq }) => seq).join(' '),
  }
}

test('ALX-RUN-07 clients that do not read are cut off at their bound, resume, and slow nobody', async () => {
  const alone = await follow(0)
  const { clock, streams, child, waiting, p99, seqs } = await follow(SLEEPERS)
  console.log(`${READERS} readers: p99 ${alone.p99} ms alone, ${p99} ms beside ${SLEEPERS} clients that do not read`)
  expect(p99).toBeLessThan(bounds.slower * alone.p99 + bounds.chanceMs)
  // They have not got all of it, and what waits for them is bounded.
  expect(streams.size).toBe(SLEEPERS)
  for (const length of waiting) expect(length()).toBeLessThan(alxLimits.streamBytes)
  clock.advance(alxLimits.stallMs)
  expect(streams.size).toBe(0)
  child.send('wake')
  const { different, broken } = await report(child)
  expect(broken).toBe(SLEEPERS)
  expect(different).toEqual([seqs])
})
