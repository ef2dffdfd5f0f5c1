// The profile's own turns on the daily ledger, with a real ledger file: what is set aside, what is booked, who is
// refused and who waits.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type AgentFunction, functionAdapter } from '@parley/agents'
import {
  type AgentAdapter,
  INTERACTIVE,
  ManualClock,
  ParleyError,
  type TurnEvent,
  type TurnResult,
  type Usage,
} from '@parley/core'
import { linkPaths, openLedger } from '@parley/link'
import { describe, expect, test } from 'vitest'
import { nodeTimes } from '../limits.ts'
import { ground, keptLog } from '../testing/ground.ts'
import { NOON, turnInput } from '../testing/turns.ts'
import { OwnTurns } from './own-turns.ts'
import { ToldCosts } from './told-costs.ts'

function purse(cap: number | undefined) {
  const path = linkPaths(ground().path('default')).ledger
  const clock = new ManualClock(NOON)
  const state = { cap }
  const ledger = openLedger(path, { clock, cap: () => state.cap })
  const log = keptLog()
  const own = new OwnTurns({ ledger, told: new ToldCosts(), clock, log })
  const agent = (run: AgentFunction, name = 'coder') => own.ledgered(functionAdapter(name, run, { clock }))
  const reserved = () => [...ledger.today().reserved.values()].map(({ usd }) => usd)
  return { path, clock, state, ledger, log, own, agent, reserved }
}

const said =
  (usage: Usage): AgentFunction =>
  () =>
    done(usage)
const fails =
  (error: ParleyError, usage: Usage = {}): AgentFunction =>
  () => ({ outcome: 'failed', error, usage })
const quiet = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
}
const codeOf = (result: TurnResult) => (result.outcome === 'failed' ? result.error.code : result.outcome)
const done = (usage: Usage, text = ''): TurnResult => ({ outcome: 'complete', text, usage })

/** A turn that ends when the test says so. */
function held(usage: Usage) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const run: AgentFunction = () => promise.then(() => done(usage))
  return { run, end: resolve }
}

