import { once } from 'node:events'
import { ManualClock } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { callDefaults } from '../limits.ts'
import { CallNode } from '../node.ts'
import { echoRegistry } from '../testing/echo.ts'
import { Recorder } from './compliance.ts'
import { type SpawnStdioOptions, spawnStdio } from './stdio.ts'

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
