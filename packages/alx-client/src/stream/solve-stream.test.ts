// A streamed solve: every event once and in order and the right answer, wherever the connection is lost.
import { spawnSync } from 'node:child_process'
import type { RunEvent } from '@alx/protocol'
import { expect, test } from 'vitest'
import { type ClientOptions, createAlxClient } from '../client.ts'
import { AlxError, AlxTransportError } from '../errors.ts'
import { clientLimits } from '../limits.ts'
import { type Cut, FakeAlx, type FakeOptions } from '../testing/fake-alx.ts'
import { answer, failure, type Handler, serve } from '../testing/http-server.ts'
import { CALL, type Course, eventsOf, responseOf } from '../testing/samples.ts'
import { FakeTiming } from '../testing/timing.ts'

async function streaming(options: FakeOptions, more: Partial<ClientOptions> = {}) {
  const fake = new FakeAlx(options)
  const timing = new FakeTiming()
  const server = await serve((asked, response) => fake.handle(asked, response))
  return { fake, server, timing, client: createAlxClient({ baseUrl: server.url, timing, ...more }) }
}
async function all(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const found: RunEvent[] = []
  for await (const event of events) found.push(event)
  return found
}
const settled = (work: Promise<unknown>) =>
  work.then(
    value => value,
    error => (error instanceof AlxError && error.run ? error.run : error),
  )

test('ALX-T58 a stream skips an event of an unknown type, reports it once and counts it, with or without a number', async () => {
  for (const paused of [{ type: 'run.paused', seq: 2 }, { type: 'run.paused' }]) {
    const unknown: unknown[] = []
    const handler: Handler = (_, response) => {
      const [started, ...others] = eventsOf('run_1', 'completed')
      const events = [started!, paused, ...others.map((event, index) => ({ ...event, seq: index + 3 }))]
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
      for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      response.end(`event: alx.response\ndata: ${JSON.stringify(responseOf('run_1', 'completed'))}\n\n`)
    }
    const server = await serve(handler)
    const onUnknownEvent: ClientOptions['onUnknownEvent'] = event => unknown.push(event)
    const stream = createAlxClient({ baseUrl: server.url, onUnknownEvent }).solveStream(CALL)
    expect((await all(stream)).map(({ type }) => type)).toEqual(eventsOf('', 'completed').map(({ type }) => type))
    expect(await stream.response).toEqual(responseOf('run_1', 'completed'))
    expect(unknown).toEqual([paused])
  }
})

test('ALX-T59 a streamed run.failed with ok: true, a gap in the numbers and an event of another run are violations', async () => {
  const events = eventsOf('run_1', 'failed')
  const cases: [object[], string][] = [
    [events.map(event => (event.type === 'run.failed' ? { ...event, ok: true } : event)), 'WG-09'],
    [
      eventsOf('run_1', 'completed').map(event => (event.type === 'run.completed' ? { ...event, ok: 1 } : event)),
      'WG-10',
    ],
    [[events[0]!, events[2]!], 'ALX-RUN-02'],
    [[events[0]!, { ...events[1]!, runId: 'run_2' }], 'ALX-RUN-02'],
    [[{ ...events[0]!, timestamp: 5 }], 'ALX-RUN-02'],
    [[{ seq: 1 }], 'ALX-RUN-02'],
    [[...events, { ...events[1]!, seq: 5 }], 'ALX-RUN-03'],
  ]
  for (const [told, rule] of cases) {
    const server = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(told.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''))
    })
    const stream = createAlxClient({ baseUrl: server.url }).solveStream(CALL)
    const problem = { name: 'AlxProtocolViolation', rule }
    await expect(all(stream)).rejects.toMatchObject(problem)
    await expect(stream.response).rejects.toMatchObject(problem)
    expect(server.asked).toHaveLength(1)
  }
})

const COURSES: readonly Course[] = ['completed', 'failed', 'approved']

