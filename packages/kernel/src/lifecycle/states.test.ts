import { unwrap } from '@parley/core'
import type { WorkspaceState } from '@parley/trail/events'
import { describe, expect, test } from 'vitest'
import { timeoutLeft } from '../budget/clock.ts'
import { viewMeter } from '../budget/remaining.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { isTransition, TRANSITIONS } from './states.ts'

const ABORT = 'aborted_by_coordinator aborted_by_human batch_abort escalation_timeout'
const ENDED = `${ABORT} parent_failed system_shutdown`
const AT_WORK = `agent_failed ${ABORT} timeout budget_exceeded graceful_termination_expired parent_failed system_shutdown`

/** W-LIFE-02, as the sheet has it; `run_complete` also takes the root to `integrating` (W-LIFE-13). */
const PAIRS: readonly (readonly [WorkspaceState, WorkspaceState, string])[] = [
  ['idle', 'active', 'first_envelope agent_started'],
  ['idle', 'failed', `creation_error timeout agent_failed ${ENDED}`],
  ['active', 'blocked', 'agent_blocked'],
  ['active', 'migrating', 'migration_initiated'],
  ['active', 'suspended', 'suspended_by_coordinator'],
  ['active', 'integrating', 'agent_complete run_complete'],
  ['active', 'failed', AT_WORK],
  ['blocked', 'active', 'agent_started'],
  ['blocked', 'migrating', 'migration_initiated'],
  ['blocked', 'suspended', 'suspended_by_coordinator'],
  ['blocked', 'failed', AT_WORK],
  ['migrating', 'active', 'migration_succeeded'],
  ['migrating', 'blocked', 'migration_succeeded'],
  ['migrating', 'failed', `migration_error ${ENDED}`],
  ['suspended', 'active', 'resumed_by_coordinator'],
  ['suspended', 'blocked', 'resumed_by_coordinator'],
  ['suspended', 'failed', ENDED],
  ['integrating', 'closed', 'integration_succeeded run_complete'],
  ['integrating', 'conflicted', 'conflict_detected'],
  ['integrating', 'failed', `integration_error revision_required rejected gate_rejected_by_human ${ENDED}`],
  ['conflicted', 'closed', 'conflict_resolved'],
  ['conflicted', 'failed', `conflict_unresolvable conflict_timeout ${ENDED}`],
]

const STATES = Object.keys(TRANSITIONS) as WorkspaceState[]

test('W-LIFE-02 of the 81 ordered pairs of states exactly the 22 of W-LIFE-02 exist, with their triggers', () => {
  expect(PAIRS).toHaveLength(22)
  expect(STATES).toHaveLength(9)
  for (const from of STATES) {
    for (const to of STATES) {
      const row = PAIRS.find(pair => pair[0] === from && pair[1] === to)
      const triggers = TRANSITIONS[from][to]
      expect(triggers?.toSorted(), `${from} → ${to}`).toEqual(row?.[2].split(' ').toSorted())
      if (!row) expect(isTransition(from, to, 'aborted_by_coordinator')).toBe(false)
    }
  }
  expect(isTransition('active', 'failed', 'agent_started')).toBe(false)
})

/**
 * Rows of W-LIFE-04, as the sheet has them; its one column `terminal` stands for both. Of a clock it says `paused`,
 * `stopped` or `no` where it stands still: here that is one word.
 */
const SHEET = `
|                              | idle     | active   | blocked  | suspended | migrating | integrating         | conflicted          | closed  | failed  |
| Envelope passes target check | yes      | yes      | yes      | yes       | yes       | no                  | no                  | no      | no      |
| Envelope placed in inbox now | yes      | yes      | yes      | held      | held      | n/a                 | n/a                 | n/a     | n/a     |
| Agent consumes inbox         | no       | yes      | yes      | no        | no        | no                  | no                  | no      | no      |
| Agent sends envelopes        | no       | yes      | yes      | no        | no        | no                  | no                  | no      | no      |
| Agent creates checkpoints    | no       | yes      | no       | no        | no        | no                  | no                  | no      | no      |
| Agent writes working memory  | no       | yes      | yes      | no        | no        | no                  | no                  | no      | no      |
| Agent signals                | recorded | recorded | recorded | refused   | refused   | recorded, no effect | recorded, no effect | late    | late    |
| Delegate creates children    | no       | yes      | no       | no        | no        | no                  | no                  | no      | no      |
| Timeout clock                | no       | runs     | runs     | no        | no        | no                  | runs                | no      | no      |
| Meter wall_time              | no       | runs     | runs     | no        | no        | no                  | no                  | no      | no      |
| Meter compute_time           | no       | runs     | no       | no        | no        | no                  | no                  | no      | no      |
| Liveness clock               | no       | runs     | runs     | no        | no        | no                  | no                  | no      | no      |
| Budget raise                 | yes      | yes      | yes      | no        | no        | no                  | no                  | no      | no      |
| Suspend                      | no       | yes      | yes      | no        | no        | no                  | no                  | no      | no      |
| Migrate                      | no       | yes      | yes      | no        | no        | no                  | no                  | no      | no      |
| Graceful termination         | no       | yes      | yes      | no        | no        | no                  | no                  | no      | no      |
| Abort                        | yes      | yes      | yes      | yes       | yes       | yes                 | yes                 | no      | no      |
`