describe('ALP-BUD-01 a turn of the profile itself', () => {
  test('is on the ledger before it begins, and what it cost when it ended', async () => {
    const { ledger, agent, path, reserved } = purse(5)
    let during: readonly number[] = []
    const turn = agent(given => {
      during = reserved()
      expect(given.budget).toEqual({ usd: 5 })
      return done({ usd: 0.25, tokensIn: 10, tokensOut: 5 }, 'done')
    })
    const taken = await turn.takeTurn(turnInput(), () => undefined)
    expect(taken).toMatchObject({ ...done({ usd: 0.25 }, 'done'), meter: { wallMs: 0 } })
    expect(during).toEqual([1])
    expect(ledger.today().byPeer.get(INTERACTIVE)).toEqual({ usd: 0.25, tokens: 15 })
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      profile: { usd: 0.25, tokens: 15 },
      by_peer: { [INTERACTIVE]: { usd: 0.25 } },
    })
  })

  test('is counted without a cap too, and has no budget then but its own', async () => {
    const { ledger, agent, reserved } = purse(undefined)
    const seen: unknown[] = []
    const turn = agent(({ budget }) => {
      seen.push(budget, reserved())
      return done({ usd: 3 })
    })
    await turn.takeTurn(turnInput(), () => undefined)
    await turn.takeTurn(turnInput({ budget: { usd: 9 } }), () => undefined)
    expect(seen).toEqual([{}, [0], { usd: 9 }, [9]])
    expect(ledger.today().profile.usd).toBe(6)
  })

  test('may spend what is left, and never more than it asked for', async () => {
    const { agent } = purse(5)
    const seen: unknown[] = []
    const turn = agent(({ budget }) => {
      seen.push(budget)
      return done({ usd: 4.5 })
    })
    await turn.takeTurn(turnInput({ budget: { usd: 0.2, tokens: 7 } }), () => undefined)
    await turn.takeTurn(turnInput(), () => undefined)
    expect(seen).toEqual([{ usd: 0.2, tokens: 7 }, { usd: 0.5 }])
  })

  test('ALP-BUD-03 is refused when the cap is reached, with everything that a person needs to know', async () => {
    const { agent, state, own } = purse(2)
    let taken = 0
    const turn = agent(() => {
      taken++
      return done({ usd: 2.5 })
    })
    expect(own.refusal).toBeUndefined()
    await turn.takeTurn(turnInput(), () => undefined)
    const refused = await turn.takeTurn(turnInput(), () => undefined)
    expect(taken).toBe(1)
    const details = { cap_kind: 'usd', cap: 2, used: 2.5, resets: '2026-11-16T00:00:00.000000Z' }
    const error = { code: 'budget_exceeded', retryable: false, details }
    expect(refused).toMatchObject({ outcome: 'failed', usage: {}, error })
    const { message } = (refused as { error: ParleyError }).error
    expect(message).toMatch(/^Daily budget:.*\$2\.50 of \$2\.00/s)
    expect(message).toContain('00:00 UTC, in 12h00m')
    expect(message).toContain('budget.daily_usd')
    expect(own.refusal?.message).toBe(message)
    state.cap = 3
    expect(codeOf(await turn.takeTurn(turnInput(), () => undefined))).toBe('complete')
  })

  test('ALP-BUD-03 goes on after midnight, UTC', async () => {
    const { agent, clock } = purse(1)
    const turn = agent(said({ usd: 1 }))
    await turn.takeTurn(turnInput(), () => undefined)
    expect(codeOf(await turn.takeTurn(turnInput(), () => undefined))).toBe('budget_exceeded')
    clock.advance(12 * 3_600_000)
    expect(codeOf(await turn.takeTurn(turnInput(), () => undefined))).toBe('complete')
  })
})

