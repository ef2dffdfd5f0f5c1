// `parley budget` without a run: what the profile has spent today.
import { CallError } from '@parley/call'
import { expect, test } from 'vitest'
import type { TodayView } from '../../node/views.ts'
import { fakeNode } from '../../testing/fake-node.ts'
import { parley } from '../../testing/parley.ts'
import { NO_USAGE } from '../../testing/views.ts'

const TODAY: TodayView = {
  day: '2026-11-15',
  cap: 5,
  used_usd: 2.5,
  used_tokens: 12_000,
  reserved_usd: 0,
  by: [
    { name: '__interactive__', usd: 2, tokens: 12_000 },
    { name: 'bob', usd: 0.5, tokens: 0 },
  ],
  agents: [],
  turns: [],
}

async function budget(today: Partial<TodayView>, ...words: string[]) {
  const node = fakeNode({ '/budget/today': { ...TODAY, ...today } })
  return parley(['budget', ...words], { node })
}

test('ALP-BUD-01 shows the sum against the cap, and who spent it', async () => {
  const { out, code } = await budget({})
  expect(code).toBe(0)
  expect(out).toBe(
    [
      '2026-11-15 (UTC): $2.50 of $5.00, 12k tokens',
      '',
      'FOR              COST  TOKENS',
      'your own turns  $2.00     12k',
      'peer bob        $0.50',
      '',
    ].join('\n'),
  )
})

test('says what is set aside, that there is no cap, and that it is reached', async () => {
  expect((await budget({ reserved_usd: 0.25 })).out).toContain('$0.25 more is reserved for running turns.')
  const free = (await budget({ cap: null, by: [], used_usd: 0, used_tokens: 0 })).out
  expect(free).toBe('2026-11-15 (UTC): $0.00\nThere is no cap: budget.daily_usd in config.yaml sets one.\n')
  const full = (await budget({ used_usd: 5 })).out
  expect(full).toContain('Nothing more starts until 00:00 UTC, or until budget.daily_usd')
  const problem = '/p/logs/ledger.json cannot be read. Restore it, or move it away.'
  expect((await budget({ used_usd: 0, problem })).out).toBe(`${problem}\n`)
})

test('shows what each agent used in turns that ended today, and the turns at work with what they used so far', async () => {
  const usage = { ...NO_USAGE, turns: 3, wall_ms: 125_000 }
  const run = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'
  const { out } = await budget({
    by: [],
    agents: [
      { agent: 'claude', usage: { ...usage, usd: 1.5, tokens_in: 9_000, tokens_out: 1_000 } },
      { agent: 'script', usage },
    ],
    turns: [{ run, task: 'docs', agent: 'claude#2', usage: { ...NO_USAGE, turns: 1, wall_ms: 4_000, usd: 0.25 } }],
  })
  expect(out).toBe(
    [
      '2026-11-15 (UTC): $2.50 of $5.00, 12k tokens',
      '',
      'AGENT   TURNS   TIME   COST  TOKENS',
      'claude      3  2m05s  $1.50     10k',
      'script      3  2m05s',
      '',
      'At work',
      'RUN         TASK  AGENT     TIME   COST',
      'run_aaaaaa  docs  claude#2  4.0s  $0.25',
      '',
    ].join('\n'),
  )
})

test('is one value for programs', async () => {
  expect(JSON.parse((await budget({}, '--json')).out)).toEqual(TODAY)
})

test('a limit, or a task, needs a run', async () => {
  const { code, err } = await budget({}, '--task', 'docs')
  expect(code).toBe(2)
  expect(err).toContain('--task needs a run.')
})

test('ALP-BUD-03 a run that is refused for want of money ends with the code of a refusal, and says why', async () => {
  const message = 'Daily budget: $5.00 of $5.00 are used up. It begins anew at 00:00 UTC, in 3h00m.'
  const node = fakeNode({
    '/solve/start': new CallError('budget_exceeded', message, { details: { cap: 5, used: 5 } }),
    '/agents/list': { agents: [] },
  })
  const { code, err } = await parley(['solve', 'Do it.', '--yes', '--json'], { node })
  expect(code).toBe(5)
  expect(JSON.parse(err)).toMatchObject({ error: { code: 'budget_exceeded', message } })
})
