// What a seed decides once and for all: how bad the weather is, how small the limits, which people there are and how
// they answer, which vocabulary the runs have.
import { type RuntimeOptions, referenceTaxonomy } from '@parley/kernel'
import type { Capability, UserState } from '@parley/trail/events'
import type { MemoryStoreOptions } from '@parley/trail/testing'
import type { Dice } from '../random.ts'
import type { Weather } from './transport.ts'

type UserDirectory = Exclude<NonNullable<RuntimeOptions['users']>, 'house'>

export interface Config extends Weather {
  readonly runtime: Pick<
    RuntimeOptions,
    'redeliveryBase' | 'commitRetries' | 'houseEntries' | 'observersReadGlobally' | 'escalationQueue' | 'capacity'
  > & { readonly redeliveryBase: number } & Required<Pick<RuntimeOptions, 'users' | 'secret'>>
  readonly store: MemoryStoreOptions
  /** Whether anybody who is let in may do everything, the house knows who may, or the host does. */
  readonly people: 'anyone' | 'house' | 'host'
  /** How often somebody answers who could, 0 to 1. */
  readonly humans: number
  /** How often a coordinator decides what fell to it, 0 to 1. */
  readonly coordinators: number
  /** Records move between tiers while runs go on. */
  readonly tiers: boolean
  /** Every entry is signed, with keys that change. */
  readonly signed: boolean
  /** Entries after which a run's state is kept; 0 keeps none. */
  readonly keptEvery: number
}

export const PEOPLE = ['ux', 'uy', 'uz', 'uw'] as const

/**
 * The people whom a host knows: one who may everything, one who may what is their own, one who is away, one who is
 * gone.
 */
const STATES: Readonly<Record<string, UserState>> = {
  ux: 'active',
  uy: 'active',
  uz: 'suspended',
  uw: 'deactivated',
}

export const HOST_DIRECTORY: UserDirectory = {
  stateOf: user => STATES[user],
  holds: (user, capability) => user === 'ux' || (user in STATES && isOwn(capability)),
}

/** Everybody who is let in may do everything. */
export const EVERYONE: UserDirectory = { stateOf: () => 'active', holds: () => true }

/** Proofs are made from it; the level that the runtime claims needs them. */
export const SECRET = new Uint8Array(32).fill(7)

function isOwn(capability: Capability): boolean {
  return !capability.endsWith('_any') && capability !== 'deactivate_user' && capability !== 'transfer_ownership'
}

export function configOf(dice: Dice): Config {
  const people = dice.pick(['anyone', 'house', 'house', 'host'] as const)
  const users = people === 'anyone' ? EVERYONE : people === 'house' ? 'house' : HOST_DIRECTORY
  const signals = dice.chance(0.35)
  const trouble = dice.pick([0, 0.05, 0.2, 0.6])
  const humans = dice.pick([0, 0.3, 1, 1])
  const coordinators = dice.pick([0, 0.5, 1])
  const keptEvery = dice.pick([0, 0, 30])
  return {
    signals,
    trouble,
    people,
    humans,
    coordinators,
    keptEvery,
    tiers: dice.chance(0.5),
    signed: dice.chance(0.2),
    runtime: {
      redeliveryBase: dice.pick([200, 1000]),
      commitRetries: dice.pick([[], [50], [50, 100, 200]]),
      houseEntries: dice.pick([8, 40, 1_000_000]),
      observersReadGlobally: dice.chance(0.3),
      users,
      secret: SECRET,
      ...(dice.chance(0.5) && { escalationQueue: dice.pick([1, 2, 5]) }),
      ...(dice.chance(0.2) && { capacity: { shortage: open => (open > 12 ? SHORTAGE : {}) } }),
    },
    store: dice.pick([
      { firstSegmentBytes: 32 * 1024, segmentBytes: 128 * 1024 },
      { firstSegmentBytes: 8 * 1024, segmentBytes: 32 * 1024 },
    ]),
  }
}

const SHORTAGE = { compute: { needed: 1, available: 0 } }

/** The reference vocabulary, and mail between workers: it takes a type of its own and a right. */
export const PEERS: typeof referenceTaxonomy = {
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
