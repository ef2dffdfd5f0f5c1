// The owner hears of a stranger once, and a flood of strangers is not a flood of lines.
import { randomBytes } from 'node:crypto'
import { ManualClock, type Ticks } from '@parley/core'
import { linkLimits } from '@parley/link'
import { expect, test } from 'vitest'
import { nodeTimes } from '../limits.ts'
import { keptLog } from '../testing/ground.ts'
import { announced } from './strangers.ts'

test('ALP-PEND-01 every knock is remembered; the log has one line for each key, at most as many as the list holds', () => {
  const clock = new ManualClock(1_800_000_000_000_000 as Ticks)
  const log = keptLog()
  const knocks: string[] = []
  const pins = announced(
    { identities: () => new Set(['pinned']), stranger: identity => void knocks.push(identity) },
    clock,
    log,
  )
  expect([...pins.identities()]).toEqual(['pinned'])
  const keys = Array.from({ length: linkLimits.pending + 5 }, () => randomBytes(32).toString('base64'))
  for (const key of [...keys, ...keys]) pins.stranger(key, '127.0.0.1:5')
  expect(knocks).toHaveLength(2 * keys.length)
  expect(log.lines).toHaveLength(linkLimits.pending)
  expect(log.lines[0]).toMatchObject({
    level: 'info',
    facts: { fingerprint: expect.stringMatching(/^SHA256:/), remote: '127.0.0.1:5' },
  })
  clock.advance(nodeTimes.strangersAgain + 1)
  pins.stranger(keys[0]!, undefined)
  expect(log.lines).toHaveLength(linkLimits.pending + 1)
})
