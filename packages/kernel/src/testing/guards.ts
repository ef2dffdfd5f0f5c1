// What a runtime takes from level 2 on, for tests that are about something else.
import type { UserDirectory } from '../batch.ts'

/** Everybody is known and may do everything. */
export const EVERYBODY: UserDirectory = { stateOf: () => 'active', holds: () => true }

export const GUARDS = { secret: new Uint8Array(32).fill(42), users: EVERYBODY } as const
