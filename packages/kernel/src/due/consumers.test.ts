// One of each of the six that wait for their time (W-CLOCK-05): none depends on an agent, a person or a carrier doing anything.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { pass, S } from '../testing/budgets.ts'
import { refused } from '../testing/fixture.ts'
import { carriedFixture } from '../testing/transport.ts'

test('WM-030 timeout, compute budget, silence, redelivery, gate and escalation each act when their time has come', async () => {
  const { f, transport } = await carriedFixture({
    run: {
      highway: {
        gates: { task_approval: false, workspace_abort: true },
        gate_defaults: { timeout: 40 * S, fallback: 'reject' },
        escalation: { timeout: 50 * S, fallback: 'reject' },
      },
    },
  })
  await f.worker('timeout', { timeout: 10 * S })
  await f.worker('compute', { budget: { compute_budget: { compute_timeout: 20 * S } } })
  await f.worker('silence', { liveness_interval: 30 * S })
  await f.worker('mail')
  await f.worker('gate')
  await f.worker('escalation')
  await f.mark()
  transport.begin(f.clock, () => 'drop')
  const mail = unwrap(await f.root.feedback(f.id('mail'), { format: 'markdown', content: 'lost' }))
  expect(refused(await f.root.abort(f.id('gate')))).toBe('gated')
  unwrap(await f.agent('escalation').escalate('which way?'))
  await f.mark()
  const seen: string[] = []
  const look = async (until: number) => {
    await pass(f, until * S - seconds)
    seconds = until * S
    for (const entry of await f.added()) {
      const { trigger, reason } = entry.body as { trigger?: string; reason?: string }
      const subject = entry.workspace === null ? '' : f.nameOf(entry.workspace)
      seen.push([until, entry.event_type, subject, trigger ?? reason].filter(Boolean).join(' '))
    }
  }
  let seconds = 0
  for (const until of [9, 11, 15, 21, 29, 31, 39, 41, 49, 51]) await look(until)
  const acts = seen.filter(line => !/signal_|liveness_warning (?!silence)/.test(line))
  expect(acts).toEqual([
    '9 envelope_undeliverable R delivery_exhausted',
    '11 workspace_state_changed timeout timeout',
    '21 budget_warning compute',
    '21 budget_exceeded compute',
    '21 workspace_state_changed compute budget_exceeded',
    '31 liveness_warning silence',
    '41 gate_timeout gate',
    '41 gate_resolved gate',
    '51 escalation_timeout escalation',
    '51 escalation_resolved escalation',
    '51 workspace_state_changed escalation escalation_timeout',
  ])
  expect(transport.times(mail.envelope)).toEqual([0, 1 * S, 3 * S, 6 * S])
})
