// The life of a node in one process: starting, being the only one, stopping in order and in time, stopping by itself.
import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { connectUnix } from '@parley/call'
import { ManualClock } from '@parley/core'
import { openTrail } from '@parley/trail'
import { edited, tamper } from '@parley/trail/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Config } from './config/load.ts'
import { nodeTimes } from './limits.ts'
import { Node } from './node.ts'
import { readNodeFile } from './reach/node-file.ts'
import { solve } from './testing/calls.ts'
import { ground, keptLog } from './testing/ground.ts'
import { startedNode } from './testing/started.ts'

/** Removing this file fails as on a read-only disk, until the test is over. */
function readOnly(file: string): void {
  const { rmSync } = fs
  fs.rmSync = (path, options) => {
    if (path === file)
      throw Object.assign(new Error(`EROFS: read-only file system, unlink '${file}'`), { code: 'EROFS' })
    rmSync(path, options)
  }
  syncBuiltinESMExports()
  onTestFinished(() => {
    fs.rmSync = rmSync
    syncBuiltinESMExports()
  })
}

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

const started = (config: Config) => Node.start({ config, log: keptLog(), startedBy: 'up' })
const failed = (code: string, more: object = {}) => ({ ok: false, error: { code, ...more } })

describe('starting', () => {
  test('node.json says what runs, and is gone after a clean stop, as the socket is', async () => {
    const { node, place } = await startedNode()
    const file = place.path('default', 'node.json')
    const socket = place.path('default', 'call.sock')
    expect(readNodeFile(file)).toMatchObject({ pid: process.pid, version: '0.1.0', socket, started_by: 'up' })
    await node.stop('enough')
    expect([existsSync(file), existsSync(socket)]).toEqual([false, false])
  })

  test('everything in a profile is for its owner only', async () => {
    const { client, place } = await startedNode()
    await client.call('node', 'status', {})
    const folder = place.path('default')
    expect(mode(folder)).toBe('700')
    const modes = Object.fromEntries(readdirSync(folder).map(name => [name, mode(join(folder, name))]))
    for (const [name, found] of Object.entries(modes)) {
      const isFolder = statSync(join(folder, name)).isDirectory()
      expect(`${name} ${found}`).toBe(`${name} ${isFolder ? '700' : '600'}`)
    }
    expect(modes).toMatchObject({ 'call.sock': '600', 'node.json': '600', secret: '600', logs: '700' })
  })

  test('the second node of a profile is told who the first is', async () => {
    const { place, client } = await startedNode()
    const details = { pid: process.pid, profile: 'default' }
    const message = expect.stringContaining(`process ${process.pid}`)
    expect(await started(place.config())).toMatchObject(failed('profile_in_use', { details, message }))
    expect((await client.call('node', 'status', {})).pid).toBe(process.pid)
  })

  test('after a stop the profile is free again', async () => {
    const { node, place } = await startedNode()
    await node.stop('enough')
    const again = await startedNode({ place })
    expect((await again.client.call('node', 'status', {})).profile).toBe('default')
  })

  test('a socket that a dead process left behind is replaced', async () => {
    const place = ground()
    const { socket } = place.config().paths
    mkdirSync(dirname(socket), { recursive: true })
    // Closing a server removes its socket; one whose file was moved away and back stays as a crash leaves it.
    await leftBehind(socket)
    expect(statSync(socket).isSocket()).toBe(true)
    const { client } = await startedNode({ place })
    expect((await client.call('node', 'status', {})).socket).toBe(socket)
  })

  test('a file that lies where the socket belongs is named and left alone', async () => {
    const place = ground()
    const file = place.write('default/call.sock', 'mine')
    expect(await started(place.config())).toMatchObject(failed('socket_in_use', { details: { socket: file } }))
    expect(readFileSync(file, 'utf8')).toBe('mine')
  })

  test('a path that is too long works over the short socket', async () => {
    // The folder of short sockets goes away with the test.
    vi.stubEnv('TMPDIR', ground().home)
    onTestFinished(() => void vi.unstubAllEnvs())
    const place = ground('x'.repeat(80))
    const { client } = await startedNode({ place })
    const { socket } = await client.call('node', 'status', {})
    expect(socket).not.toContain(place.home)
    expect(mode(socket)).toBe('600')
    expect(mode(dirname(socket))).toBe('700')
    expect(readNodeFile(place.path('default', 'node.json'))?.socket).toBe(socket)
  })

  test('what fails on the way leaves nothing open', async () => {
    const place = ground()
    const conduct = () => Promise.reject(new Error('no coordinator'))
    const broken = await Node.start({ config: place.config(), log: keptLog(), startedBy: 'up', conduct })
    expect(broken).toMatchObject({ ok: false, error: { message: 'no coordinator' } })
    const { node } = await startedNode({ place })
    await node.stop('enough')
  })

  test('a coordinator gets the secret, the turns at once and where its agents reach the node', async () => {
    const { coordinator, place } = await startedNode({ flags: { turns: '3', runs: '5' } })
    const { secret, environment } = coordinator.options
    expect(Buffer.from(secret)).toEqual(readFileSync(place.path('default', 'secret')))
    expect(coordinator.options).toMatchObject({ turns: 3, runs: 5, profile: place.path('default') })
    const socket = place.path('default', 'call.sock')
    expect(environment).toEqual({ PARLEY_HOME: place.path(), PARLEY_PROFILE: 'default', PARLEY_SOCKET: socket })
  })

  test('damage of the trail is told and does not stop the node', async () => {
    const place = ground()
    const first = await startedNode({ place })
    const { run } = await first.client.call('solve', 'start', { ...solve, agent: 'claude' })
    await first.node.stop('enough')
    tamper(place.path('default'), records =>
      records.map(record =>
        record.kind === 'entry' && record.seq === 2 ? edited(record, 'worker', 'wörker') : record,
      ),
    )
    const second = await startedNode({ place })
    second.coordinator.runsById.set(run as never, first.coordinator.runsById.get(run as never)!)
    const report = await second.client.call('trail', 'verify', {})
    expect(report.sound).toBe(false)
    expect(report.runs[0]?.findings[0]?.message).toContain(run)
  })

  test('a log whose bytes are damaged is named in the status and in the log', async () => {
    const place = ground()
    const first = await startedNode({ place })
    await first.client.call('solve', 'start', { ...solve, agent: 'claude' })
    await first.client.call('solve', 'start', { ...solve, agent: 'claude' })
    await first.node.stop('enough')
    const trail = place.path('default', 'trail')
    const file = join(trail, readdirSync(trail).find(name => name.endsWith('.seg'))!)
    const bytes = readFileSync(file)
    bytes.write('XXXXXXXXX', bytes.indexOf('workspace_created'))
    writeFileSync(file, bytes)
    const second = await startedNode({ place })
    const { damage } = await second.client.call('node', 'status', {})
    expect(damage.length).toBeGreaterThan(0)
    expect(second.log.lines).toContainEqual(expect.objectContaining({ level: 'error', message: damage[0]!.message }))
  })

  test('a key that cannot be read stops it with a message that says what to do', async () => {
    const place = ground()
    const trail = await openTrail(place.path('default'))
    await trail.close()
    place.write('default/alp/secrets/alp_key.pem', 'not a key')
    const message = expect.stringMatching(/alp_key\.pem.*restore .* backup/i)
    expect(await started(place.config())).toMatchObject(failed('key_unusable', { message }))
  })

  test('tokens of turns that a node which died was taking are gone', async () => {
    const place = ground()
    const token = place.write('default/tokens/parley-token-x/token', 'pws.x')
    await startedNode({ place })
    expect(existsSync(token)).toBe(false)
  })

  test('a key that is gone stops it, whether it signs or not, and no other one is made', async () => {
    const place = ground()
    const trail = await openTrail(place.path('default'))
    await trail.close()
    const key = place.path('default', 'alp', 'secrets', 'alp_key.pem')
    rmSync(key)
    for (const sign of ['true', 'false']) {
      expect(await started(place.config({ 'trail-sign': sign }))).toMatchObject(failed('key_missing'))
      expect(existsSync(key)).toBe(false)
    }
  })
})

