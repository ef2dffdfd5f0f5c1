// Scale (CALL-ROUTE-06, -07, CALL-SUB-05): a thousand workers at one head and ten thousand subscriptions at once, over
// real sockets from other processes. What a link and a subscription cost the node is measured, printed, and bounded.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { OperationContext } from './context.ts'
import { callLimits } from './limits.ts'
import { CallNode } from './node.ts'
import { temporaryPath } from './testing/folder.ts'
import { workerPrincipal } from './testing/head.ts'
import { heldBytes } from './testing/memory.ts'
import { registryOf, turn } from './testing/peer.ts'
import { connectUnix, listenUnix } from './transport/sockets.ts'
import type { Transport } from './transport/transport.ts'

const FLEET = fileURLToPath(new URL('./testing/fleet.ts', import.meta.url))
const KIBIBYTE = 1024

async function listening(node: CallNode): Promise<string> {
  const path = temporaryPath()
  const authenticate = () => workerPrincipal('fleet')
  const listener = await listenUnix(path, transport => void node.attach(transport), { authenticate })
  onTestFinished(() => listener.close())
  return path
}

function fleet(...args: readonly (string | number)[]): ChildProcess {
  const child = fork(FLEET, args.map(String), { execArgv: process.execArgv })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function step(child: ChildProcess): Promise<{ readonly step: string; readonly count: number }> {
  const [message] = (await once(child, 'message')) as [{ step: string; count: number }]
  return message
}

test('CALL-ROUTE-07 a head routes to a thousand workers, and forgets them all when they go', async () => {
  const count = 1000
  const head = new CallNode({ registry: registryOf({}), head: true })
  const path = await listening(head)
  const before = await heldBytes()
  const started = performance.now()
  const child = fleet('workers', path, count)
  expect(await step(child)).toEqual({ step: 'registered', count })
  const registered = performance.now()
  const each = ((await heldBytes()) - before) / count
  expect(head.workers).toHaveLength(count)
  const client = new CallNode({ registry: registryOf({}) }).attach(await connectUnix(path))
  const called = performance.now()
  const calls = Array.from({ length: count }, (_, index) => client.call(`/w${index}/test/echo`, index))
  expect(await Promise.all(calls)).toEqual(Array.from({ length: count }, (_, index) => index))
  const answered = performance.now()
  console.log(
    `${count} workers: registered in ${(registered - started).toFixed(0)} ms, each called once in ` +
      `${(answered - called).toFixed(0)} ms, ${(each / KIBIBYTE).toFixed(1)} KiB held for each`,
  )
  expect(each).toBeLessThan(32 * KIBIBYTE)
  child.kill('SIGKILL')
  while (head.workers.length > 0) await turn()
  expect(head.links).toHaveLength(1)
  await expect(client.call('/w7/test/echo', 7)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  client.close()
  await turn()
  expect(((await heldBytes()) - before) / count).toBeLessThan(8 * KIBIBYTE)
}, 40_000)

test('CALL-SUB-05 ten thousand subscriptions are open at once, and nothing is left when they are aborted', async () => {
  const links = 10
  let streams = 0
  const ticks = async function* (_input: unknown, { signal }: OperationContext) {
    streams++
    try {
      yield 1
      await new Promise(resolve => signal.addEventListener('abort', resolve))
    } finally {
      streams--
    }
  }
  const node = new CallNode({ registry: registryOf({ '/test/ticks': ticks }) })
  const path = await listening(node)
  const before = await heldBytes()
  const started = performance.now()
  const child = fleet('subscribers', path, links, callLimits.inbound)
  const count = links * callLimits.inbound
  expect(await step(child)).toEqual({ step: 'open', count })
  const opened = performance.now()
  expect(streams).toBe(count)
  const each = ((await heldBytes()) - before) / count
  child.send('abort')
  expect(await step(child)).toEqual({ step: 'aborted', count: 0 })
  while (streams > 0) await turn()
  expect(node.links.map(({ inboundCount }) => inboundCount)).toEqual(Array.from({ length: links }, () => 0))
  console.log(
    `${count} subscriptions on ${links} links: open with a value each in ${(opened - started).toFixed(0)} ms, ` +
      `${(each / KIBIBYTE).toFixed(1)} KiB held for each`,
  )
  expect(each).toBeLessThan(8 * KIBIBYTE)
  expect(((await heldBytes()) - before) / count).toBeLessThan(KIBIBYTE)
}, 40_000)

test('CALL-TRANS-01 a link that says nothing costs next to nothing', async () => {
  const count = 1000
  const node = new CallNode({ registry: registryOf({}) })
  const path = await listening(node)
  const before = await heldBytes()
  const transports: Transport[] = []
  while (transports.length < count)
    transports.push(...(await Promise.all(Array.from({ length: 100 }, () => connectUnix(path)))))
  while (node.links.length < count) await turn()
  const each = ((await heldBytes()) - before) / count
  console.log(`${count} silent links: ${(each / KIBIBYTE).toFixed(1)} KiB held for each, the client's socket included`)
  expect(each).toBeLessThan(24 * KIBIBYTE)
  for (const transport of transports) transport.close()
  while (node.links.length > 0) await turn()
}, 40_000)
