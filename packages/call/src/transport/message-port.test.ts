import { once } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { CallNode } from '../node.ts'
import { OperationRegistry } from '../registry.ts'
import { echoRegistry } from '../testing/echo.ts'
import { Recorder } from './compliance.ts'
import { encodeMessage } from './message.ts'
import { MessagePortTransport } from './message-port.ts'

function request(id: string, input: unknown) {
  return { type: 'call.requested', id, payload: { name: '/test/echo', input } }
}

/** A node at one end of a channel; the other end is bare. */
function served(): MessagePort {
  const { port1, port2 } = new MessageChannel()
  const node = new CallNode({ registry: echoRegistry() })
  node.attach(new MessagePortTransport(port2))
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
  for (const other of [
    'hi',
    5,
    null,
    ['x'],
    { type: 'mine' },
    { type: 't', id: 7, payload: 1 },
    new ArrayBuffer(8),
  ])
    port.postMessage(other)
  port.postMessage(encodeMessage(JSON.stringify(request('r3', 3)), false))
  expect(await answer(port)).toEqual({ type: 'call.responded', id: 'r3', payload: 3 })
})

test('a port that is told to sends plain objects', async () => {
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  const transport = new MessagePortTransport(port2, { workerMessages: 'object' })
  transport.start(new Recorder())
  transport.send('{"type":"t","id":"","payload":{"a":1}}')
  expect(await once(port1, 'message')).toEqual([{ type: 't', id: '', payload: { a: 1 } }])
})

test('the bytes of a frame are transferred, not copied', () => {
  const posted: unknown[][] = []
  const transport = new MessagePortTransport({
    postMessage: (...given) => void posted.push(given),
    on: () => {},
  })
  transport.send('{"type":"t","id":"","payload":1}')
  const [bytes, transfer] = posted[0] as [Uint8Array, ArrayBuffer[]]
  expect(transfer).toEqual([bytes.buffer])
  expect(bytes.buffer.byteLength).toBe(bytes.length)
})

test('an object whose values JSON does not have ends the link', async () => {
  const { port1, port2 } = new MessageChannel()
  const heard = new Recorder()
  new MessagePortTransport(port2).start(heard)
  port1.postMessage({ type: 't', id: '', payload: { when: new Map() } })
  await heard.untilClosed()
  expect(heard.order).toEqual(['violation', 'closed'])
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
  await expect(link.call('/worker/fall')).rejects.toMatchObject({
    code: 'INTERNAL',
    message: 'connection closed',
  })
  expect(await closed).toBe('fallen')
})
