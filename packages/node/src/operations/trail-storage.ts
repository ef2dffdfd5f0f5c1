// /trail: the storage of runs that are over. What lies in which tier, taking runs out of the log, freezing one, and
// repairing the cold tier from its replica.
import { operation } from '@parley/call'
import type { Coordination } from '@parley/coordinator'
import { formatTimestamp, type Static, Type } from '@parley/core'
import type { TierFigures, Trail } from '@parley/trail'
import { nodeLimits } from '../limits.ts'
import { findRun } from './find-run.ts'
import { answered, Count, closed, forOwner, Nothing, RunText, refusals, told } from './spec.ts'

export interface TrailStorageDeps {
  readonly coordinator: Pick<Coordination, 'runs' | 'storage'>
  readonly trail: Trail
}

const Figures = Type.Object(
  {
    entries: Count,
    bytes: Type.Integer({ minimum: 0, description: 'On disk' }),
    runs: Count,
    oldest: Type.Union([Type.String(), Type.Null()], {
      description: 'When the oldest of these runs began; null where there is none',
    }),
  },
  closed,
)

const TiersSchema = Type.Object(
  {
    /** Runs that go on. */
    hot: Figures,
    /** Runs that are over, without what is in the cold tier. */
    warm: Figures,
    cold: Figures,
    deleted: Type.Integer({ minimum: 0, description: 'Entries that were deleted after their retention' }),
    unreadable: Type.Array(Type.String(), { description: 'Manifests that cannot be read' }),
    replica: Type.Union([
      Type.Null(),
      Type.Object(
        {
          folder: Type.String(),
          lacking: Type.Integer({ minimum: 0, description: 'Files of the cold tier that it lacks' }),
          problem: Type.Optional(Type.String({ description: 'Why it cannot be used' })),
        },
        closed,
      ),
    ]),
  },
  closed,
)

const CompactedSchema = Type.Object(
  {
    runs: Type.Array(
      Type.Object(
        {
          run: Type.String(),
          archived: Type.Integer({ minimum: 0, description: 'Entries that went to the cold tier' }),
          records: Type.Integer({ minimum: 0, description: 'Records that moved to files of the run' }),
        },
        closed,
      ),
    ),
    failed: Type.Array(Type.Object({ run: Type.String(), code: Type.String(), message: Type.String() }, closed)),
    freed: Type.Integer({ minimum: 0, description: 'Bytes of the log that were freed' }),
  },
  closed,
)

export function trailStorageService({ coordinator, trail }: TrailStorageDeps) {
  return {
    '/trail/tiers': operation(
      {
        name: '/trail/tiers',
        opType: 'query',
        description: 'What of the record lies in which tier, and how far the replica follows.',
        inputSchema: Nothing,
        outputSchema: TiersSchema,
        accessControl: forOwner,
        errorSchemas: refusals('trail_unavailable', 'trail_damaged'),
      },
      async () => {
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
    ),
    '/trail/compact': operation(
      {
        name: '/trail/compact',
        opType: 'mutation',
        description: 'Takes a run that is over out of the log, or all of them, without waiting for the delay.',
        inputSchema: Type.Object({ run: Type.Optional(RunText) }, closed),
        outputSchema: CompactedSchema,
        accessControl: forOwner,
        errorSchemas: refusals(
          'not_found',
          'ambiguous',
          'invalid_state',
          'replica_unavailable',
          'trail_unavailable',
          'trail_full',
          'trail_damaged',
        ),
      },
      async ({ run: text }) => {
        const run = text === undefined ? undefined : answered(await told(findRun(text, coordinator, trail)))
        const { runs, failed, freed } = answered(await told(coordinator.storage.compact(run)))
        return {
          runs: runs.map(({ run, archived, moved }) => ({ run, archived, records: moved.records })),
          failed: failed.map(each => ({ ...each })),
          freed,
        }
      },
    ),
    '/trail/snapshot': operation(
      {
        name: '/trail/snapshot',
        opType: 'mutation',
        description:
          'Freezes a run that is over as one file that is never written again, once its chain is verified up to there.',
        inputSchema: Type.Object(
          {
            run: RunText,
            up_to: Type.Optional(Type.Integer({ minimum: 1, description: 'The last entry; the newest by default' })),
          },
          closed,
        ),
        outputSchema: Type.Object(
          {
            run: Type.String(),
            snapshot: Type.String(),
            up_to: Count,
            entries: Count,
            head: Type.String({ description: 'The hash of the last entry in it' }),
          },
          closed,
        ),
        accessControl: forOwner,
        errorSchemas: refusals(
          'not_found',
          'ambiguous',
          'invalid_state',
          'replica_unavailable',
          'trail_unavailable',
          'trail_full',
          'trail_damaged',
        ),
      },
      async ({ run: text, up_to }) => {
        const run = answered(await told(findRun(text, coordinator, trail)))
        const taken = answered(await told(coordinator.storage.snapshot(run, up_to)))
        return {
          run,
          snapshot: taken.snapshot_id,
          up_to: taken.up_to,
          entries: taken.entry_count,
          head: taken.head_hash,
        }
      },
    ),
    '/trail/restore': operation(
      {
        name: '/trail/restore',
        opType: 'mutation',
        description:
          'Puts back from the replica what is missing or damaged in the cold tier, each file checked first, and copies to it what it lacks.',
        inputSchema: Nothing,
        outputSchema: Type.Object(
          {
            restored: Type.Array(Type.String(), { description: 'Files of the trail that were put back' }),
            lost: Type.Array(Type.String(), { description: 'Files that are sound nowhere' }),
            replicated: Type.Integer({ minimum: 0, description: 'Files that the replica got' }),
          },
          closed,
        ),
        accessControl: forOwner,
        errorSchemas: refusals('replica_unavailable', 'trail_unavailable', 'trail_full'),
      },
      async () => {
        const { restored, lost } = await told(trail.storage.restore())
        const replicated = lost.length === 0 ? await told(trail.storage.replicate()) : 0
        return { restored: [...restored], lost: [...lost], replicated }
      },
    ),
  }
}

function figures({ oldest, ...rest }: TierFigures): Static<typeof Figures> {
  return { ...rest, oldest: oldest === null ? null : formatTimestamp(oldest) }
}
