// A node whose event loop is blocked says so, while it is and afterwards.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ground } from '../testing/ground.ts'
import { nodeProcess, ODD_MAIN } from '../testing/process.ts'

interface Line {
  readonly level: string
  readonly msg: string
  readonly pid: number
  readonly ms: number
  readonly stack?: readonly string[]
}

function start(how: string) {
  const place = ground()
  const node = nodeProcess(place, { entry: ODD_MAIN, env: { PARLEY_ODD: how } })
  const lines = (msg: string): Line[] => {
    const log = readFileSync(place.path('default', 'logs', 'node.log'), 'utf8')
      .trim()
      .split('\n')
    return log.map(line => JSON.parse(line) as Line).filter(line => line.msg === msg)
  }
  return { node, lines }
}

const soon = { timeout: 30_000, interval: 50 }
/** Not of the start, which may take long on a busy machine. */
const ours = ({ stack = [] }: Line) =>
  stack.some(frame => /odd-main-program\.js:\d+$/.test(frame)) && stack.some(frame => frame.includes('listOnTimeout'))

test('a block that is over is in the log, with its length and what was at work', async () => {
  const { node, lines } = start('block')
  await node.up()
  await expect.poll(() => lines('the event loop was blocked').filter(ours).length, soon).toBe(1)
  const [block] = lines('the event loop was blocked').filter(ours)
  expect(block).toMatchObject({ level: 'warn', pid: node.child.pid })
  expect(block!.ms).toBeGreaterThan(2_000)
  node.child.kill('SIGTERM')
  expect(await node.ended()).toEqual({ code: 0, signal: null })
})

test('a block that never ends is in the log while it goes on', async () => {
  const { node, lines } = start('freeze')
  await node.up()
  await expect.poll(() => lines('the event loop is blocked').filter(ours).length, soon).toBeGreaterThan(0)
  const [block] = lines('the event loop is blocked').filter(ours)
  expect(block).toMatchObject({ level: 'warn', pid: node.child.pid, ms: expect.any(Number) })
  expect(lines('the event loop was blocked').filter(ours)).toEqual([])
})