test.each(COURSES)('ALX-RUN-06 a run that is %s: its events, then its answer', async course => {
  for (const newline of ['\n', '\r\n', '\r']) {
    const { client, fake } = await streaming({ course, newline })
    const stream = client.solveStream(CALL)
    const events = eventsOf('run_1', course)
    expect(await all(stream)).toEqual(course === 'approved' ? events.slice(0, 3) : events)
    const status = course === 'approved' ? 'awaiting_approval' : course
    expect(await settled(stream.response)).toEqual(responseOf('run_1', status))
    expect([stream.executionId, fake.streams]).toEqual(['run_1', ['POST']])
    expect(await all(stream)).toEqual([])
  }
})

/** Every place of both streams of a solve, that of the POST and that of the first resumption; or each of some. */
async function everyCut(course: Course, clean: boolean, ofResumed: boolean, stride: number): Promise<void> {
  const events = course === 'approved' ? eventsOf('run_1', course).slice(0, 3) : eventsOf('run_1', course)
  const response = responseOf('run_1', course === 'approved' ? 'awaiting_approval' : course)
  const probe = await streaming({ course })
  await settled(probe.client.solveStream(CALL).response)
  await all(probe.client.watchRun('run_1', course === 'approved' ? { after: 0 } : {}))
  const [solveBytes, watchBytes] = probe.fake.lengths as [number, number]
  const firstCut = Buffer.byteLength(`: hello\n\nevent: run.started\nid: 1\ndata: ${JSON.stringify(events[0])}\n\n`)
  let cut: Cut = { bytes: 0, clean }
  let made: FakeAlx | undefined
  const server = await serve((asked, answered) => made!.handle(asked, answered))
  const client = createAlxClient({ baseUrl: server.url, timing: new FakeTiming() })
  for (let bytes = 0; bytes < (ofResumed ? watchBytes : solveBytes); bytes += stride) {
    cut = { bytes, clean }
    made = new FakeAlx({
      course,
      cut: count => (ofResumed ? [{ bytes: firstCut }, cut][count - 1] : count === 1 ? cut : undefined),
    })
    const stream = client.solveStream(CALL)
    expect([bytes, await all(stream)]).toEqual([bytes, events])
    expect([bytes, await settled(stream.response)]).toEqual([bytes, response])
    expect(made.runs).toBe(1)
  }
}

for (const course of COURSES)
  for (const clean of [false, true])
    for (const ofResumed of [false, true]) {
      // A soak looks at each byte of all of them.
      const each = process.env.PARLEY_SOAK !== undefined || (course === 'completed' && !clean)
      const where = `wherever the ${ofResumed ? 'resumed ' : ''}stream is ${clean ? 'ended' : 'torn'}`
      const title = `ALX-ERR-06 a run that is ${course}: no event is lost or told twice, ${where}`
      test(title, () => everyCut(course, clean, ofResumed, each ? 1 : 13), 240_000)
    }

test('ALX-ERR-06 a stream that is lost again and again goes on as long as each connection brings something', async () => {
  const start = Buffer.byteLength(': hello\n\n')
  const sizes = eventsOf('run_1', 'completed').map(event =>
    Buffer.byteLength(`event: ${event.type}\nid: ${'seq' in event && event.seq}\ndata: ${JSON.stringify(event)}\n\n`),
  )
  const { client, fake, timing } = await streaming(
    {
      course: 'completed',
      cut: count => ({ bytes: start + (sizes[count - 1] ?? 1e6) + 5 }),
    },
    { maxRetries: 1 },
  )
  const stream = client.solveStream(CALL)
  expect(await all(stream)).toEqual(eventsOf('run_1', 'completed'))
  expect(await stream.response).toEqual(responseOf('run_1', 'completed'))
  expect(fake.streams).toEqual(['POST', 'GET 1', 'GET 2', 'GET 3'])
  expect(timing.pauses).toEqual([250, 250, 250])
})