describe('ALP-BUD-01 what is booked for', () => {
  const told = new ParleyError('exit_nonzero', 'The agent (x) was ended by SIGKILL.', {
    details: { signal: 'SIGKILL' },
  })

  test('an agent that never tells its cost is nothing, however its turns end', async () => {
    const { agent, ledger } = purse(50)
    await agent(said({})).takeTurn(turnInput(), () => undefined)
    await agent(said({ tokensIn: 4, tokensOut: 3 })).takeTurn(turnInput(), () => undefined)
    for (const error of [told, new ParleyError('timeout', 'late'), new ParleyError('start_failed', 'no')])
      await agent(fails(error)).takeTurn(turnInput(), () => undefined)
    expect(ledger.today().profile).toEqual({ usd: 0, tokens: 7 })
  })

  test.each([
    ['was ended from outside', told],
    ['took too long', new ParleyError('timeout', 'late')],
    ['printed too much', new ParleyError('output_limit', 'much')],
  ])(
    'a turn that %s and could not tell is all that was set aside, if the agent tells otherwise',
    async (_how, error) => {
      const { agent, ledger } = purse(50)
      await agent(said({ usd: 0.5 })).takeTurn(turnInput(), () => undefined)
      await agent(fails(error)).takeTurn(turnInput(), () => undefined)
      expect(ledger.today().profile.usd).toBe(1.5)
      // Another agent has told nothing yet.
      await agent(fails(error), 'other').takeTurn(turnInput(), () => undefined)
      expect(ledger.today().profile.usd).toBe(1.5)
      expect(ledger.today().reserved.size).toBe(0)
    },
  )

  test.each([
    ['could not be started', new ParleyError('start_failed', 'no')],
    ['ended by itself', new ParleyError('exit_nonzero', 'no', { details: { exitCode: 1, signal: null } })],
    ['says that it failed', new ParleyError('agent_error', 'no')],
  ])('a failed turn that %s is what it told', async (_how, error) => {
    const { agent, ledger } = purse(50)
    await agent(said({ usd: 0.5 })).takeTurn(turnInput(), () => undefined)
    await agent(fails(error)).takeTurn(turnInput(), () => undefined)
    await agent(fails(error, { usd: 0.125 })).takeTurn(turnInput(), () => undefined)
    expect(ledger.today().profile.usd).toBe(0.625)
  })

  test('a turn that was ended and had told something is what it told', async () => {
    const { agent, ledger } = purse(50)
    const stop = new AbortController()
    const turn = agent(async (_input, emit) => {
      emit({ type: 'usage', usage: { usd: 0.125 } })
      stop.abort(new ParleyError('aborted', 'Enough.'))
      await new Promise(() => undefined)
      return ''
    })
    expect(codeOf(await turn.takeTurn(turnInput({ signal: stop.signal }), () => undefined))).toBe('aborted')
    expect(ledger.today().profile.usd).toBe(0.125)
  })

  test('a defect of an adapter is all that was set aside, and stays a defect', async () => {
    const { own, ledger } = purse(50)
    let usd: number | undefined = 0.5
    const odd: AgentAdapter = {
      name: 'odd',
      kind: 'http',
      reach: { folder: true },
      takeTurn: async () => {
        if (usd === undefined) throw new Error('a slip')
        return done({ usd })
      },
      close: async () => undefined,
    }
    const turn = own.ledgered(odd)
    await turn.takeTurn(turnInput(), () => undefined)
    usd = undefined
    await expect(turn.takeTurn(turnInput(), () => undefined)).rejects.toThrow('a slip')
    expect(ledger.today().profile.usd).toBe(1.5)
  })

  test('a turn that somebody else pays for is nothing: a peer has its owner, and what it claims cannot use up this budget', async () => {
    const { own, ledger } = purse(1)
    const seen: unknown[] = []
    const bob: AgentAdapter = {
      name: 'bob',
      kind: 'peer',
      reach: { folder: true },
      takeTurn: async ({ budget }) => {
        seen.push(budget)
        return done({ usd: 1000 })
      },
      close: async () => undefined,
    }
    expect(await own.stoppable(bob).takeTurn(turnInput(), () => undefined)).toMatchObject({ usage: { usd: 1000 } })
    expect(seen).toEqual([undefined])
    expect(ledger.today().profile.usd).toBe(0)
    // The cap stops everything all the same.
    const grant = ledger.reserve(INTERACTIVE)
    if (grant.ok) grant.value.settle({ usd: 1 })
    expect(codeOf(await own.stoppable(bob).takeTurn(turnInput(), () => undefined))).toBe('budget_exceeded')
    expect(seen).toHaveLength(1)
  })
})

