// Agents whose service said when it works again.
import { type AgentAdapter, ManualClock, ParleyError, type Ticks, type Timestamp, type TurnInput } from '@parley/core'
import { expect, test } from 'vitest'
import { AwayAgents } from './away.ts'

const until = '2026-11-19T20:07:27.000000Z' as Timestamp

test('an agent that is away until a time is not asked before, with the same account, and is shown as away', async () => {
  const clock = new ManualClock((Date.UTC(2026, 10, 19, 17, 8) * 1000) as Ticks)
  const away = new AwayAgents(clock)
  let turns = 0
  const agent: AgentAdapter = {
    name: 'a',
    kind: 'command',
    reach: { folder: true },
    takeTurn: async () => {
      turns++
      const error = new ParleyError('exit_nonzero', 'no', {
        details: { outage: { reason: 'quota', status: 429, until } },
      })
      return { outcome: 'failed', error, usage: {} }
    },
    close: async () => undefined,
  }
  const settings = { preset: 'claude', slots: 1 }
  const turn = (key: string, more: object = {}) =>
    away.heeded(agent, { ...settings, ...more }, { ANTHROPIC_API_KEY: key }).takeTurn({} as TurnInput, () => undefined)
  await turn('one')
  expect(away.of('claude')).toEqual({ reason: 'quota', status: 429, until })
  expect(await turn('one', { slots: 4, timeoutMs: 5 })).toMatchObject({
    error: {
      code: 'agent_unavailable',
      message: 'The agent a was not asked: it has no quota left (429) until 2026-11-19 20:07 UTC.',
      details: { outage: { reason: 'quota', until } },
    },
  })
  expect(turns).toBe(1)
  // Another key, and another model, may have a limit of their own.
  await turn('two')
  await turn('one', { model: 'haiku' })
  expect(turns).toBe(3)
  clock.advance(3 * 60 * 60_000)
  expect(away.of('claude')).toBeUndefined()
  await turn('one')
  expect(turns).toBe(4)
})
