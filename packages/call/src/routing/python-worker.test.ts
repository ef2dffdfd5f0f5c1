// A worker in another language, as a process of its own, written from the protocol and not from this code.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { collect, gate, listed, principal, registryWith, spec, TestHead, workerPrincipal } from '../testing/head.ts'

const SCRIPT = join(import.meta.dirname, '..', 'testing', 'worker.py')
const MISSING = 'python3 is not installed'
const missing = spawnSync('python3', ['--version']).status !== 0

/** The worker as a child process, when it has registered. */
async function start(head: TestHead, alias: string) {
  const port = await head.listen(workerPrincipal('python'))
  const child = spawn('python3', [SCRIPT, String(port), alias], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => ended(child))
  let said = ''
  child.stderr.on('data', chunk => {
    said += String(chunk)
  })
  const exit = once(child, 'exit').then(([code]) => {
    if (code !== 0) throw new Error(`the worker ended with ${code}: ${said}`)
    return code as number
  })
  // Told by whoever waits for it; a worker that dies while nobody does is killed by the test.
  exit.catch(() => undefined)
  const [line] = (await Promise.race([once(child.stdout, 'data'), exit])) as [Buffer]
  return { child, exit, registered: JSON.parse(String(line)) as { operations: string[] } }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** A head with what the worker asks of it. */
function pythonHead() {
  const begun = gate<unknown>()
  const aborted = [gate<unknown>(), gate<unknown>()]
  const parents: unknown[] = []
  let count = 0
  const registry = registryWith(spec('/dictionary/define'), (input, { identity, parentRequestId }) => {
    parents.push(parentRequestId)
    return `what ${String(input)} means, says the head to ${identity?.id}`
  })
  registry.register(spec('/journal/begun'), input => begun.open(input))
  registry.register(spec('/journal/aborted'), input => aborted[count++]?.open(input))
  const head = new TestHead({ registry })
  return { head, begun, aborted, parents }
}

test('a worker in plain Python registers at a head, is called through it, and calls back from inside its handler', async ({
  skip,
}) => {
  skip(missing, MISSING)
  const { head, parents } = pythonHead()
  const { exit, registered } = await start(head, 'py1')
  expect(registered).toMatchObject({ node: 'py1', registered: 6 })
  const client = await head.join()
  expect((await listed(client)).filter(name => name.startsWith('/py1/'))).toEqual(
    registered.operations.filter(name => name !== '/py1/text/secret').sort(),
  )
  await expect(client.call('/py1/text/upper', 'grüße')).resolves.toBe('GRÜSSE')
  await expect(client.call('/py1/text/define', 'parley')).resolves.toEqual({
    word: 'parley',
    meaning: 'what parley means, says the head to python',
  })
  expect(parents).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
  await expect(client.call('/py1/text/upper', 5)).rejects.toMatchObject({
    code: 'INTERNAL',
    message: expect.stringContaining('upper'),
    retryable: false,
  })
  // What its spec demands is enforced by the head, for the original caller.
  await expect(client.call('/py1/text/secret', 'a')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  const insider = await head.join({ as: principal('insider', ['python']) })
  await expect(insider.call('/py1/text/secret', 'a')).resolves.toBe('A')

  head.node.close()
  expect(await exit).toBe(0)
})

test('fifty calls at once to a worker in plain Python are answered each with its own value', async ({ skip }) => {
  skip(missing, MISSING)
  const { head } = pythonHead()
  await start(head, 'py1')
  const client = await head.join()
  const words = Array.from({ length: 50 }, (_, index) => `word${index}`)
  const meanings = await Promise.all(
    words.map(word => client.call<{ word: string; meaning: string }>('/py1/text/define', word)),
  )
  expect(meanings.map(({ word }) => word)).toEqual(words)
  for (const { word, meaning } of meanings) expect(meaning).toContain(`what ${word} means`)
})

test('a worker in plain Python streams through the head, and is told when its caller stops or gives up', async ({
  skip,
}) => {
  skip(missing, MISSING)
  const { head, begun, aborted } = pythonHead()
  await start(head, 'py1')
  const client = await head.join()
  expect(await collect(client.subscribe('/py1/text/count', 500))).toEqual(
    Array.from({ length: 500 }, (_, index) => index + 1),
  )
  const seen: unknown[] = []
  for await (const tick of client.subscribe('/py1/text/ticks')) {
    seen.push(tick)
    if (seen.length === 2) break
  }
  expect(seen).toEqual([1, 2])
  expect(await aborted[0]?.opened).toBe('/text/ticks')

  const waiting = client.call('/py1/text/wait', 'now', { requestId: 'c1' })
  expect(await begun.opened).toBe('now')
  client.abort('c1')
  await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' })
  expect(await aborted[1]?.opened).toBe('/text/wait')
})

test('when a worker in plain Python is killed, its callers hear of it at once and its names are gone', async ({
  skip,
}) => {
  skip(missing, MISSING)
  const { head, begun } = pythonHead()
  const { child } = await start(head, 'py1')
  const client = await head.join()
  const waiting = client.callEnvelope('/py1/text/wait', 'now')
  await begun.opened
  child.kill('SIGKILL')
  expect((await waiting).result).toMatchObject({
    ok: false,
    error: { code: 'INTERNAL', message: 'connection closed', retryable: false },
  })
  await expect(client.call('/py1/text/upper', 'a')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