test('ALX-SDK-08 a stream gives up after as many connections in a row as allowed, and says how to go on', async () => {
  const first = Buffer.byteLength(
    `: hello\n\nevent: run.started\nid: 1\ndata: ${JSON.stringify(eventsOf('run_1', 'completed')[0])}\n\n`,
  )
  const server = await serve((asked, response) => {
    if (asked.method !== 'POST') return response.destroy()
    return new FakeAlx({ course: 'completed', cut: () => ({ bytes: first }) }).handle(asked, response)
  })
  const timing = new FakeTiming()
  const stream = createAlxClient({ baseUrl: server.url, timing }).solveStream(CALL)
  const events: RunEvent[] = []
  const loop = async () => {
    for await (const event of stream) events.push(event)
  }
  await expect(loop()).rejects.toMatchObject({ name: 'AlxTransportError', reason: 'unreachable' })
  await expect(stream.response).rejects.toBeInstanceOf(AlxTransportError)
  expect(events).toHaveLength(1)
  expect(server.asked).toHaveLength(3)
  expect(timing.pauses).toEqual([250, 500])
})

test('ALX-SOLVE-15 a stream that is lost before its first event is sent again with its key', async () => {
  let count = 0
  const fake = new FakeAlx({ course: 'completed' })
  const server = await serve((asked, response) => {
    count += asked.url.endsWith('/solve') ? 1 : 0
    if (count === 1) return response.destroy()
    if (count === 2) return answer(response, 409, failure('IDEMPOTENCY_IN_PROGRESS', {}, 'conflict'))
    return fake.handle(asked, response)
  })
  const timing = new FakeTiming()
  const stream = createAlxClient({ baseUrl: server.url, timing }).solveStream(CALL)
  expect(await all(stream)).toEqual(eventsOf('run_1', 'completed'))
  expect(new Set(server.asked.map(({ body }) => (body!.options as Record<string, unknown>).idempotencyKey))).toEqual(
    new Set([stream.idempotencyKey]),
  )
  expect(timing.pauses).toEqual([250, 500])

  const busy = await serve((_, response) => answer(response, 409, failure('IDEMPOTENCY_IN_PROGRESS', {}, 'conflict')))
  const never = createAlxClient({ baseUrl: busy.url, timing: new FakeTiming() }).solveStream(CALL)
  await expect(all(never)).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
  await expect(never.response).rejects.toBeInstanceOf(AlxError)
})

test('ALX-SOLVE-15 a replay is the answer without events, and so is an answer that is no stream', async () => {
  const { client } = await streaming({ course: 'completed' })
  const input = { ...CALL, options: { idempotencyKey: 'mine' } }
  await client.solve(input)
  const replay = client.solveStream(input)
  expect([await all(replay), await replay.response]).toEqual([[], responseOf('run_1', 'completed')])
  const planned = responseOf('run_1', 'planned')
  const server = await serve((_, response) => answer(response, 200, planned))
  const dry = createAlxClient({ baseUrl: server.url }).solveStream({ ...CALL, options: { dryRun: true } })
  expect([await all(dry), await dry.response]).toEqual([[], planned])
})

test('ALX-RUN-06 a solve that is refused before its run rejects both the loop and the answer', async () => {
  const server = await serve((_, response) => answer(response, 409, failure('SESSION_BUSY', {}, 'conflict')))
  const stream = createAlxClient({ baseUrl: server.url }).solveStream(CALL)
  await expect(all(stream)).rejects.toMatchObject({ code: 'SESSION_BUSY', httpStatus: 409 })
  await expect(stream.response).rejects.toMatchObject({ code: 'SESSION_BUSY' })
})

test('ALX-RUN-07 expired events fail the loop, and the answer is there all the same', async () => {
  const cut = Buffer.byteLength(
    `: hello\n\nevent: run.started\nid: 1\ndata: ${JSON.stringify(eventsOf('run_1', 'failed')[0])}\n\n`,
  )
  for (const bytes of [5, cut]) {
    const { client } = await streaming({
      course: 'failed',
      eventsExpire: true,
      cut: count => (count === 1 ? { bytes } : undefined),
    })
    const stream = client.solveStream(CALL)
    await expect(all(stream)).rejects.toMatchObject({ code: 'RUN_EVENTS_EXPIRED' })
    expect(await settled(stream.response)).toEqual(responseOf('run_1', 'failed'))
  }
})

