// The daily cap while the node runs: an edit of config.yaml applies to the next turn, and a slip in it never lifts the
// cap.
import { mkdirSync, rmSync } from 'node:fs'
import { unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { ground, keptLog } from '../testing/ground.ts'
import { liveDailyUsd } from './live-daily-usd.ts'
import { loadConfig } from './load.ts'

function live(text: string | undefined, env: Readonly<Record<string, string>> = {}) {
  const place = ground()
  const write = (said: string) => place.write('default/config.yaml', said)
  if (text !== undefined) write(text)
  const log = keptLog()
  const cap = liveDailyUsd(unwrap(loadConfig({ home: place.home, env })), log)
  return { cap, write, log, file: place.path('default', 'config.yaml') }
}

describe('ALP-BUD-01 the daily cap', () => {
  test('follows the file, up, down and away', () => {
    const { cap, write, log } = live('budget: { daily_usd: 5 }\n')
    expect(cap()).toBe(5)
    write('turns: 3\nbudget:\n  daily_usd: 7.5\n')
    expect(cap()).toBe(7.5)
    expect(cap()).toBe(7.5)
    write('turns: 3\n')
    expect(cap()).toBeUndefined()
    write('budget: { daily_usd: 0 }\n')
    expect(cap()).toBeUndefined()
    const told = ['$7.5', 'without a cap'].map(now => `the daily budget is now ${now}`)
    expect(log.lines.map(({ message }) => message)).toEqual(told)
  })

  test('comes with a file that is made later, and goes with one that is removed', () => {
    const { cap, write, file } = live(undefined)
    expect(cap()).toBeUndefined()
    write('budget: { daily_usd: 1 }\n')
    expect(cap()).toBe(1)
    rmSync(file)
    expect(cap()).toBeUndefined()
  })

  test.each([
    ['text that is no YAML', 'budget: [1\n'],
    ['a key twice', 'budget: { daily_usd: 9 }\nbudget: { daily_usd: 9 }\n'],
    ['a number in quotes', 'budget: { daily_usd: "9" }\n'],
    ['a number below zero', 'budget: { daily_usd: -9 }\n'],
    ['nothing behind the key', 'budget: { daily_usd: }\n'],
    ['no mapping', 'budget: 9\n'],
    ['no settings at all', '- 9\n'],
  ])('stays while the file holds %s, which is told once', (_what, text) => {
    const { cap, write, log } = live('budget: { daily_usd: 5 }\n')
    expect(cap()).toBe(5)
    write(text)
    expect(cap()).toBe(5)
    expect(cap()).toBe(5)
    expect(log.lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('stays $5') }])
    write('budget: { daily_usd: 6 }\n')
    expect(cap()).toBe(6)
  })

  test.each(['cannot be read', 'is too large to be read'])('stays while the file %s', how => {
    const { cap, write, file, log } = live('budget: { daily_usd: 5 }\n')
    expect(cap()).toBe(5)
    if (how === 'cannot be read') {
      rmSync(file)
      mkdirSync(file)
    } else write(`#${'x'.repeat(300_000)}\n`)
    expect([cap(), cap()]).toEqual([5, 5])
    expect(log.lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('cannot be read') }])
  })

  test('of the environment holds for the whole process', () => {
    const { cap, write } = live('budget: { daily_usd: 5 }\n', { PARLEY_DAILY_USD: '2' })
    expect(cap()).toBe(2)
    write('budget: { daily_usd: 50 }\n')
    expect(cap()).toBe(2)
  })

  test('a mistake elsewhere in the file is none of its business', () => {
    const { cap, write } = live('budget: { daily_usd: 5 }\n')
    write('turns: many\nbudget: { daily_usd: 6 }\n')
    expect(cap()).toBe(6)
  })
})
