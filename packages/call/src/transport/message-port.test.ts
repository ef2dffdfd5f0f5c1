import { once } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { CallNode } from '../node.ts'
import { OperationRegistry } from '../registry.ts'
import { Recorder } from '../testing/compliance.ts'
import { echoRegistry } from '../testing/echo.ts'
import { spec } from '../testing/head.ts'
import { encodeMessage } from './message.ts'
import { type MessagePortOptions, MessagePortTransport } from './message-port.ts'

function request(id: string, input: unknown) {
  return { type: 'call.requested', id, payload: { name: '/test/echo', input } }
}

/** A node at one end of a channel; the other end is bare. */
function served(options: MessagePortOptions = {}, registry = echoRegistry()): MessagePort {
  const { port1, port2 } = new MessageChannel()
  const node = new CallNode({ registry })
  node.attach(new MessagePortTransport(port2, options))
  onTestFinished(() => port1.close())
  return port1
}

async function answer(port: MessagePort): Promise<unknown> {
  const [bytes] = (await once(port, 'message')) as [Uint8Array]
  expect(Buffer.from(bytes).readUInt32BE(0)).toBe(bytes.length - 4)
  return JSON.parse(Buffer.from(bytes.subarray(4)).toString())
}

test('CALL-T56 a port answers frames and plain objects, and leaves other messages alone', async () => {
  const port = served()
  const frame = encodeMessage(JSON.stringify(request('r1', 1)), true)
  port.postMessage(frame, [frame.buffer])
  expect(await answer(port)).toEqual({ type: 'call.responded', id: 'r1', payload: 1 })
  port.postMessage(request('r2', { a: [2] }))
  expect(await answer(port)).toEqual({ type: 'call.responded', id: 'r2', payload: { a: [2] } })
  for (const other of ['hi', 5, null, ['x'], { type: 'mine' }, { type: 't', id: 7, payload: 1 }, new ArrayBuffer(8)])
    port.postMessage(other)
  port.postMessage(encodeMessage(JSON.stringify(request('r3', 3)), false))
  expect(await answer(port)).toEqual({ type: 'call.responded', id: 'r3', payload: 3 })
})

test('the bytes of a frame are transferred, not copied', () => {
  const posted: unknown[][] = []
  const transport = new MessagePortTransport({ postMessage: (...given) => void posted.push(given), on: () => {} })
  transport.send('{"type":"t","id":"","payload":1}')
  const [bytes, transfer] = posted[0] as [Uint8Array, ArrayBuffer[]]
  expect(transfer).toEqual([bytes.buffer])
  expect(bytes.buffer.byteLength).toBe(bytes.length)
})

test('CALL-TRANS-06 a port in auto mode answers in the form of the first envelope that it received', async () => {
  const text = JSON.stringify(request('r1', 1))
  const answered = '{"type":"call.responded","id":"r1","payload":1}'
  for (const [sent, expected] of [
    [request('r1', 1), JSON.parse(answered)],
    [encodeMessage(text, true), encodeMessage(answered, true)],
    [encodeMessage(text, false), encodeMessage(answered, false)],
  ]) {
    const port = served({ workerMessages: 'auto' })
    // Other traffic decides nothing.
    port.postMessage('hi')
    port.postMessage(sent)
    expect(await once(port, 'message')).toEqual([expected])
    // What comes later changes nothing.
    for (const other of [request('r1', 1), encodeMessage(text, true)]) {
      port.postMessage(other)
      expect(await once(port, 'message')).toEqual([expected])
    }
  }
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  const transport = new MessagePortTransport(port2, { workerMessages: 'auto' })
  transport.start(new Recorder())
  transport.send(answered)
  expect(await once(port1, 'message')).toEqual([encodeMessage(answered, true)])
})

const UNFIT: readonly [string, unknown][] = [
  ['an Error', new Error('boom')],
  ['a Map', new Map()],
  ['a bigint', 5n],
  ['a Date', new Date(0)],
  ['bytes', new Uint8Array(2)],
]

