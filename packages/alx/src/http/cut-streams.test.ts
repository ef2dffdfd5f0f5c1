// Streams that are cut at any byte and resumed by `last-event-id`, on bare sockets: while the run is at work, while it
// ends, behind its end, across a restart of the server, and when its events are no longer kept (ALX-RUN-07,
// ALX-ERR-06).
import type { RunEvent } from '@alx/protocol'
import { expect, test } from 'vitest'
import { DEFAULT_SETTINGS } from '../settings.ts'
import { AlxFixture, INTENT, step } from '../testing/fixture.ts'
import { eventsProblem } from '../testing/fuzz/answer-check.ts'
import { below, type Random, seededRandom } from '../testing/fuzz/garbage.ts'
import { turn } from '../testing/memory.ts'
import { readStream, wholeFrames } from '../testing/raw-stream.ts'

const CLIENTS = process.env.PARLEY_SOAK ? 1000 : 40
const STEPS = 20
/** Cuts that one client bears before it reads to the end. */
const CUTS = 40
/** Bytes up to which a connection is let live: less than its headers have, and most of a run's events. */
const LIFE = 4000

/** A run whose steps go on while `go` says so; the id of the run, and the answer to its solve. */
async function working() {
  const f = await AlxFixture.open({ steps: Array.from({ length: STEPS }, (_, at) => step(`s${at}`)) })
  const begun = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  f.scripts.s0 = async () => {
    begun.resolve()
    await go.promise
    return 'done'
  }
  const body = JSON.stringify({ intent: INTENT })
  const solved = readStream(f.url, { method: 'POST', path: '/v1/solve', body })
  await begun.promise
  const { runs } = await f.server.host.port.find({ principal: f.server.host.self, origin: 'alx' })
  return { f, go: () => go.resolve(), solved, run: runs[0]!.run, path: `/v1/runs/${runs[0]!.run}/events` }
}

interface Reader {
  readonly events: unknown[]
  cuts: number
}

const lastOf = ({ events }: Reader) => events.at(-1) as RunEvent | undefined
const isOver = (reader: Reader) => ['run.completed', 'run.failed'].includes(lastOf(reader)?.type ?? '')

/** One connection, which lives for so many bytes. */
async function readOn(f: AlxFixture, path: string, reader: Reader, bytes?: number): Promise<boolean> {
  const last = lastOf(reader)
  const part = await readStream(f.url, { path, after: last && String(last.seq) }, bytes)
  if (part.status !== undefined) expect(part.status).toBe(200)
  // What the server ends by itself, it ends behind a whole frame.
  if (part.ended) expect(part.text === '' || part.text.endsWith('\n\n'), part.text.slice(-200)).toBe(true)
  reader.events.push(...wholeFrames(part.text).map(({ data }) => data))
  return part.ended
}

async function readWithCuts(f: AlxFixture, path: string, random: Random): Promise<Reader> {
  const reader: Reader = { events: [], cuts: 0 }
  while (!isOver(reader)) {
    const bytes = reader.cuts < CUTS ? below(random, LIFE) : undefined
    if (!(await readOn(f, path, reader, bytes))) reader.cuts++
  }
  // As browsers do it: a stream that ended is asked for again, and nothing comes behind the end.
  expect(await readOn(f, path, reader)).toBe(true)
  return reader
}

test(`ALX-RUN-07 ${CLIENTS} streams that are cut at any byte and resumed have every event once`, async () => {
  const { f, go, solved, run, path } = await working()
  let cuts = 0
  const readers = Array.from({ length: CLIENTS }, async (_, seed) => {
    const reader = await readWithCuts(f, path, seededRandom(seed)).catch((cause: Error) => {
      throw new Error(`seed ${seed}: ${cause.message}`, { cause })
    })
    cuts += reader.cuts
    return reader
  })
  while (f.server.host.runs.readersOf(run) < CLIENTS / 4) await turn()
  go()
  const all = await Promise.all(readers)
  const { text, ended } = await solved
  expect([ended, wholeFrames(text).at(-1)!.event]).toEqual([true, 'alx.response'])
  const events = await f.events(run)
  expect([events.length, eventsProblem(events)]).toEqual([2 * STEPS + 3, undefined])
  for (const [seed, reader] of all.entries()) expect(reader.events, `seed ${seed}`).toEqual(events)
  expect(cuts).toBeGreaterThan(CLIENTS)
})

test('ALX-ERR-06 a server that stops in the middle of a run ends all streams behind whole frames; all resume', async () => {
  const { f, solved, run, path } = await working()
  const readers = Array.from({ length: CLIENTS }, (): Reader => ({ events: [], cuts: 0 }))
  const reading = readers.map(reader => readOn(f, path, reader))
  // The solve reads, too, and so does what keeps its time.
  while (f.server.host.runs.readersOf(run) < CLIENTS + 2) await turn()
  f.scripts.s0 = () => 'done'
  await f.restart()
  expect(await Promise.all(reading)).toEqual(readers.map(() => true))
  const { text, ended } = await solved
  expect([ended, text.endsWith('\n\n')]).toEqual([true, true])
  for (const reader of readers) expect(isOver(reader)).toBe(false)
  const random = seededRandom(1)
  for (const reader of readers) while (!isOver(reader)) await readOn(f, path, reader, LIFE + below(random, LIFE))
  const events = await f.events(run)
  expect(eventsProblem(events)).toBeUndefined()
  for (const reader of readers) expect(reader.events).toEqual(events)
  expect(eventsProblem(wholeFrames(text).map(({ data }) => data))).toBeUndefined()
})

test('ALX-RUN-07 a stream whose run ended meanwhile is resumed while its events are kept, and refused then', async () => {
  const { f, go, solved, path } = await working()
  const reader: Reader = { events: [], cuts: 0 }
  while (reader.events.length === 0) await readOn(f, path, reader, 700)
  go()
  await solved
  const late: Reader = { events: reader.events.slice(), cuts: 0 }
  f.clock.advance(DEFAULT_SETTINGS.eventRetentionMs - 60_000)
  while (!isOver(late)) await readOn(f, path, late)
  expect([late.events.length, eventsProblem(late.events)]).toEqual([2 * STEPS + 3, undefined])
  f.clock.advance(60_001)
  const gone = await readStream(f.url, { path, after: String(lastOf(reader)!.seq) })
  const { ok, error } = JSON.parse(gone.text) as { ok: boolean; error: { code: string } }
  expect([gone.status, ok, error.code]).toEqual([410, false, 'RUN_EVENTS_EXPIRED'])
})
