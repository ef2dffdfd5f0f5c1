// Reaching a node: the one that runs, or one that is started in the background, and never two.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { TURN_MARKER } from '@parley/agents'
import { findMarked } from '@parley/agents/testing'
import { CallNode, listenUnix, OperationRegistry, operation } from '@parley/call'
import { isOver, type RunView } from '@parley/coordinator'
import { ManualClock, Type, unwrap } from '@parley/core'
import { profileSigner } from '@parley/trail'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ConnectOptions, connectNode, type NodeConnection } from './client.ts'
import { readNodeFile } from './reach/node-file.ts'
import { bundled } from './testing/bundle.ts'
import { type Ground, gone, ground, isAlive, repository } from './testing/ground.ts'
import { ODD_MAIN } from './testing/process.ts'
import { startedNode } from './testing/started.ts'

async function connect(place: Ground, options: Partial<ConnectOptions> = {}) {
  const { main: entry } = await bundled()
  const env = options.env ?? place.env
  const connected = await connectNode({ home: place.home, start: true, entry, ...options, env })
  if (connected.ok) onTestFinished(() => connected.value.client.close())
  return connected
}

/** What somebody who cannot connect is told. */
const told = (code: string, more: object = {}) => ({ ok: false, error: { code, ...more } })

async function stop({ client, status }: NodeConnection): Promise<void> {
  await client.call('node', 'stop', {})
  await gone(status!.pid)
}

describe('a node that runs', () => {
  test('is used', async () => {
    const { place } = await startedNode()
    const { status, started } = unwrap(await connect(place))
    expect({ pid: status?.pid, started }).toEqual({ pid: process.pid, started: false })
  })

  test('is found by PARLEY_SOCKET and opened with a token, for an agent', async () => {
    const { place, coordinator } = await startedNode()
    const env = { PARLEY_SOCKET: place.path('default', 'call.sock') }
    const { client, status } = unwrap(await connect(place, { env, token: 'stale', start: false }))
    expect(status).toBeUndefined()
    expect(coordinator.turns.size).toBe(0)
    const asked = client.call('workspaces', 'status', {}, { authToken: 'stale' })
    await expect(asked).rejects.toMatchObject({ code: 'permission_denied' })
  })

  test('of another version is refused, unless that does not matter', async () => {
    const place = ground()
    const { socket, folder } = place.config().paths
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    await profileSigner(folder)
    const status = { pid: 1, version: '9.9.9', profile: 'default' }
    const schemas = { inputSchema: Type.Unknown(), outputSchema: Type.Unknown() }
    const spec = { name: '/node/status', opType: 'query', accessControl: {}, ...schemas } as const
    const registry = new OperationRegistry({ '/node/status': operation(spec, () => status) })
    const node = new CallNode({ registry })
    const listening = await listenUnix(socket, transport => node.attach(transport))
    onTestFinished(() => listening.close())
    expect(await connect(place)).toMatchObject(told('version_mismatch', { details: { node: '9.9.9' } }))
    expect((await connect(place, { anyVersion: true })).ok).toBe(true)
  })
})

