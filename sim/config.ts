// What a seed decides once and for all: how bad the weather is, how small the limits, which vocabulary the runs have.
import { type RuntimeOptions, referenceTaxonomy, type Taxonomy } from '@parley/kernel'
import type { MemoryStoreOptions } from '@parley/trail'
import type { UserState } from '@parley/trail/events'
import type { Dice } from './random.ts'
import type { Weather } from './transport.ts'

export interface Config extends Weather {
  readonly runtime: Pick<
    RuntimeOptions,
    'redeliveryBase' | 'commitRetries' | 'houseEntries' | 'observersReadGlobally' | 'users'
  > & { readonly redeliveryBase: number }
  readonly store: MemoryStoreOptions
}

const USERS: Readonly<Record<string, UserState>> = { ux: 'active', uy: 'active', uz: 'suspended' }

export function configOf(dice: Dice): Config {
  return {
    signals: dice.chance(0.35),
    trouble: dice.pick([0, 0.05, 0.2, 0.6]),
    runtime: {
      redeliveryBase: dice.pick([200, 1000]),
      commitRetries: dice.pick([[], [50], [50, 100, 200]]),
      houseEntries: dice.pick([8, 40, 1_000_000]),
      observersReadGlobally: dice.chance(0.3),
      ...(dice.chance(0.3) && { users: { stateOf: (user: string) => USERS[user] } }),
    },
    store: dice.pick([
      { firstSegmentBytes: 32 * 1024, segmentBytes: 128 * 1024 },
      { firstSegmentBytes: 8 * 1024, segmentBytes: 32 * 1024 },
    ]),
  }
}

/** The reference vocabulary, and mail between workers: it takes a type of its own and a right. */
export const PEERS: Taxonomy = {
  ...referenceTaxonomy,
  id: 'sim',
  envelope_types: [
    ...referenceTaxonomy.envelope_types,
    {
      name: 'note',
      description: 'From worker to worker',
      permissions: [
        { sender_role: 'worker', receiver_role: 'worker' },
        { sender_role: 'coordinator', receiver_role: 'worker' },
      ],
    },
  ],
}
