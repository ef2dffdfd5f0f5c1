// The runner and the claim, against hosts that say little: what is passed, failed, unsupported and not tested.
import { describe, expect, test } from 'vitest'
import { claimOf } from './claim.ts'
import { type Host, type System, Unsupported } from './host.ts'
import { parseOptions } from './options.ts'
import { runScenario, runScenarios, type ScenarioResult } from './runner.ts'
import type { Scenario } from './scenario.ts'

/** A system that has nothing and can do nothing. */
const empty: System = {
  call: async (_caller, operation) => {
    throw new Unsupported(operation)
  },
  entries: async () => [],
  notices: () => [],
  settle: async () => undefined,
  advance: async () => undefined,
  restart: async () => ({ halted: [] }),
  faults: {},
  close: async () => undefined,
}

const host: Host = { name: 'Empty', version: '0', level: 3, open: async () => ({ ok: true, value: empty }) }

function row(play: Scenario['play'], more: Partial<Scenario> = {}): Scenario {
  return { id: 'WP-001', title: 'WP-001 a row', level: 1, rules: [], opened: false, play, ...more }
}

test('where the first deviation is enough, nothing is played behind it', async () => {
  const lacking = row(async kit => {
    await kit.open()
    await kit.do('runtime', 'close_run')
  })
  const all = [row(async () => undefined), lacking, row(async () => undefined)]
  expect((await runScenarios(host, all)).map(({ status }) => status)).toEqual(['passed', 'unsupported', 'passed'])
  expect((await runScenarios(host, all, { bail: true })).map(({ status }) => status)).toEqual(['passed', 'unsupported'])
})

describe('a scenario', () => {
  test('passes where nothing is wrong', async () => {
    expect(
      (
        await runScenario(
          host,
          row(async () => undefined),
        )
      ).status,
    ).toBe('passed')
  })

  test('fails where an assertion does, with its message alone', async () => {
    const result = await runScenario(
      host,
      row(async kit => {
        await kit.open()
        await kit.expectAdded([['workspace_created', 'R', 'protocol']])
      }),
    )
    expect(result).toMatchObject({ status: 'failed' })
    expect(result.message).toContain('- missing workspace_created under R by protocol')
  })

  test('is unsupported where the host lacks an operation', async () => {
    const result = await runScenario(
      host,
      row(async kit => {
        await kit.open()
        await kit.do('runtime', 'close_run')
      }),
    )
    expect(result).toMatchObject({ status: 'unsupported', message: 'The host has no operation close_run.' })
  })

  test('is not tested where the host cannot inject a fault', async () => {
    const result = await runScenario(
      host,
      row(async kit => {
        await kit.open()
        kit.faults.clock(5)
      }),
    )
    expect(result.status).toBe('not tested')
    expect(result.message).toContain('needs the fault clock')
  })

  test('fails where it does not end', async () => {
    const result = await runScenario(
      host,
      row(() => new Promise(() => undefined)),
      3,
      20,
    )
    expect(result).toMatchObject({ status: 'failed' })
    expect(result.message).toContain('did not end within 20 ms')
  })

  test('fails where the trail that it leaves is not sound', async () => {
    const entry = {
      seq: 2,
      id: 'e',
      timestamp: 'now',
      workspace: null,
      actor: 'protocol',
      event_type: 'gossip',
      body: {},
    }
    const value: System = { ...empty, entries: async () => [entry] }
    const odd: Host = { ...host, open: async () => ({ ok: true, value }) }
    const result = await runScenario(
      odd,
      row(async kit => {
        await kit.open()
        kit.run = 'run'
      }),
    )
    expect(result.message).toContain('entry 2 (gossip) is of a type that the registry does not have (W-TRAIL-03)')
    expect(result.message).toContain("entry 2 is the first and not the root's creation (W-TRAIL-13)")
  })
})

describe('the claim', () => {
  const result = (id: string, level: 1 | 2 | 3, status: ScenarioResult['status']): ScenarioResult => ({
    id,
    title: `${id} a row`,
    level,
    rules: [],
    status,
    milliseconds: 1,
  })

  test('names the level without deviations', () => {
    const claim = claimOf(host, 3, [result('WP-001', 1, 'passed'), result('WP-095', 3, 'passed')])
    expect(claim).toMatchObject({ met: true, text: 'WACP v0.1, Level 3 (Full), no deviations' })
  })

  test('names what failed, what is unsupported, and the level that is met all the same', () => {
    const results = [result('WP-001', 1, 'passed'), result('WP-095', 3, 'failed'), result('WM-088', 3, 'unsupported')]
    const claim = claimOf(host, 3, results)
    expect(claim).toMatchObject({ met: false, metLevel: 2 })
    expect(claim.text).toBe(
      'WACP v0.1, Level 3 (Full), 2 deviations: WP-095, WM-088 (unsupported)\nLevel 2 (Standard) is met without deviations',
    )
  })

  test('counts what was not tested as neither passed nor failed', () => {
    const claim = claimOf(host, 2, [result('WP-036', 1, 'not tested')])
    expect(claim).toMatchObject({ met: true, notTested: ['WP-036'] })
    expect(claim.text).toContain('Not tested, for want of a fault that the host can inject: WP-036')
  })

  test('of a part of the rows is no claim of a level', () => {
    const claim = claimOf(host, 3, [result('WP-001', 1, 'passed')], true)
    expect(claim.text).toContain('this is no claim of a level')
  })
})

describe('the command line', () => {
  test('is understood', () => {
    expect(parseOptions(['--level', '2', '--only', 'WP-017, WM-041', '--json'])).toEqual({
      host: undefined,
      level: 2,
      only: ['WP-017', 'WM-041'],
      bail: false,
      list: false,
      json: true,
      help: false,
    })
  })

  test.each([
    [['--level', '4'], "There is no level '4'"],
    [['--only', 'WP-17'], "'WP-17' is not the id of a row"],
    [['--wrong'], "Unknown option '--wrong'"],
  ])('%j is refused with what is wrong', (args, message) => {
    expect(parseOptions(args)).toContain(message)
  })
})
