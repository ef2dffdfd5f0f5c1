import type { WorkspaceId } from '@parley/core'
import { expect, test } from 'vitest'
import type { Entry } from '../entry.ts'
import { CausalOrder } from './causality.ts'

function entry(seq: number, workspace: string | null, event_type: string, body: object = {}): Entry {
  return { seq, workspace: workspace as WorkspaceId | null, event_type, body } as Entry
}

test('W-CLOCK-06 each of the four links orders two workspaces, and nothing else does', () => {
  const links = [
    ['envelope_created', { envelope_id: 'x' }, 'envelope_delivered', { envelope_id: 'x' }],
    ['signal_emitted', { signal_id: 'x' }, 'signal_delivered', { signal_id: 'x' }],
    ['checkpoint_created', { checkpoint_id: 'x' }, 'integration_started', { checkpoint_ref: 'x' }],
    ['gate_triggered', { gate_id: 'x' }, 'gate_resolved', { gate_id: 'x' }],
  ] as const
  for (const [cause, causeBody, effect, effectBody] of links) {
    const order = new CausalOrder([entry(1, 'a', cause, causeBody), entry(2, 'b', effect, effectBody)])
    expect(order.relation(1, 2), cause).toBe('before')
  }
  const unlinked = new CausalOrder([
    entry(1, 'a', 'envelope_created', { envelope_id: 'x' }),
    entry(2, 'b', 'envelope_delivered', { envelope_id: 'y' }),
  ])
  expect(unlinked.relation(1, 2)).toBe('concurrent')
})

test('W-CLOCK-06 the order is transitive, and follows seq inside one workspace', () => {
  const order = new CausalOrder([
    entry(1, 'a', 'checkpoint_created'),
    entry(2, 'a', 'envelope_created', { envelope_id: 'x' }),
    entry(3, 'c', 'checkpoint_created'),
    entry(4, 'b', 'envelope_delivered', { envelope_id: 'x' }),
    entry(5, 'b', 'checkpoint_created'),
    entry(6, null, 'user_created'),
  ])
  expect(order.relation(1, 5)).toBe('before')
  expect(order.relation(5, 1)).toBe('after')
  expect(order.relation(3, 5)).toBe('concurrent')
  expect(order.relation(6, 5)).toBe('concurrent')
  expect(order.relation(4, 4)).toBe('same')
})