const HOUR = 3_600_000

type Column = Readonly<Record<string, string>>

function columns(): ReadonlyMap<WorkspaceState, Column> {
  const [head, ...rows] = SHEET.trim()
    .split('\n')
    .map(line =>
      line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim()),
    )
  return new Map(
    head!
      .slice(1)
      .map((state, index) => [
        state as WorkspaceState,
        Object.fromEntries(rows.map(row => [row[0]!, row[index + 1]!])),
      ]),
  )
}

/** Tries each row on a delegate in the state that is asked about, the rows that move or end it last. */
async function tried(f: Fixture): Promise<Column> {
  const agent = f.agent('D')
  const word = (result: { readonly ok: boolean }) => (result.ok ? 'yes' : 'no')
  const clocks = await clocksOf(f)
  const raises = word(await f.root.raiseBudget(f.id('D'), { cost_limit: 2 }))
  const consumes = word(await agent.consume())
  const sends = word(await agent.send(f.mail('R', 'query')))
  const checkpoints = word(await f.checkpoint('D'))
  const memory = word(await agent.writeMemory('k', 1))
  const children = word(await agent.createWorkspace({ role: 'worker' }))
  const signals = await signalled(f)
  const suspends = word(await f.root.suspend(f.id('D'), 'paused'))
  if (suspends === 'yes') unwrap(await f.root.resume(f.id('D')))
  const terminates = word(await f.root.terminate(f.id('D'), 9 * HOUR, 'enough'))
  const migrates = word(await f.root.migrate(f.id('D'), 'another', 'move'))
  const mail = await f.root.send(f.mail('D', 'feedback'))
  await f.settle()
  const placed = mail.ok && (await f.run.read(run => run.envelopes.get(mail.value.envelope)?.status))
  const aborts = await f.root.abort(f.id('D'))
  return {
    'Envelope passes target check': word(mail),
    'Envelope placed in inbox now': placed ? (placed === 'acknowledged' ? 'yes' : 'held') : 'n/a',
    'Agent consumes inbox': consumes,
    'Agent sends envelopes': sends,
    'Agent creates checkpoints': checkpoints,
    'Agent writes working memory': memory,
    'Agent signals': signals,
    'Delegate creates children': children,
    ...clocks,
    'Budget raise': raises,
    Suspend: suspends,
    Migrate: migrates,
    'Graceful termination': terminates,
    Abort: word(aborts),
  }
}

/** Which clocks show that an hour went by. */
async function clocksOf(f: Fixture): Promise<Column> {
  const read = () =>
    f.run.read(run => {
      const workspace = run.workspaces.get(f.id('D'))!
      const { wall_time, compute_time } = viewMeter(workspace, f.run.now())
      // The watchdog of a workspace that is idle is another timer.
      const left = workspace.status === 'idle' ? 0 : timeoutLeft(workspace, f.run.now())!
      return { left, wall_time, compute_time, warned: workspace.lastEntry > workspace.lastActivity }
    })
  const before = await read()
  await f.advance(HOUR)
  const after = await read()
  const runs = (running: boolean) => (running ? 'runs' : 'no')
  return {
    'Timeout clock': runs(after.left < before.left),
    'Meter wall_time': runs(after.wall_time > before.wall_time),
    'Meter compute_time': runs(after.compute_time > before.compute_time),
    'Liveness clock': runs(after.warned),
  }
}

/** Says `complete` where that has no effect, and `escalation` where it would have one. */
async function signalled(f: Fixture): Promise<string> {
  await f.mark()
  const sealed = ['integrating', 'conflicted', 'closed', 'failed'].includes((await f.state('D')) ?? '')
  const result = await f.agent('D').emit({ type: sealed ? 'complete' : 'escalation', reason: 'x' })
  const types = (await f.added()).map(entry => `${entry.event_type} ${entry.workspace === null}`)
  if (refused(result) === 'permission_denied(frozen)') return 'refused'
  if (types.includes('signal_emitted true')) return types.length === 1 ? 'late' : types.join()
  expect(types).toEqual(['signal_emitted false', 'signal_delivered false'])
  return result.ok && result.value.outcome === 'absorbed' ? 'recorded, no effect' : 'recorded'
}

describe('W-LIFE-04 a workspace allows what its state allows, and nothing else', () => {
  test.each([...columns()])('%s', async (state, column) => {
    const f = await fixture()
    const draft = { delegate: true, timeout: 9 * HOUR, liveness_interval: HOUR / 2, budget: { cost_limit: 1 } }
    await (state === 'idle' ? f.workspace('D', draft) : f.worker('D', draft))
    await f.force('D', state)
    expect(await tried(f)).toEqual(column)
  })
})
