// Signal events (wacp-mechanisms 1.5.3).
import { event, protocol, under } from './definition.ts'
import { Claim, Id, oneOf, optional, Text, Timestamp } from './fields.ts'
import * as names from './names.ts'

export const signalEvents = [
  event('signal_emitted', under('from'), ['role', 'system', 'protocol'], 'E', 1, {
    signal_id: Id,
    from: Id,
    type: oneOf(names.SIGNAL_TYPES),
    reason: optional(Text),
    // The agent's own word, never resolved (W-ID-05).
    ref: optional(Claim),
    // Of an `integrate` that begins a salvage (W-INT-19).
    mode: optional(oneOf(names.INTEGRATION_MODES)),
    timestamp: Timestamp,
  }),
  event('signal_delivered', under('delivered_to'), protocol, 'A', 1, {
    signal_id: Id,
    from: Id,
    delivered_to: Id,
    delivered_at: Timestamp,
  }),
] as const