test('ALX-RUN-06 silence is a lost connection, and the stream is resumed', async () => {
  const fake = new FakeAlx({ course: 'completed' })
  const timing = new FakeTiming()
  const server = await serve((asked, response, count) => {
    if (count > 1) return fake.handle(asked, response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    return response.write(': hello\n\n')
  })
  const events = all(createAlxClient({ baseUrl: server.url, timing }).solveStream(CALL))
  const asked = () => {
    timing.expire(clientLimits.silenceMs)
    return server.asked.length
  }
  await expect.poll(asked).toBeGreaterThan(1)
  expect(await events).toEqual(eventsOf('run_1', 'completed'))
})

test('ALX-SDK-08 a server that takes connections and stays silent is given up', async () => {
  const timing = new FakeTiming()
  const [started] = eventsOf('run_1', 'completed')
  const server = await serve((_, response, count) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(count === 1 ? `data: ${JSON.stringify(started)}\n\n` : ': hello\n\n')
  })
  const stream = createAlxClient({ baseUrl: server.url, timing }).solveStream(CALL)
  const failed = expect(all(stream)).rejects.toMatchObject({ reason: 'interrupted' })
  const asked = () => {
    timing.time += 60_000
    timing.expire(clientLimits.silenceMs)
    return server.asked.length
  }
  await expect.poll(asked, { interval: 20 }).toBe(3)
  await expect.poll(() => asked() && timing.pauses).toEqual([250, 500])
  asked()
  await failed
})

test('ALX-RUN-07 a lost answer at the end of a run is asked for again', async () => {
  const fake = new FakeAlx({ course: 'completed' })
  let reads = 0
  const server = await serve((asked, response) => {
    const state = asked.method === 'GET' && !asked.url.includes('events')
    reads += Number(state)
    if (state && reads === 1) {
      response.writeHead(200, { 'content-length': '1000' })
      return response.write('{', () => response.destroy())
    }
    return fake.handle(asked, response)
  })
  const client = createAlxClient({ baseUrl: server.url, timing: new FakeTiming() })
  await client.solve(CALL)
  expect(await all(client.watchRun('run_1', { after: 4 }))).toEqual([])
  expect(await all(client.watchRun('run_1'))).toEqual(eventsOf('run_1', 'completed'))
  expect(reads).toBeGreaterThan(1)
})

test('ALX-SDK-04 an aborted stream fails its loop and its answer with the reason, and closes its connection', async () => {
  let closed = () => {}
  const gone = new Promise<void>(resolve => {
    closed = resolve
  })
  const server = await serve((_, response) => {
    response.on('close', closed)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify(eventsOf('run_1', 'completed')[0])}\n\n`)
  })
  const controller = new AbortController()
  const stream = createAlxClient({ baseUrl: server.url }).solveStream(CALL, { signal: controller.signal })
  const events = stream[Symbol.asyncIterator]()
  await events.next()
  controller.abort(new Error('enough'))
  await expect(events.next()).rejects.toThrow('enough')
  await expect(stream.response).rejects.toThrow('enough')
  await gone
})

test('ALX-HTTP-07 a loop that is left closes the connection; a later loop or the answer takes the run up again', async () => {
  const fake = new FakeAlx({ course: 'completed' })
  const events = eventsOf('run_1', 'completed')
  let closed = () => {}
  const gone = new Promise<void>(resolve => {
    closed = resolve
  })
  const open = await serve((asked, response, count) => {
    if (count > 1) return fake.handle(asked, response)
    fake.handle(asked, { writeHead() {}, flushHeaders() {}, write() {}, end() {}, destroy() {} } as never)
    response.on('close', closed)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify(events[0])}\n\n`)
    return undefined
  })
  const stream = createAlxClient({ baseUrl: open.url, timing: new FakeTiming() }).solveStream(CALL)
  for await (const event of stream) {
    expect(event).toEqual(events[0])
    break
  }
  await gone
  expect(open.asked).toHaveLength(1)
  expect(await stream.response).toEqual(responseOf('run_1', 'completed'))
  expect(await all(stream)).toEqual(events.slice(1))
  expect(fake.streams).toEqual(['POST', 'GET 1'])
})

