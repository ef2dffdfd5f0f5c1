// What the profile spends in a day: what is shown of it, which agents are on the ledger, and what a crash leaves.
import { functionAdapter } from '@parley/agents'
import { INTERACTIVE, ManualClock, ParleyError, type TurnResult, type Usage } from '@parley/core'
import { linkPaths, openLedger } from '@parley/link'
import { describe, expect, test } from 'vitest'
import { ground, keptLog } from '../testing/ground.ts'
import { NOON, turnInput } from '../testing/turns.ts'
import { Spending } from './spending.ts'

function profile(cap: number | undefined) {
  const home = ground().path('default')
  const clock = new ManualClock(NOON)
  const state = { cap }
  const log = keptLog()
  const open = () => Spending.open({ home, clock, dailyUsd: () => state.cap, log })
  /** What another process wrote before this one. */
  const before = openLedger(linkPaths(home).ledger, { clock, cap: () => state.cap })
  const reserve = (name: string, usd?: number) => {
    const grant = before.reserve(name, usd === undefined ? {} : { usd })
    if (!grant.ok) throw new Error('refused')
    return grant.value
  }
  return { open, reserve, state, log, before }
}

describe('ALP-BUD-01 today', () => {
  test('is nothing at first', () => {
    expect(profile(undefined).open().today()).toEqual({
      day: '2026-11-15',
      cap: null,
      used_usd: 0,
      used_tokens: 0,
      reserved_usd: 0,
      by: [],
    })
  })

  test('has the cap, what is used, what is set aside, and by whom, the dearest first', () => {
    const { open, reserve, state } = profile(5)
    const spending = open()
    reserve('bob').settle({ usd: 0.5, tokensIn: 10 })
    reserve(INTERACTIVE).settle({ usd: 1.5, tokensOut: 20 })
    reserve('anna').settle({ usd: 0.5, tokensIn: 10 })
    reserve(INTERACTIVE, 0.25)
    expect(spending.today()).toEqual({
      day: '2026-11-15',
      cap: 5,
      used_usd: 2.5,
      used_tokens: 40,
      reserved_usd: 0.25,
      by: [
        { name: INTERACTIVE, usd: 1.5, tokens: 20 },
        { name: 'anna', usd: 0.5, tokens: 10 },
        { name: 'bob', usd: 0.5, tokens: 10 },
      ],
    })
    expect(spending.mayStart().ok).toBe(true)
    state.cap = 2.5
    const refused = spending.mayStart()
    expect(refused.ok ? undefined : refused.error.code).toBe('budget_exceeded')
  })
})

const agent = functionAdapter('coder', () => '')

describe('ALP-BUD-01 on the ledger', () => {
  const spending = () => profile(1).open()

  test('is every agent of a run that no peer has asked for', () => {
    expect(spending().ledgered(agent, { origin: 'cli', costs: 'profile' })).not.toBe(agent)
    expect(spending().ledgered(agent, { origin: 'alx', costs: 'profile' })).not.toBe(agent)
  })

  test('is not what a peer has asked for, which is there already, nor a check', async () => {
    const spent = spending()
    const noted = spent.ledgered(
      functionAdapter('coder', () => ({ outcome: 'complete', text: '', usage: { usd: 0.5 } })),
      { origin: 'alp', costs: 'profile' },
    )
    await noted.takeTurn(turnInput(), () => undefined)
    expect(spent.today()).toMatchObject({ used_usd: 0, reserved_usd: 0 })
    expect(spent.ledgered(agent, { origin: 'cli', costs: 'nothing' })).toBe(agent)
  })
})

describe('ALP-BUD-08 what a run for a peer cost is unknown', () => {
  const cutOff = new ParleyError('aborted', 'The turn was ended.')
  const failing = (error: ParleyError): TurnResult => ({ outcome: 'failed', error, usage: {} })
  const told = (usage: Usage): TurnResult => ({ outcome: 'complete', text: '', usage })

  /** Whether it is unknown after each of these turns of one agent, each in a run of its own. */
  async function unknownAfter(...results: (TurnResult | 'defect')[]): Promise<boolean[]> {
    const spent = profile(1).open()
    const found: boolean[] = []
    for (const result of results) {
      const turn = { ...functionAdapter('coder', () => ''), name: 'coder', kind: 'function' }
      const asked = spent.ledgered(
        { ...turn, takeTurn: async () => (result === 'defect' ? Promise.reject(cutOff) : result) },
        { origin: 'alp', costs: 'profile' },
      )
      const given = turnInput()
      await asked.takeTurn(given, () => undefined).catch(() => undefined)
      found.push(spent.costUnknown(given.run))
    }
    return found
  }

  test('where a turn was cut off before it was told', async () => {
    expect(await unknownAfter(failing(cutOff))).toEqual([true])
    const timeout = failing(new ParleyError('timeout', 'x'))
    const killed = failing(new ParleyError('agent_failed', 'x', { details: { signal: 'SIGKILL' } }))
    expect(await unknownAfter(told({ usd: 1 }), timeout, killed, 'defect')).toEqual([false, true, true, true])
  })

  test('and known where the agent told it, failed by itself, or never tells it', async () => {
    const tells = { ...failing(cutOff), usage: { usd: 0.1 } }
    expect(await unknownAfter(tells, failing(new ParleyError('agent_failed', 'x')))).toEqual([false, false])
    expect(await unknownAfter(told({}), failing(cutOff), 'defect')).toEqual([false, false, false])
  })

  test('and nothing where the turn was ended before it began', async () => {
    const spent = profile(1).open()
    const asked = spent.ledgered(agent, { origin: 'alp', costs: 'profile' })
    const given = turnInput({ signal: AbortSignal.abort(cutOff) })
    await asked.takeTurn(given, () => undefined)
    expect(spent.costUnknown(given.run)).toBe(false)
  })
})

describe('ALP-BUD-01 after a crash', () => {
  test('what own turns had set aside counts as spent where there is a cap', () => {
    const { open, reserve, log } = profile(5)
    reserve(INTERACTIVE)
    reserve(INTERACTIVE, 0.5)
    const spending = open()
    expect(spending.today()).toMatchObject({ used_usd: 1.5, reserved_usd: 0 })
    expect(log.lines).toMatchObject([{ level: 'info', message: expect.stringContaining('2 turns') }])
    // Once, and no more.
    expect(open().today()).toMatchObject({ used_usd: 1.5 })
  })

  test('and for nothing where there is none', () => {
    const { open, reserve } = profile(undefined)
    reserve(INTERACTIVE, 3)
    expect(open().today()).toMatchObject({ used_usd: 0, reserved_usd: 0 })
  })

  test('what peers had asked for is left to whoever can read their runs', () => {
    const { open, reserve, before } = profile(5)
    reserve('bob')
    expect(open().today()).toMatchObject({ used_usd: 0, reserved_usd: 1 })
    expect(before.orphans().map(({ name }) => name)).toEqual(['bob'])
  })
})
