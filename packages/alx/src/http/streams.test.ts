// Event streams under load and on bad connections: real sockets, injected time.
import { createServer, get as httpGet, type IncomingMessage } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { alxLimits } from '../limits.ts'
import { LiveRun } from '../run/live-run.ts'
import { AlxFixture, framesOf, INTENT, STREAM } from '../testing/fixture.ts'
import { TravelClock } from '../testing/travel-clock.ts'
import { Streams } from './streams.ts'

/** A step that goes on when it is told to. */
function blocked() {
  const begun = Promise.withResolvers<void>()
  const go = Promise.withResolvers<string>()
  const script = () => {
    begun.resolve()
    return go.promise
  }
  return { script, begun: begun.promise, finish: () => go.resolve('done') }
}

/** A run at work in its second step, and its id. */
async function working() {
  const f = await AlxFixture.open()
  const { script, begun, finish } = blocked()
  f.scripts.two = script
  const solved = f.solve()
  await begun
  const { runs } = await f.server.host.port.find({ principal: f.server.host.self, origin: 'alx' })
  return { f, finish, solved, run: runs[0]!.run }
}

const stream = (f: AlxFixture, run: string, more: Record<string, string> = {}) =>
  fetch(`${f.url}/v1/runs/${run}/events`, { headers: { ...STREAM, authorization: 'Bearer U', ...more } })

test('a silent stream says so with a comment at least every 15 seconds', async () => {
  const { f, run, finish } = await working()
  const reader = (await stream(f, run)).body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('id: 4')) text += (await reader.read()).value
  expect(text).not.toContain(': \n\n')
  f.clock.advance(alxLimits.silenceMs)
  while (!text.includes(': \n\n')) text += (await reader.read()).value
  finish()
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value
  expect(framesOf(text).at(-1)!.event).toBe('run.completed')
})

test('a thousand streams of one run all have its events, and none is left behind', async () => {
  const { f, run, finish, solved } = await working()
  const texts = Promise.all(Array.from({ length: 1000 }, async () => (await stream(f, run)).text()))
  // All of them are there before anything happens.
  while (f.server.host.runs.readersOf(run) < 1002) await new Promise(resolve => setImmediate(resolve))
  finish()
  const [first, ...others] = await texts
  expect(framesOf(first!).map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5', '6', '7'])
  expect(others.every(each => each === first)).toBe(true)
  expect((await solved).status).toBe(200)
  expect(f.server.host.runs.readersOf(run)).toBe(0)
})

test('a client that has seen the last event, or more than there is, is told that nothing comes behind it', async () => {
  const f = await AlxFixture.open()
  const { executionId } = (await f.solve()).body
  for (const seen of ['7', '99']) {
    const reply = await stream(f, executionId, { 'last-event-id': seen })
    expect([reply.status, framesOf(await reply.text())]).toEqual([200, []])
  }
})

test('a server that stops ends its streams behind a whole frame, and its client resumes there', async () => {
  const { f, run, solved } = await working()
  const reading = stream(f, run).then(each => each.text())
  while (f.server.host.runs.readersOf(run) < 3) await new Promise(resolve => setImmediate(resolve))
  f.scripts.two = () => 'at last'
  await f.restart()
  const stopped = await solved
  expect([stopped.status, stopped.body.error?.code]).toEqual([503, 'UPSTREAM_UNAVAILABLE'])
  const text = await reading
  expect(text.endsWith('\n\n')).toBe(true)
  const seen = framesOf(text)
  const rest = framesOf(await (await stream(f, run, { 'last-event-id': seen.at(-1)!.id! })).text())
  expect([...seen, ...rest].map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5', '6', '7'])
  expect(rest.at(-1)!.event).toBe('run.completed')
})

test('many solves at once each have their own run and answer', async () => {
  const f = await AlxFixture.open()
  f.plan = { kind: 'none', result: 'It is known.' }
  const replies = await Promise.all(
    Array.from({ length: 64 }, (_, at) => f.solve({ intent: { ...INTENT, target: `api-${at}` } })),
  )
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
  expect(new Set(replies.map(({ body }) => body.executionId)).size).toBe(64)
  expect(new Set(replies.map(({ body }) => body.result))).toEqual(new Set(['It is known.']))
  expect(f.turns).toBe(0)
})

const STEPS = 40_000

/** A run with more events than the buffers of a socket hold. */
function longRun(): { readonly live: LiveRun; readonly go: () => void } {
  const steps = Array.from({ length: STEPS }, (_, at) => ({ id: `s${at}`, stepId: `s${at}`, name: 'Step' }))
  const hash = `0x${'1'.repeat(64)}`
  const artifact = {
    ...{ artifactId: hash, kbHash: hash, type: 'procedure', domain: 'd', tier: null, sources: [] },
    origin: 'selected' as const,
  }
  const live = new LiveRun('U', {
    runId: 'run_1',
    protocol: { protocol_version: '1.1', capabilities: [] },
    facts: {
      session: 'ses_1',
      correlationId: 'req_1',
      intent: INTENT,
      forced: false,
      fingerprint: '',
      selection: { minConfidence: 0, candidates: [] },
      attempts: [{ artifact, confidence: 1, steps }],
    },
  })
  let seq = 0
  const apply = (type: string, body: Record<string, unknown>) => {
    const timestamp = '2026-01-01T00:00:00.000000Z'
    live.fold.apply({ seq: ++seq, id: `e${seq}`, timestamp, type, body } as Parameters<typeof live.fold.apply>[0])
  }
  apply('workspace_created', { parent: null, workspace_id: 'root' })
  for (const { id } of steps) apply('task_created', { task_id: id, name: id })
  const go = () => {
    for (const { id } of steps) {
      apply('task_status_changed', { task_id: id, to_status: 'in_progress' })
      apply('task_status_changed', { task_id: id, to_status: 'integrated' })
    }
    live.fold.end({ outcome: 'complete', text: 'done', usage: {} })
    live.changed()
  }
  return { live, go }
}

test('a client that does not read costs a bounded amount, slows nobody, and can resume', async () => {
  const clock = new TravelClock()
  const streams = new Streams(clock, () => '2026-01-01T00:00:00.000Z')
  const { live, go } = longRun()
  const lengths: (() => number)[] = []
  const server = createServer((request, response) => {
    lengths.push(() => response.writableLength)
    streams.open({ live, response, headers: {}, after: Number(request.headers['last-event-id'] ?? 0) })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const open = (headers: Record<string, string> = {}) =>
    new Promise<IncomingMessage>(resolve => httpGet({ port, host: '127.0.0.1', headers }, resolve))
  const [slow, quick] = [await open(), await open()]
  const read = async (from: IncomingMessage) => {
    let text = ''
    for await (const chunk of from) text += chunk
    return text
  }
  const whole = read(quick)
  go()
  const all = framesOf(await whole)
  expect(all).toHaveLength(2 * STEPS + 3)
  expect(streams.size).toBe(1)
  expect(lengths[0]!()).toBeLessThan(alxLimits.streamBytes)
  clock.advance(alxLimits.stallMs)
  expect(streams.size).toBe(0)
  await expect(read(slow)).rejects.toThrow('aborted')
  const rest = framesOf(await read(await open({ 'last-event-id': '80000' })))
  expect(rest.map(({ id }) => id)).toEqual(['80001', '80002', '80003'])
})