describe('no node', () => {
  test('is told where none shall be started', async () => {
    const more = { details: { profile: 'default' }, message: expect.stringContaining('parley up') }
    expect(await connect(ground(), { start: false })).toMatchObject(told('node_not_running', more))
  })

  test('means that one is started in the background, and stays there for the next', async () => {
    const place = ground()
    const first = unwrap(await connect(place))
    expect(first).toMatchObject({ started: true, status: { started_by: 'on-demand', idle_timeout_ms: 600_000 } })
    first.client.close()
    const second = unwrap(await connect(place))
    expect(second).toMatchObject({ started: false, status: { pid: first.status?.pid } })
    const log = readFileSync(place.path('default', 'logs', 'node.log'), 'utf8')
    expect(log).toContain('the node is up')
    await stop(second)
    expect(readNodeFile(place.path('default', 'node.json'))).toBeUndefined()
  })

  test('and several who need one at the same moment get the same', async () => {
    const place = ground()
    const script = `
      import { connectNode } from ${JSON.stringify(join(import.meta.dirname, 'client.ts'))}
      const { value } = await connectNode({ home: ${JSON.stringify(place.home)}, start: true })
      console.log(value.status.pid)
      value.client.close()`
    const other = () =>
      promisify(execFile)(process.execPath, [...process.execArgv, '--input-type=module', '--eval', script], {
        env: place.env,
      })
    const [here, again, ...others] = await Promise.all([connect(place), connect(place), other(), other()])
    const pids = [unwrap(here).status!.pid, unwrap(again).status!.pid, ...others.map(({ stdout }) => Number(stdout))]
    expect(new Set(pids).size).toBe(1)
    expect(Number(unwrap(here).started) + Number(unwrap(again).started)).toBeLessThanOrEqual(1)
    await stop(unwrap(here))
  })

  test('is the case as soon as one is stopping', async () => {
    const place = ground()
    const first = unwrap(await connect(place))
    await first.client.call('node', 'stop', {})
    const second = unwrap(await connect(place))
    expect(second.status!.pid).not.toBe(first.status!.pid)
    await stop(second)
  })

  test('and one that is started from inside a turn is not part of that turn', async () => {
    const place = ground()
    const turn = `run_${process.pid}_${Date.now()}/`
    const env = { ...place.env, [TURN_MARKER]: `${turn}ws_1/1`, PARLEY_TOKEN_FILE: '/t/token' }
    const started = unwrap(await connect(place, { env }))
    const { pid } = started.status!
    if (process.platform === 'linux') {
      const variables = readFileSync(`/proc/${pid}/environ`, 'utf8')
      expect(variables).toContain('PARLEY_STARTED=on-demand')
      expect(variables).not.toMatch(/PARLEY_T/)
    }
    expect(await findMarked(turn)).toEqual([])
    await stop(started)
  })

  test('is the same as one that was killed: a new one takes its place', async () => {
    const place = ground()
    const first = unwrap(await connect(place))
    process.kill(first.status!.pid, 'SIGKILL')
    await gone(first.status!.pid)
    const second = unwrap(await connect(place))
    expect(second.started).toBe(true)
    expect(second.status!.pid).not.toBe(first.status!.pid)
    await stop(second)
  })

  test('that can be started is told with the log and its last lines', async () => {
    const place = ground()
    const env = { ...place.env, PARLEY_ODD: 'crash' }
    const message = expect.stringMatching(/ended with code 1.*node\.log.*this node has no luck/s)
    const details = { log: place.path('default', 'logs', 'node.log') }
    const refused = await connect(place, { env, entry: ODD_MAIN })
    expect(refused).toMatchObject(told('node_start_failed', { details, message }))
  })

  test('that the machine lets start is told as its fault, not as a node that fails', async () => {
    const place = ground()
    const refused = await connect(place, { env: { ...place.env, PARLEY_ODD: 'no-room' }, entry: ODD_MAIN })
    expect(refused).toMatchObject(told('machine_fault', { retryable: true }))
  })

  test('that answers in time is given up, after a bounded time', async () => {
    const place = ground()
    const clock = new ManualClock()
    const env = { ...place.env, PARLEY_ODD: 'sleep' }
    const ticking = setInterval(() => clock.advance(100), 1)
    onTestFinished(() => clearInterval(ticking))
    const refused = await connect(place, { env, entry: ODD_MAIN, clock })
    const { pid } = (refused.ok ? {} : refused.error.details) as { pid: number }
    expect(isAlive(pid)).toBe(true)
    process.kill(pid, 'SIGKILL')
    const message = expect.stringContaining('did not answer in time')
    expect(refused).toMatchObject(told('node_start_failed', { message }))
  })

  test('because of a configuration with mistakes is told with their place', async () => {
    const place = ground()
    const file = place.write('default/config.yaml', 'turns: 0\n')
    const message = expect.stringContaining(`${file}:1:8: turns must be`)
    expect(await connect(place)).toMatchObject({ ok: false, error: { message } })
  })
})

test('a run goes on after its node was killed, with the next one that somebody starts', async () => {
  const place = ground()
  const project = join(place.home, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'README.md'), 'A project.\n')
  const git = repository(project)
  // The first turn waits for ever; the one that is run again finds the mark that it left outside and does the work.
  const mark = join(place.home, 'mark')
  const script = `if [ -e ${mark} ]; then echo done > made.txt; else echo half > half.txt; touch ${mark}; sleep 600; fi`
  const command = JSON.stringify(['sh', '-c', script])
  place.write('default/config.yaml', `agents:\n  worker: { command: ${command}, prompt: none }\n`)
  const first = unwrap(await connect(place))
  const input = { intent: 'Make it.', project, agent: 'worker', approved: true }
  const { run } = await first.client.call('solve', 'start', input)
  await expect.poll(() => existsSync(mark), { timeout: 30_000 }).toBe(true)
  process.kill(first.status!.pid, 'SIGKILL')
  await gone(first.status!.pid)
  const second = unwrap(await connect(place))
  let last: RunView | undefined
  for await (const view of second.client.subscribe('runs', 'follow', { run })) last = view
  expect(last && isOver(last.state), last?.reason).toBe(true)
  expect(last).toMatchObject({ state: 'done', result: { files: ['made.txt'] } })
  expect(git('show', `${last!.result!.branch}:made.txt`)).toBe('done\n')
  expect(await second.client.call('trail', 'verify', {})).toMatchObject({ sound: true })
  await stop(second)
})
