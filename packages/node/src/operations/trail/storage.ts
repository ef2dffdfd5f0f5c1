import { formatTimestamp, type Static, type Ticks, Type } from '@parley/core'
import { nodeLimits } from '../../limits.ts'
import { object } from '../../object.ts'
import type { OperationDeps } from '../deps.ts'
import { answerOf, Count, count, FOUND, findRun, mutation, Nothing, orNull, query, RunText, told } from '../spec.ts'

const STORING = [
  ...FOUND,
  'invalid_state',
  'replica_unavailable',
  'trail_unavailable',
  'trail_full',
  'trail_damaged',
] as const

const Figures = object({
  entries: Count,
  bytes: count('On disk'),
  runs: Count,
  oldest: orNull(Type.String(), 'When the oldest of these runs began; null where there is none'),
})

const TiersSchema = object({
  /** Runs that go on. */
  hot: Figures,
  /** Runs that are over, without what is in the cold tier. */
  warm: Figures,
  cold: Figures,
  deleted: count('Entries that were deleted after their retention'),
  unreadable: Type.Array(Type.String(), { description: 'Manifests that cannot be read' }),
  replica: Type.Union([
    Type.Null(),
    object({
      folder: Type.String(),
      lacking: count('Files of the cold tier that it lacks'),
      problem: Type.Optional(Type.String({ description: 'Why it cannot be used' })),
    }),
  ]),
})

const CompactedSchema = object({
  runs: Type.Array(
    object({
      run: Type.String(),
      archived: count('Entries that went to the cold tier'),
      records: count('Records that moved to files of the run'),
    }),
  ),
  failed: Type.Array(object({ run: Type.String(), code: Type.String(), message: Type.String() })),
  freed: count('Bytes of the log that were freed'),
})

export function trailStorageService(deps: OperationDeps) {
  const { coordinator, trail } = deps
  return {
    '/trail/tiers': query({
      description: 'What of the record lies in which tier, and how far the replica follows.',
      input: Nothing,
      output: TiersSchema,
      refuses: ['trail_unavailable', 'trail_damaged'],
      handle: async () => {
        const { hot, warm, cold, deleted, unreadable, replica } = await told(trail.tiers())
        return {
          hot: figures(hot),
          warm: figures(warm),
          cold: figures(cold),
          deleted,
          unreadable: unreadable.slice(0, nodeLimits.pageEntries),
          replica: replica && {
            folder: replica.name,
            lacking: replica.lacking,
            ...(replica.problem !== undefined && { problem: replica.problem }),
          },
        }
      },
    }),
    '/trail/compact': mutation({
      description: 'Takes a run that is over out of the log, or all of them, without waiting for the delay.',
      input: object({ run: Type.Optional(RunText) }),
      output: CompactedSchema,
      refuses: STORING,
      handle: async ({ run: text }) => {
        const run = text === undefined ? undefined : await findRun(text, deps)
        const { runs, failed, freed } = await answerOf(coordinator.storage.compact(run))
        return {
          runs: runs.map(({ run, archived, moved }) => ({ run, archived, records: moved.records })),
          failed,
          freed,
        }
      },
    }),
    '/trail/snapshot': mutation({
      description:
        'Freezes a run that is over as one file that is never written again, once its chain is verified up to there.',
      input: object({
        run: RunText,
        up_to: Type.Optional(Type.Integer({ minimum: 1, description: 'The last entry; the newest by default' })),
      }),
      output: object({
        run: Type.String(),
        snapshot: Type.String(),
        up_to: Count,
        entries: Count,
        head: Type.String({ description: 'The hash of the last entry in it' }),
      }),
      refuses: STORING,
      handle: async ({ run: text, up_to }) => {
        const run = await findRun(text, deps)
        const taken = await answerOf(coordinator.storage.snapshot(run, up_to))
        return {
          run,
          snapshot: taken.snapshot_id,
          up_to: taken.up_to,
          entries: taken.entry_count,
          head: taken.head_hash,
        }
      },
    }),
    '/trail/restore': mutation({
      description:
        'Puts back from the replica what is missing or damaged in the cold tier, each file checked first, and copies to it what it lacks.',
      input: Nothing,
      output: object({
        restored: Type.Array(Type.String(), { description: 'Files of the trail that were put back' }),
        lost: Type.Array(Type.String(), { description: 'Files that are sound nowhere' }),
        replicated: count('Files that the replica got'),
      }),
      refuses: ['replica_unavailable', 'trail_unavailable', 'trail_full'],
      handle: async () => {
        const { restored, lost } = await told(trail.storage.restore())
        const replicated = lost.length === 0 ? await told(trail.storage.replicate()) : 0
        return { restored, lost, replicated }
      },
    }),
  }
}

function figures({
  oldest,
  ...rest
}: Omit<Static<typeof Figures>, 'oldest'> & { readonly oldest: Ticks | null }): Static<typeof Figures> {
  return { ...rest, oldest: oldest === null ? null : formatTimestamp(oldest) }
}
