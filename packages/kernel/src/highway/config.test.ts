import { unwrap } from '@parley/core'
import { GATE_TYPES } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { graphOf } from '../testing/tasks.ts'
import { expandHighway, type Highway } from './config.ts'

/** The gates that are on, as the table of W-HWY-14 says them, and the escalation. */
function told({ gates, escalation, visibility, injection }: Highway): Record<string, unknown> {
  const on = GATE_TYPES.filter(type => gates[type].on)
  return {
    ...Object.fromEntries(on.map(type => [type, [gates[type].timeout, gates[type].fallback]])),
    escalation: [escalation.enabled, escalation.timeout, escalation.fallback],
    open: [visibility, injection],
  }
}

test('W-HWY-01 a configuration that says what nobody knows is refused as a whole: no run, no entry', async () => {
  for (const unknown of [
    { gate_overrides: { integration: { fallback: 'retry' } } },
    { escalation: { fallback: 'escalate_to_coordinator' } },
    { gate: {} },
    7,
  ]) {
    const f = await fixture()
    expect(refused(await f.runtime.start({ owner: 'ux', highway: unknown as never }))).toBe('invalid_argument')
    expect(f.runtime.active).toEqual([f.run.id])
  }
})

test('W-HWY-15 explicit fields replace the values of a preset one by one, per gate type', () => {
  const highway = unwrap(
    expandHighway({
      preset: 'supervised',
      visibility: false,
      injection: false,
      gates: { task_approval: false, workspace_abort: true },
      gate_defaults: { timeout: 1000 },
      gate_overrides: { workspace_abort: { fallback: 'approve' } },
      escalation: { timeout: null },
    }),
  )
  expect(told(highway)).toEqual({
    integration: [1000, 'escalate_to_coordinator'],
    workspace_abort: [1000, 'approve'],
    escalation: [true, null, 'reject'],
    open: [false, false],
  })
})

test('W-HWY-14 what the presets mean by short and medium is configurable', () => {
  const times = { short: 10, medium: 20 }
  expect(told(unwrap(expandHighway({ preset: 'autonomous', times })))).toMatchObject({
    task_approval: [10, 'approve'],
    escalation: [true, 10, 'delegate_to_coordinator'],
  })
  expect(told(unwrap(expandHighway({ times: { medium: 20 } })))).toMatchObject({
    task_approval: [20, 'escalate_to_coordinator'],
  })
})

test('W-CLOCK-08 a time that is no positive whole number is refused as a duration (the configuration part)', () => {
  for (const highway of [
    { gate_defaults: { timeout: -1 } },
    { gate_overrides: { integration: { timeout: 1.5 } } },
    { escalation: { timeout: 0 } },
    { times: { short: -1 } },
  ])
    expect(refused(expandHighway(highway))).toBe('invalid_argument(invalid_duration)')
})

test('W-HWY-01 a run keeps its configuration over a restart; one without a highway stores nothing', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: { preset: 'supervised', injection: false } } })
  const before = await f.run.read(run => run.highway)
  expect(before).toEqual(unwrap(expandHighway({ preset: 'supervised', injection: false })))
  await f.restart()
  expect(await f.run.read(run => run.highway)).toEqual(before)
  const off = await fixture()
  await graphOf(off, { T: {} })
  expect(await off.run.read(run => [run.highway.enabled, run.gates.size])).toEqual([false, 0])
  expect((await off.run.entries()).some(entry => entry.event_type.startsWith('gate_'))).toBe(false)
})
