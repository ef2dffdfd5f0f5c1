// A node as a process: signals, exit codes, and what a kill leaves for the next one.
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readNodeFile } from './reach/node-file.ts'
import { ground } from './testing/ground.ts'
import { nodeProcess, ODD_MAIN } from './testing/process.ts'

/** A node that misbehaves in this way, and what it wrote into its log. */
function odd(how: string) {
  const place = ground()
  const node = nodeProcess(place, { entry: ODD_MAIN, env: { PARLEY_ODD: how } })
  return { place, node, log: () => readFileSync(place.path('default', 'logs', 'node.log'), 'utf8') }
}

describe('signals', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s stops it cleanly', async signal => {
    const place = ground()
    const node = nodeProcess(place)
    await node.up()
    node.child.kill(signal)
    expect(await node.ended()).toEqual({ code: 0, signal: null })
    expect(existsSync(place.path('default', 'node.json'))).toBe(false)
    expect(existsSync(place.path('default', 'call.sock'))).toBe(false)
    const log = readFileSync(place.path('default', 'logs', 'node.log'), 'utf8')
    expect(log).toContain(`"reason":"${signal}"`)
    expect(log.trim().split('\n').at(-1)).toContain('the node has stopped')
  })

  test('a second one ends it at once, whatever hangs', async () => {
    const { node, log } = odd('hang')
    await node.up()
    node.child.kill('SIGTERM')
    await expect.poll(log, { timeout: 10_000 }).toContain('is stopping')
    node.child.kill('SIGTERM')
    expect(await node.ended()).toEqual({ code: 143, signal: null })
  })
})

describe('exit codes', () => {
  test('70 after an error that nobody caught, which is in the log', async () => {
    const { place, node, log } = odd('throw')
    expect(await node.ended()).toEqual({ code: 70, signal: null })
    expect(log()).toContain('nobody catches this')
    expect(log()).toContain('the node has stopped')
    expect(existsSync(place.path('default', 'node.json'))).toBe(false)
  })

  test('an error of the machine that nobody caught is in the log, and the node goes on', async () => {
    const { node, log } = odd('full')
    await node.up()
    await expect.poll(log, { timeout: 10_000 }).toContain('the node goes on')
    node.child.kill('SIGTERM')
    expect(await node.ended()).toEqual({ code: 0, signal: null })
  })

  test('74 where the machine keeps it from starting, which is in the log', async () => {
    const { node, log } = odd('no-room')
    expect(await node.ended()).toMatchObject({ code: 74 })
    expect(log()).toContain('ENOSPC')
  })

  test('75 where the profile is in use, and the first goes on', async () => {
    const place = ground()
    const first = nodeProcess(place)
    await first.up()
    const second = nodeProcess(place)
    expect(await second.ended()).toMatchObject({ code: 75 })
    expect(second.output()).toContain(`in use by process ${first.child.pid}`)
    expect(readNodeFile(place.path('default', 'node.json'))?.pid).toBe(first.child.pid)
    first.child.kill('SIGTERM')
    expect(await first.ended()).toMatchObject({ code: 0 })
  })

  test('78 where the configuration is wrong, with file, line and column', async () => {
    const place = ground()
    const file = place.write('default/config.yaml', 'turns: 1\nlog: { level: loud }\n')
    const node = nodeProcess(place)
    expect(await node.ended()).toMatchObject({ code: 78 })
    expect(node.output()).toContain(`${file}:2:15: log.level must be one of`)
  })

  test('73 where the profile cannot be written, and nothing else is said than that', async () => {
    const place = ground()
    mkdirSync(place.path(), { recursive: true })
    chmodSync(place.home, 0o755)
    chmodSync(place.path(), 0o555)
    const root = process.getuid?.() === 0
    const node = nodeProcess(place, root ? { uid: 65_534 } : {})
    const { code } = await node.ended()
    chmodSync(place.path(), 0o755)
    expect(code, node.output()).toBe(73)
    expect(node.output()).toBe(
      `The profile's folder ${place.path('default')} cannot be used: it cannot be written. Check who owns it and its modes (EACCES). PARLEY_HOME names another place.\n`,
    )
  })
})

test('after kill -9 the next one starts over what was left: lock, socket and node.json', async () => {
  const place = ground()
  for (let round = 0; round < 3; round++) {
    const node = nodeProcess(place)
    await node.up()
    node.child.kill('SIGKILL')
    await node.ended()
    expect(existsSync(place.path('default', 'call.sock'))).toBe(true)
    expect(readNodeFile(place.path('default', 'node.json'))?.pid).toBe(node.child.pid)
  }
  const last = nodeProcess(place)
  await last.up()
  last.child.kill('SIGTERM')
  expect(await last.ended()).toEqual({ code: 0, signal: null })
})