describe('stopping', () => {
  test('is done once, whoever asks how often, and in order', async () => {
    const { node, coordinator, log } = await startedNode()
    const [one, other] = await Promise.all([node.stop('first'), node.stop('second')])
    expect(one).toEqual({ reason: 'first', hanging: [] })
    expect(other).toBe(one)
    expect(coordinator.closed).toBe(1)
    const told = ['the node is up', 'the node is stopping', 'the node has stopped']
    expect(log.lines.map(({ message }) => message)).toEqual(told)
  })

  test('ends connections: calls under way fail, new ones find nobody', async () => {
    const { node, client, place } = await startedNode()
    await client.call('node', 'status', {})
    const { run } = await client.call('solve', 'start', { ...solve, agent: 'claude' })
    const watching = (async () => {
      for await (const _page of client.subscribe('trail', 'watch', { run })) void node.stop('enough')
    })()
    await expect(watching).rejects.toMatchObject({ code: 'INTERNAL' })
    await node.stopped
    await expect(connectUnix(place.config().paths.socket)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('that hangs ends in bounded time and says what hangs', async () => {
    const clock = new ManualClock()
    const { node, coordinator, log } = await startedNode({ clock })
    const released = Promise.withResolvers<void>()
    coordinator.closing = released.promise
    const stopped = node.stop('enough')
    await expect.poll(() => coordinator.closed).toBe(1)
    clock.advance(nodeTimes.stop)
    expect(await stopped).toEqual({ reason: 'enough', hanging: ['coordinator'] })
    expect(log.lines.at(-1)?.message).toContain('coordinator did not end')
    released.resolve()
    await coordinator.options.trail.close()
  })

  test('ends on a read-only disk, where not even node.json can be removed', async () => {
    const { node, place, log } = await startedNode()
    const file = place.path('default', 'node.json')
    readOnly(file)
    expect(await node.stop('enough')).toEqual({ reason: 'enough', hanging: [] })
    expect(log.lines).toContainEqual(expect.objectContaining({ level: 'error', message: `${file} was not removed` }))
  })

  test('goes on when a part fails to close', async () => {
    const { node, coordinator, log } = await startedNode()
    coordinator.closing = Promise.reject(new Error('stuck'))
    expect(await node.stop('enough')).toEqual({ reason: 'enough', hanging: [] })
    const told = { level: 'error', message: 'the coordinator did not close well' }
    expect(log.lines).toContainEqual(expect.objectContaining(told))
  })
})

describe('idle', () => {
  const start = (clock: ManualClock, startedBy: 'up' | 'on-demand', timeout = '1m') =>
    startedNode({ clock, startedBy, flags: { 'idle-timeout': timeout } })

  /** Until it stops: the time for that is the clock's too. */
  async function pass(clock: ManualClock, ms: number, { log }: Awaited<ReturnType<typeof start>>): Promise<void> {
    for (let left = ms; left > 0 && log.lines.length === 1; left -= 5000) {
      clock.advance(Math.min(5000, left))
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  async function lonely(started: Awaited<ReturnType<typeof start>>): Promise<void> {
    started.client.close()
    await expect.poll(async () => (await started.node.status()).clients).toBe(0)
  }

  test('a node that was started on demand stops when nobody needs it', async () => {
    const clock = new ManualClock()
    const started = await start(clock, 'on-demand')
    await lonely(started)
    await pass(clock, 55_000, started)
    expect(started.log.lines.at(-1)?.message).toBe('the node is up')
    await pass(clock, 20_000, started)
    expect(await started.node.stopped).toEqual({ reason: 'idle', hanging: [] })
  })

  test('it stays for a client, and for a run', async () => {
    const clock = new ManualClock()
    const started = await start(clock, 'on-demand')
    await started.client.call('node', 'status', {})
    await pass(clock, 300_000, started)
    const { run } = await started.client.call('solve', 'start', { ...solve, agent: 'claude' })
    await lonely(started)
    await pass(clock, 300_000, started)
    expect(started.log.lines.some(({ message }) => message === 'the node is stopping')).toBe(false)
    started.coordinator.end(run as never)
    await pass(clock, 90_000, started)
    expect(await started.node.stopped).toEqual({ reason: 'idle', hanging: [] })
  })

  test.each([
    ['started by a person', 'up', '1m'],
    ['told never to', 'on-demand', '0'],
  ] as const)('one that was %s stays', async (_what, startedBy, timeout) => {
    const clock = new ManualClock()
    const started = await start(clock, startedBy, timeout)
    await lonely(started)
    await pass(clock, 3_600_000, started)
    expect(started.log.lines.map(({ message }) => message)).toEqual(['the node is up'])
  })
})

/** A socket's file without anybody behind it. */
async function leftBehind(path: string): Promise<void> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(path, resolve))
  renameSync(path, `${path}.kept`)
  await new Promise<void>(resolve => server.close(() => resolve()))
  renameSync(`${path}.kept`, path)
}
