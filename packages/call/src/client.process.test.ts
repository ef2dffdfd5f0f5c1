// A client and a server in processes of their own: what is killed is really dead, and what has nothing left to do ends.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { connectClient } from './client.ts'
import { connectUnix } from './transport/sockets.ts'

const LOST = { code: 'INTERNAL', message: 'connection closed', retryable: false }

const SERVER = `
import { CallNode, listenUnix, OperationRegistry, operation } from '@parley/call'
import { Type } from '@parley/core'
const open = { inputSchema: Type.Unknown(), outputSchema: Type.Unknown(), accessControl: {} }
const registry = new OperationRegistry({
  '/test/pid': operation({ ...open, name: '/test/pid', opType: 'query' }, () => process.pid),
  '/test/hold': operation({ ...open, name: '/test/hold', opType: 'mutation' }, () => {
    console.log('held')
    return new Promise(() => {})
  }),
})
const node = new CallNode({ registry })
await listenUnix(process.argv[1], transport => node.attach(transport))
console.log('up')
`

/** A script on its own, with the lines that it prints. */
function script(source: string, ...args: string[]) {
  const child: ChildProcess = spawn(
    process.execPath,
    [
      '--conditions=parley-source',
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '-e',
      source,
      ...args,
    ],
    { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  return { child, line: async () => (await lines.next()).value as string }
}

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-client-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'socket')
}

test('a server process that is killed with SIGKILL in the middle of a call is survived', async () => {
  const path = temporary()
  const first = script(SERVER, path)
  expect(await first.line()).toBe('up')
  const client = connectClient({ dial: () => connectUnix(path), backoff: { most: 100 } })
  onTestFinished(() => client.close())
  expect(await client.call('test', 'pid', null)).toBe(first.child.pid)
  const held = client.invoke('test', 'hold', null)
  expect(await first.line()).toBe('held')
  first.child.kill('SIGKILL')
  expect((await held).result).toMatchObject({ ok: false, error: LOST })
  const waits = client.call('test', 'pid', null)
  const second = script(SERVER, path)
  expect(await waits).toBe(second.child.pid)
})

test('a client that cannot connect keeps its process alive for what waits, and no longer', async () => {
  const source = `
    import { connectClient, connectUnix } from '@parley/call'
    const client = connectClient({
      dial: () => connectUnix(process.argv[1]),
      onState: ({ kind }) => console.log(kind),
      backoff: { base: 1e9, most: 1e9 },
    })
    const { result } = await client.invoke('test', 'echo', 1, { timeout: 100 })
    console.log(result.error.code)
  `
  const { child, line } = script(source, temporary())
  const ended = once(child, 'exit')
  expect(await line()).toBe('connecting')
  expect(await line()).toBe('waiting')
  expect(await line()).toBe('UNAVAILABLE')
  expect(await ended).toEqual([0, null])
})