test('ALX-SDK-04 whoever wants only the answer needs no loop, and a loop that is far behind reads the rest again', async () => {
  const many = 5000
  const [started, , , completed] = eventsOf('run_1', 'completed')
  const steps = Array.from({ length: many }, (_, index) => ({
    ...eventsOf('run_1', 'completed')[1]!,
    seq: index + 2,
  }))
  const events = [started!, ...steps, { ...completed!, seq: many + 2 }]
  const server = await serve(({ method, url, headers }, response) => {
    if (method === 'GET' && !url.includes('events')) return answer(response, 200, responseOf('run_1', 'completed'))
    const after = Number(headers['last-event-id'] ?? 0)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      events
        .slice(after)
        .map(event => `data: ${JSON.stringify(event)}\n\n`)
        .join(''),
    )
    return response.end(`event: alx.response\ndata: ${JSON.stringify(responseOf('run_1', 'completed'))}\n\n`)
  })
  const stream = createAlxClient({ baseUrl: server.url }).solveStream(CALL)
  expect(await stream.response).toEqual(responseOf('run_1', 'completed'))
  expect(await all(stream)).toEqual(events)
  const resumed = server.asked.filter(({ headers }) => headers['last-event-id'] !== undefined)
  expect(resumed.map(({ headers }) => headers['last-event-id'])).toEqual(['4096'])
})

test('ALX-SDK-04 a failure that nobody awaits does not end the process', () => {
  const program = `
    const { createAlxClient } = await import(${JSON.stringify(new URL('../client.ts', import.meta.url).href)})
    const client = createAlxClient({ baseUrl: 'http://127.0.0.1:1/', maxRetries: 0 })
    const stream = client.solveStream(${JSON.stringify(CALL)})
    stream.response
    for await (const _ of client.solveStream(${JSON.stringify(CALL)})) break
    await new Promise(resolve => setTimeout(resolve, 200))
    console.log('alive')
  `
    .replace('for await', 'try { for await')
    .replace(' break\n', ' break } catch (error) { console.log(error.reason) }\n')
  const flags = ['--conditions=parley-source', '--input-type=module', '--eval', program]
  const { stdout, stderr } = spawnSync(process.execPath, flags, { encoding: 'utf8', cwd: import.meta.dirname })
  expect([stdout, stderr]).toEqual(['unreachable\nalive\n', ''])
})

test('ALX-RUN-07 a run is watched through its approval to its end, from any event on', async () => {
  const { client } = await streaming({ course: 'approved', staysOpen: true })
  await client.solve(CALL)
  const events = eventsOf('run_1', 'approved')
  const watched: RunEvent[] = []
  for await (const event of client.watchRun('run_1', { after: 1 })) {
    watched.push(event)
    if (event.type === 'approval.required')
      await client.decideApproval('run_1', { approvalId: 'gate_1', decision: 'approve' })
  }
  expect(watched).toEqual(events.slice(1))
  expect(await all(client.watchRun('run_1', { after: events.length }))).toEqual([])
  await expect(all(client.watchRun('nothing'))).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
})

test('ALX-SDK-04 leaving a watched run closes its connection', async () => {
  let closed = () => {}
  const gone = new Promise<void>(resolve => {
    closed = resolve
  })
  const server = await serve((_, response) => {
    response.on('close', closed)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify(eventsOf('run_1', 'completed')[0])}\n\n`)
  })
  for await (const { type } of createAlxClient({ baseUrl: server.url }).watchRun('run_1'))
    if (type === 'run.started') break
  await gone
})

test('ALX-RUN-07 a watched run that waits on a server that ends the stream ends the loop', async () => {
  const { client } = await streaming({ course: 'approved' })
  await client.solve(CALL)
  expect(await all(client.watchRun('run_1'))).toEqual(eventsOf('run_1', 'approved').slice(0, 3))
})
