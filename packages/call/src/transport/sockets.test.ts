// Sockets, standard input and output of a child, and how anything that comes is delivered.
import { once } from 'node:events'
import { linkSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ManualClock } from '@parley/core'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { callDefaults, callLimits } from '../limits.ts'
import { CallNode } from '../node.ts'
import { Recorder } from '../testing/compliance.ts'
import { echoRegistry } from '../testing/echo.ts'
import { ProtocolViolation } from '../wire/envelope.ts'
import { Delivery } from './delivery.ts'
import { connectUnix, listenUnix } from './sockets.ts'
import { type SpawnStdioOptions, spawnStdio } from './stdio.ts'
import type { Transport } from './transport.ts'

const folder = mkdtempSync(join(tmpdir(), 'parley-'))
afterAll(() => rmSync(folder, { recursive: true }))

const noOne = () => undefined
const DEAF = { envelope: noOne, violation: noOne, drain: noOne, closed: noOne }

test('a Unix socket is for its owner alone', async () => {
  const path = join(folder, 'own')
  const listening = await listenUnix(path, noOne)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  await listening.close()
})

test('a Unix socket that somebody listens on is not taken over', async () => {
  const path = join(folder, 'taken')
  const first = await listenUnix(path, noOne)
  await expect(listenUnix(path, noOne)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  const transport = await connectUnix(path)
  transport.close()
  await first.close()
})

test('a Unix socket that was left behind is replaced', async () => {
  const path = join(folder, 'left')
  const { promise, resolve } = Promise.withResolvers<void>()
  const server = createServer().listen(join(folder, 'first'), resolve)
  await promise
  // A killed process leaves its name behind; a second name does as well, since closing removes the first only.
  linkSync(join(folder, 'first'), path)
  await new Promise(done => server.close(done))
  const listening = await listenUnix(path, noOne)
  ;(await connectUnix(path)).close()
  await listening.close()
})

test('a file in the place of a Unix socket stays', async () => {
  const path = join(folder, 'file')
  writeFileSync(path, 'precious')
  await expect(listenUnix(path, noOne)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  expect(readFileSync(path, 'utf8')).toBe('precious')
})

test('what a closed transport was given still arrives when the server closes', async () => {
  const path = join(folder, 'farewell')
  const text = JSON.stringify({ type: 'note', id: '1', payload: 'x'.repeat(256 * 1024) })
  const served = Promise.withResolvers<Transport>()
  const listening = await listenUnix(path, served.resolve)
  const client = await connectUnix(path)
  const server = await served.promise
  server.start(DEAF)
  // More than the sockets' own buffers hold, while the client does not read.
  for (let sent = 0; sent < 8; sent++) server.send(text)
  server.close()
  const closed = listening.close()
  let came = 0
  const ended = new Promise<void>(resolve =>
    client.start({ ...DEAF, envelope: () => void came++, closed: () => resolve() }),
  )
  await Promise.all([ended, closed])
  expect(came).toBe(8)
})

const envelope = { type: 't', id: '', payload: null }
const bad = new ProtocolViolation('malformed', 'bad')

test('a violation is told after what came before it, and before the end', () => {
  const delivery = new Delivery()
  delivery.envelope(envelope)
  delivery.end('bad', bad)
  delivery.end('closed')
  const heard = new Recorder()
  delivery.start(heard)
  expect(heard.order).toEqual(['envelope', 'violation', 'closed'])
  expect(heard.reasons).toEqual(['bad'])
})

test('whoever closes amid the last of what came gets no more of it, and no violation', () => {
  const delivery = new Delivery()
  delivery.envelope(envelope)
  delivery.envelope(envelope)
  delivery.end('bad', bad)
  const heard = new Recorder()
  heard.onEnvelope = () => delivery.close('enough')
  delivery.start(heard)
  expect(heard.order).toEqual(['envelope', 'closed'])
  expect(heard.reasons).toEqual(['enough'])
})

test('so much is kept for whoever is to come, and no more', () => {
  const delivery = new Delivery()
  for (let count = 0; count < callLimits.earlyEnvelopes; count++) expect(delivery.envelope(envelope)).toBe(true)
  expect(delivery.envelope(envelope)).toBe(false)
})

test('a carrier is held until the start, and again while consumers have not had their turn', async () => {
  const calls: string[] = []
  const delivery = new Delivery({ pause: () => calls.push('pause'), resume: () => calls.push('resume') })
  expect(calls).toEqual(['pause'])
  const heard = new Recorder()
  delivery.start(heard)
  expect(calls).toEqual(['pause', 'resume'])
  const many = callLimits.envelopesPerTurn + 1
  for (let count = 0; count < many; count++) delivery.envelope(envelope)
  expect(heard.envelopes).toHaveLength(callLimits.envelopesPerTurn)
  expect(calls).toEqual(['pause', 'resume', 'pause'])
  await heard.untilEnvelopes(many)
  await new Promise(resolve => setImmediate(resolve))
  expect(calls).toEqual(['pause', 'resume', 'pause', 'resume'])
})

const PROGRAM = new URL('../testing/stdio-node.ts', import.meta.url).pathname

async function child(options: SpawnStdioOptions = {}, ...args: readonly string[]) {
  const spawned = await spawnStdio(process.execPath, [...process.execArgv, PROGRAM, ...args], {
    stderr: 'ignore',
    ...options,
  })
  onTestFinished(() => void spawned.child.kill('SIGKILL'))
  return spawned
}

test('a child process is called over its standard input and output, calls back, and may print meanwhile', async () => {
  const { transport, child: process } = await child()
  const link = new CallNode({ registry: echoRegistry() }).attach(transport)
  const pids = await Promise.all(
    Array.from({ length: 20 }, (_, index) => link.call('/child/print', `careless ${index}`)),
  )
  expect(pids).toEqual(Array(20).fill(process.pid))
  const values: unknown[] = []
  for await (const value of link.subscribe('/test/count', 5)) values.push(value)
  expect(values).toEqual([1, 2, 3, 4, 5])
})

test('closing the link ends the child', async () => {
  const { transport, child: process } = await child()
  const link = new CallNode({ registry: echoRegistry() }).attach(transport)
  await link.call('/test/echo', 1)
  const exit = once(process, 'exit')
  link.close()
  expect(await exit).toEqual([0, null])
})

test('a child that dies closes the link', async () => {
  const { transport, child: process } = await child()
  const link = new CallNode({ registry: echoRegistry() }).attach(transport)
  const pending = link.call('/child/print', 'x').then(() => link.call('/test/echo', 1))
  process.kill('SIGKILL')
  await expect(pending).rejects.toMatchObject({ code: 'INTERNAL', message: 'connection closed' })
  expect(link.closed).toBe(true)
})

test('a child that does not end by itself is told to, and then made to', async () => {
  const clock = new ManualClock()
  const { transport, child: process } = await child({ clock }, 'stubborn')
  const link = new CallNode({ registry: echoRegistry() }).attach(transport)
  await link.call('/test/echo', 1)
  const exit = once(process, 'exit')
  const inputOver = once(process.stdin!, 'close')
  link.close()
  await inputOver
  const signals: unknown[] = []
  const kill = process.kill.bind(process)
  process.kill = signal => {
    signals.push(signal)
    return kill(signal)
  }
  clock.advance(callDefaults.closeGrace - 1)
  expect(signals).toEqual([])
  clock.advance(1)
  expect(signals).toEqual(['SIGTERM'])
  clock.advance(callDefaults.closeGrace)
  expect(await exit).toEqual([null, 'SIGKILL'])
})

test('a program that is not there is a refusal, not a crash', async () => {
  await expect(spawnStdio('no-such-program-of-parley')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})

test('a program that prints what is no frame ends the link', async () => {
  const { transport } = await spawnStdio(process.execPath, ['-e', 'console.log("hello, I am no node")'])
  const heard = new Recorder()
  transport.start(heard)
  await heard.untilClosed()
  expect(heard.order).toEqual(['violation', 'closed'])
})
