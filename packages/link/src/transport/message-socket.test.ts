import { connect, createServer, type Socket } from 'node:net'
import { ManualClock } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { settled, until } from '../testing/ground.ts'
import { MessageSocket } from './message-socket.ts'
import { Lines } from './split.ts'

/** Both ends of a real connection. */
async function ends(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true })
  const arrived = new Promise<Socket>(resolve => server.once('connection', resolve))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const there = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1')
  there.on('error', () => undefined)
  const here = await arrived
  onTestFinished(() => {
    here.destroy()
    there.destroy()
    server.close()
  })
  return [here, there]
}

test('a sender is held back while nobody asks for a message, and goes on when somebody does', async () => {
  const [here, there] = await ends()
  const messages = new MessageSocket(here, new Lines(1000), new ManualClock())
  const line = `${'x'.repeat(999)}\n`
  there.write(line.repeat(30_000))
  expect(await messages.receive()).toHaveLength(999)
  // A chunk more than was asked for, not thirty megabytes.
  expect(await settled(() => here.bytesRead)).toBeLessThan(1_000_000)
  for (let taken = 1; taken < 30_000; taken++) await messages.receive()
  expect(here.bytesRead).toBe(30_000_000)
})

test('the end is noticed while nobody asks', async () => {
  const [here, there] = await ends()
  const messages = new MessageSocket(here, new Lines(100), new ManualClock())
  there.write('one\n')
  expect(await messages.receive()).toEqual(Buffer.from('one'))
  there.end()
  await messages.ended
  expect(await messages.receive()).toBe('ended')
  there.destroy()
})

test('a connection that breaks is gone, for who reads and for who writes', async () => {
  const [here, there] = await ends()
  const messages = new MessageSocket(here, new Lines(100), new ManualClock())
  const waiting = messages.receive()
  there.resetAndDestroy()
  expect(await waiting).toBe('gone')
  await messages.closed
  expect(await messages.send(Buffer.from('x'), 1000)).toBe(false)
})

test('who breaks the rules is not read any further', async () => {
  const [here, there] = await ends()
  const messages = new MessageSocket(here, new Lines(3), new ManualClock())
  there.write('too long\nok\n')
  expect(await messages.receive()).toBe('violated')
  expect(await messages.receive()).toBe('violated')
})

test('goodbye lets the last message arrive, and shows the door to who stays', async () => {
  const clock = new ManualClock()
  const [here, there] = await ends()
  there.pause()
  const messages = new MessageSocket(here, new Lines(100), clock)
  await messages.send(Buffer.from('last\n'), 1000)
  messages.end(5000)
  there.write('still talking\n')
  let heard = ''
  there.on('data', chunk => {
    heard += String(chunk)
  })
  there.resume()
  await until(() => heard === 'last\n')
  clock.advance(5000)
  await messages.closed
})
