// Integration events (wacp-mechanisms 1.5.7).
import { event, initiator } from './definition.ts'
import { Count, Id, Name, nullable, ObjectRef, oneOf, optional, Text, Timestamp, UserId } from './fields.ts'
import * as names from './names.ts'

const merge = { under: 'merge', source: 'source', target: 'target' } as const

const Mode = oneOf(names.INTEGRATION_MODES)
const Strategy = oneOf(names.INTEGRATION_STRATEGIES)

/** What every row says of the integration. */
const attempt = { source: Id, target: Id, mode: Mode, timestamp: Timestamp }

export const integrationEvents = [
  event('integration_started', merge, initiator, 'E', 1, {
    ...attempt,
    owner: UserId,
    strategy: Strategy,
    checkpoint_ref: nullable(Id),
    order_index: optional(Count),
    order_basis: optional(Name),
  }),
  event('integration_completed', merge, initiator, 'E', 1, {
    ...attempt,
    strategy: Strategy,
    result: oneOf(names.INTEGRATION_RESULTS),
    result_ref: optional(ObjectRef),
  }),
  event('integration_aborted', merge, initiator, 'E', 1, {
    ...attempt,
    reason: Text,
  }),
] as const
