// Rows that tests of time and budgets expect, and the second as their unit of time.
import { ticksPerMillisecond } from '@parley/core'
import { nextDue } from '../due/due.ts'
import type { Fixture, Row } from './fixture.ts'

/** Milliseconds. Entries take ticks, so that what is due at a second is due a few microseconds behind it. */
export const S = 1000

/** Lets time pass, with a stop at every moment at which something is due. */
export async function pass(f: Fixture, milliseconds: number): Promise<void> {
  const end = f.clock.now() + milliseconds * ticksPerMillisecond
  for (;;) {
    const next = (await f.run.read(run => nextDue(run))) ?? Number.POSITIVE_INFINITY
    const step = (Math.min(next, end) - f.clock.now()) / ticksPerMillisecond
    // An alarm that was set before the wall clock stepped rings later than the clock says.
    await f.advance(step > 0 ? step : 1)
    if (next > end) return
  }
}

/** The failure of a workspace that the runtime decides (W-LIFE-10). */
export function failedRows(
  name: string,
  from: string,
  reason: string,
  more: { readonly signal?: string; readonly dimension?: string; readonly parent?: string } = {},
): Row[] {
  const { signal = reason, dimension, parent = 'R' } = more
  return [
    ['signal_emitted', name, 'protocol', { signal_id: 'sig', from: name, type: 'failed', reason: signal }],
    [
      'workspace_state_changed',
      name,
      'protocol',
      {
        workspace_id: name,
        from_state: from,
        to_state: 'failed',
        trigger: reason,
        initiator: 'protocol',
        reason,
        ...(dimension !== undefined && { budget_dimension: dimension }),
      },
    ],
    ['signal_delivered', parent, 'protocol', { signal_id: 'sig', from: name, delivered_to: parent }],
  ]
}

export const warningRow = (name: string, dimension: string, consumed: number, limit = 100): Row => [
  'budget_warning',
  name,
  'protocol',
  { workspace_id: name, budget_dimension: dimension, consumed, limit, threshold_percent: 80 },
]

export function exceededRows(name: string, dimension: string, consumed: number, limit = 100, from = 'active'): Row[] {
  const body = { workspace_id: name, budget_dimension: dimension, consumed, limit }
  const signal = `budget_exceeded: ${JSON.stringify({ dimension, consumed, limit })}`
  return [
    ['budget_exceeded', name, 'protocol', body],
    ...failedRows(name, from, 'budget_exceeded', { signal, dimension }),
  ]
}

/** The entries since the last mark; all signals have one name. */
export async function addedRows(f: Fixture): Promise<readonly Row[]> {
  return (await f.added()).map(entry => {
    const row = f.row(entry)
    return row[3] && 'signal_id' in row[3] ? [...row.slice(0, 3), { ...row[3], signal_id: 'sig' }] : row
  }) as readonly Row[]
}