test.each(UNFIT)('CALL-T66 a request that holds %s fails, and the link and other calls go on', async (_what, value) => {
  const begun = Promise.withResolvers<void>()
  const held = Promise.withResolvers<string>()
  const registry = echoRegistry()
  registry.register(spec('/test/wait'), () => {
    begun.resolve()
    return held.promise
  })
  const port = served({}, registry)
  port.postMessage({ type: 'call.requested', id: 'other', payload: { name: '/test/wait' } })
  await begun.promise
  port.postMessage(request('r1', { cause: value }))
  const failure = { code: 'INVALID_INPUT', message: expect.stringContaining('/input/cause'), retryable: false }
  expect(await answer(port)).toEqual({ type: 'call.error', id: 'r1', payload: failure })
  const payload = { requestId: 'r2', operationId: 'test.echo', input: value }
  port.postMessage({ type: 'call.requested', id: '', payload })
  expect(await answer(port)).toMatchObject({ id: '', payload: { requestId: 'r2', code: 'VALIDATION_ERROR' } })
  // What belongs to no request is dropped.
  port.postMessage({ type: 'topic', id: '', payload: value })
  held.resolve('done')
  expect(await answer(port)).toEqual({ type: 'call.responded', id: 'other', payload: 'done' })
})

test('CALL-T66 an answer that is no JSON fails its call or its subscription, and the others go on', async () => {
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  const link = new CallNode({ registry: new OperationRegistry() }).attach(
    new MessagePortTransport(port2, { workerMessages: 'object' }),
  )
  const sent: { type: string; id: string }[] = []
  port1.on('message', message => sent.push(message))
  const bad = link.callEnvelope('/a/bad', null, { requestId: 'bad' })
  const failed = link.callEnvelope('/a/failed', null, { requestId: 'failed' })
  const aborted = link.callEnvelope('/a/aborted', null, { requestId: 'aborted' })
  const good = link.callEnvelope('/a/good', null, { requestId: 'good' })
  const values = link.subscribe('/a/many', null, { requestId: 'many' })[Symbol.asyncIterator]()
  const value = values.next()
  const error = new Error('boom')
  for (const [type, id, payload] of [
    ['call.responded', 'bad', { error }],
    ['call.responded', 'many', error],
    ['call.error', 'failed', { code: 'SLOW', message: 'wait', retryable: true, details: { error } }],
    ['call.aborted', 'aborted', { error }],
    ['call.responded', 'nobody', error],
    ['call.responded', 'good', 'well'],
  ])
    port1.postMessage({ type, id, payload })
  const internal = { code: 'INTERNAL', message: expect.stringContaining('is no JSON') }
  expect((await bad).result).toMatchObject({ ok: false, error: internal })
  await expect(value).rejects.toMatchObject(internal)
  expect((await failed).result).toMatchObject({
    error: { code: 'SLOW', message: 'wait', retryable: true, details: undefined },
  })
  expect((await aborted).result).toMatchObject({ error: { code: 'ABORTED' } })
  expect((await good).unwrap()).toBe('well')
  await expect.poll(() => sent.map(({ type, id }) => `${type} ${id}`)).toContain('call.aborted many')
  expect(sent.filter(({ type }) => type === 'call.aborted')).toHaveLength(1)
  expect(link.closed).toBe(false)
})

test('a message that cannot be read ends the link', async () => {
  const { port2 } = new MessageChannel()
  const heard = new Recorder()
  new MessagePortTransport(port2).start(heard)
  port2.emit('messageerror', new Error('no such class here'))
  await heard.untilClosed()
  expect(heard.order).toEqual(['violation', 'closed'])
})

const WORKER = new URL('../testing/port-worker.ts', import.meta.url)

test('a worker thread is a node like any other: it is called, and calls back', async () => {
  const worker = new Worker(WORKER)
  const transport = new MessagePortTransport(worker)
  const link = new CallNode({ registry: echoRegistry() }).attach(transport)
  expect(await link.call('/worker/double', 21)).toBe(42)
  const over = once(worker, 'exit')
  link.close()
  await over
})

test('a worker that falls ends its link, and says why', async () => {
  const worker = new Worker(WORKER)
  const link = new CallNode({ registry: new OperationRegistry() }).attach(new MessagePortTransport(worker))
  const closed = new Promise(resolve => link.onClose(resolve))
  await expect(link.call('/worker/fall')).rejects.toMatchObject({ code: 'INTERNAL', message: 'connection closed' })
  expect(await closed).toBe('fallen')
})