describe('ALP-BUD-01 turns at the same time', () => {
  test('wait while what is left is set aside for others, and say so', async () => {
    const { agent, clock, ledger } = purse(1)
    const first = held({ usd: 0.25 })
    const events: TurnEvent[] = []
    const one = agent(first.run).takeTurn(turnInput(), () => undefined)
    let ended = false
    const two = agent(said({ usd: 0.25 }), 'other')
      .takeTurn(turnInput(), event => events.push(event))
      .finally(() => {
        ended = true
      })
    await quiet()
    clock.advance(nodeTimes.ledgerLook)
    await quiet()
    expect(ended).toBe(false)
    expect(events).toEqual([{ type: 'notice', text: expect.stringContaining('set aside for other turns') }])
    first.end()
    await one
    clock.advance(nodeTimes.ledgerLook)
    expect(codeOf(await two)).toBe('complete')
    expect(events).toHaveLength(1)
    expect(ledger.today().profile.usd).toBe(0.5)
  })

  test('of agents that tell no cost do not wait for each other', async () => {
    const { agent, reserved } = purse(1)
    await agent(said({})).takeTurn(turnInput(), () => undefined)
    const both = [held({}), held({})]
    const turns = both.map(({ run }) => agent(run).takeTurn(turnInput(), () => undefined))
    await quiet()
    expect(reserved()).toEqual([0, 0])
    for (const { end } of both) end()
    expect((await Promise.all(turns)).map(codeOf)).toEqual(['complete', 'complete'])
  })

  test('are refused when the others have used it up', async () => {
    const { agent, clock } = purse(1)
    const first = held({ usd: 1 })
    const one = agent(first.run).takeTurn(turnInput(), () => undefined)
    const two = agent(said({}), 'other').takeTurn(turnInput(), () => undefined)
    await quiet()
    first.end()
    await one
    clock.advance(nodeTimes.ledgerLook)
    expect(await two).toMatchObject({ error: { code: 'budget_exceeded', retryable: false } })
  })

  test('do not wait for ever', async () => {
    const { agent, clock } = purse(1)
    const first = held({})
    const one = agent(first.run).takeTurn(turnInput(), () => undefined)
    const two = agent(said({}), 'other').takeTurn(turnInput(), () => undefined)
    for (let passed = 0; passed <= nodeTimes.ledgerWait; passed += nodeTimes.ledgerWait / 4) {
      await quiet()
      clock.advance(nodeTimes.ledgerWait / 4)
    }
    const error = { code: 'budget_exceeded', message: expect.stringContaining('still at work') }
    expect(await two).toMatchObject({ error })
    first.end()
    await one
  })

  test('stop waiting when they are ended, or their agent is closed', async () => {
    const { agent } = purse(1)
    const first = held({})
    const one = agent(first.run).takeTurn(turnInput(), () => undefined)
    const stop = new AbortController()
    const two = agent(said({}), 'two').takeTurn(turnInput({ signal: stop.signal }), () => undefined)
    const third = agent(said({}), 'three')
    const three = third.takeTurn(turnInput(), () => undefined)
    await quiet()
    stop.abort(new ParleyError('suspended', 'The work was suspended.'))
    expect(await two).toMatchObject({ error: { code: 'aborted', details: { reason: 'suspended' } } })
    await third.close()
    expect(await three).toMatchObject({ error: { code: 'closed' } })
    expect(codeOf(await third.takeTurn(turnInput(), () => undefined))).toBe('closed')
    first.end()
    await one
  })
})

test.each([
  ['be read', 'move it away', (path: string) => path, '{'],
  // A file where its folder should be.
  ['be written', 'logs/ledger.json', dirname, ''],
])('ALP-BUD-02 a ledger that cannot %s lets no turn begin, and stays as it is', async (what, says, placeOf, text) => {
  const { agent, path, ledger } = purse(5)
  const place = placeOf(path)
  mkdirSync(dirname(place), { recursive: true })
  writeFileSync(place, text)
  let taken = false
  const turn = agent(() => {
    taken = true
    return ''
  })
  const error = { code: 'ledger_unavailable', message: expect.stringContaining(says) }
  expect(await turn.takeTurn(turnInput(), () => undefined)).toMatchObject({ outcome: 'failed', error })
  expect(taken).toBe(false)
  // Nor does a run.
  if (what === 'be read') expect(ledger.unusable?.code).toBe('ledger_unavailable')
  expect(readFileSync(place, 'utf8')).toBe(text)
})

describe('ALP-BUD-02 a ledger that cannot be written', () => {
  test('takes no result from a turn that is done, and counts what was set aside', async () => {
    const { agent, path, ledger, log } = purse(5)
    const turn = agent(() => {
      // In the way of the file that takes its place.
      mkdirSync(`${path}.tmp`)
      return done({ usd: 0.25 }, 'done')
    })
    expect(await turn.takeTurn(turnInput(), () => undefined)).toMatchObject(done({}, 'done'))
    expect(log.lines).toMatchObject([{ level: 'error' }])
    expect([...ledger.today().reserved.values()]).toMatchObject([{ usd: 1 }])
  })
})
