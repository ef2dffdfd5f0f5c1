// /trail: reading, following, verifying and exporting the record. The owner reads everything, as the node itself does.
import { hash } from 'node:crypto'
import { canonicalize, type RunId, refuse, type Static, Type } from '@parley/core'
import {
  type Entry,
  type QueryPage,
  type ReadableRun,
  RUNTIME,
  TrailFilterSchema,
  type VerifyReport,
} from '@parley/trail'
import { nodeLimits } from '../../limits.ts'
import { object } from '../../object.ts'
import type { OperationDeps } from '../deps.ts'
import { knownTypes } from '../entry-types.ts'
import {
  answered,
  answerOf,
  Count,
  FOUND,
  findRun,
  orNull,
  query,
  RunText,
  streamed,
  subscription,
  told,
  UNREADABLE,
} from '../spec.ts'
import { Head, RunHeadSchema } from './file.ts'

/** An entry as the global scope shows it; the event registry says what its body holds. */
const EntrySchema = Type.Unsafe<Entry>({ type: 'object', required: ['seq', 'id', 'event_type', 'body'] })

const PageSchema = object({
  run: Type.String(),
  entries: Type.Array(EntrySchema),
  /** `after` for the next page. */
  cursor: Count,
  more: Type.Boolean(),
  partial: Type.Optional(Type.Array(Type.String())),
})

const FindingSchema = object({
  seq: Count,
  entry: orNull(Type.String()),
  damage: Type.String(),
  violation: Type.String(),
  message: Type.String(),
  expected: Type.String(),
  actual: Type.String(),
})

const ReportSchema = object({
  /** Nothing was found in any of them. */
  sound: Type.Boolean(),
  runs: Type.Array(
    object({
      run: Type.String(),
      entries: Count,
      head: Type.Optional(object(Head)),
      /** The first one, and as many more as fit; a run is looked through until a thousand are found. */
      findings: Type.Array(FindingSchema),
      findings_total: Count,
    }),
  ),
  /** Places of the storage that cannot be read at all. */
  unreadable: Type.Array(Type.String()),
  unreadable_total: Count,
})

export function trailService({ coordinator, trail }: OperationDeps) {
  const found = (text: string) => findRun(text, { coordinator, trail })
  return {
    '/trail/query': query({
      description: 'A page of entries of a run that fit all filters.',
      input: object({
        run: RunText,
        ...TrailFilterSchema.properties,
        after: Type.Optional(Count),
        order: Type.Optional(Type.Enum(['ascending', 'descending'])),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: nodeLimits.pageEntries })),
      }),
      output: PageSchema,
      refuses: [...FOUND, 'invalid_query', ...UNREADABLE],
      handle: async ({ run: text, limit = nodeLimits.pageEntries, ...query }) => {
        const run = await found(text)
        await answerOf(knownTypes(trail.readable(run), query))
        const page = await answerOf(trail.readable(run).query({ ...query, limit }, RUNTIME))
        return { run, ...pageView(page) }
      },
    }),
    '/trail/watch': subscription({
      description: 'Pages of entries as they become durable, from behind a cursor and without end.',
      input: object({ run: RunText, ...TrailFilterSchema.properties, after: Type.Optional(Count) }),
      output: PageSchema,
      refuses: [...FOUND, 'invalid_query', ...UNREADABLE],
      async *handle({ run: text, ...filter }, { signal }) {
        const run = await found(text)
        await answerOf(knownTypes(trail.readable(run), filter))
        for await (const page of streamed(trail.readable(run).watch(filter, RUNTIME, signal)))
          yield { run, ...pageView(page) }
      },
    }),
    '/trail/verify': query({
      description: 'Recomputes hashes, links and signatures from the stored bytes, of one run or of all.',
      input: object({
        run: Type.Optional(RunText),
        /** Heads that are known from elsewhere: kept from `/trail/heads`, or from an export. */
        expect: Type.Optional(Type.Array(RunHeadSchema, { maxItems: nodeLimits.expectedHeads })),
      }),
      output: ReportSchema,
      refuses: [...FOUND, 'invalid_argument', 'trail_unavailable', 'trail_damaged'],
      handle: async ({ run: text, expect = [] }) => {
        const heads = expect.map(head => ({ ...head, run: head.run as RunId }))
        if (text === undefined) {
          const { runs, unreadable } = await told(trail.verifyAll({ knownHeads: heads }))
          return report(runs, unreadable)
        }
        const run = await found(text)
        if (heads.some(head => head.run !== run))
          answered(refuse('invalid_argument', `A head of another run says nothing about ${run}; leave the run out.`))
        return report([await told(trail.readable(run).verify({ knownHeads: heads }))], [])
      },
    }),
    '/trail/export': subscription({
      description:
        'A run as lines of text: a header with run, head, count and public key, then the canonical global view of every entry, whose SHA-256 is the entry’s hash.',
      input: object({ run: RunText }),
      output: object({ lines: Type.Array(Type.String()) }),
      refuses: [...FOUND, ...UNREADABLE],
      async *handle({ run: text }, { signal }) {
        const run = await found(text)
        const summary = (await trail.runs()).find(each => each.run === run)
        if (!summary) answered(refuse('not_found', `The trail has no entries of ${run}.`))
        else yield* streamed(exported(trail.readable(run), summary, signal))
      },
    }),
  }
}

/**
 * The trail bounds a page in bytes as well, so that it fits into a frame. What a reader was denied is the runtime's to
 * record.
 */
function pageView({ entries, cursor, more, partial }: QueryPage) {
  return { entries: [...entries], cursor, more, ...(partial && { partial: [...partial] }) }
}

/** Bounded, so that it fits into an answer: the first finding of each run is always there. */
export function report(runs: readonly VerifyReport[], unreadable: readonly string[]): Static<typeof ReportSchema> {
  let left = nodeLimits.reportFindings
  const taken = (count: number) => {
    const more = Math.min(Math.max(0, count - 1), left)
    left -= more
    return Math.min(count, 1 + more)
  }
  return {
    sound: unreadable.length === 0 && runs.every(({ findings }) => findings.length === 0),
    runs: runs.map(({ run, entries, head, findings }) => ({
      run,
      entries,
      ...(head && { head: { seq: head.seq, hash: head.hash } }),
      findings: findings.slice(0, taken(findings.length)).map(finding => ({ ...finding })),
      findings_total: findings.length,
    })),
    unreadable: unreadable.slice(0, nodeLimits.reportPlaces),
    unreadable_total: unreadable.length,
  }
}

interface TrailHead {
  readonly seq: number
  readonly hash: string
  readonly entries: number
}

/** What was there when the export began; what is appended meanwhile is left to the next one. */
async function* exported(
  run: ReadableRun,
  summary: TrailHead,
  signal: AbortSignal,
): AsyncGenerator<{ lines: string[] }> {
  const last = answered(await run.query({ after: summary.seq - 1, limit: 1 })).entries[0]
  const { signature, signer } = last?.integrity ?? {}
  const header = {
    format: 'parley-trail/1',
    run: run.id,
    // The head's hash covers the whole chain, so its signature does.
    head: { seq: summary.seq, hash: summary.hash, ...(signature !== undefined && { signature }) },
    count: summary.entries,
    public_key: signer ?? null,
  }
  yield { lines: [JSON.stringify(header)] }
  let after = 0
  while (!signal.aborted) {
    const page = answered(await run.query({ after, limit: nodeLimits.pageEntries }))
    const wanted = page.entries.filter(({ seq }) => seq <= summary.seq)
    if (wanted.length > 0) yield { lines: wanted.map(globalView) }
    if (!page.more || page.cursor >= summary.seq) return
    after = page.cursor
  }
}

/** The bytes that were hashed. A line that does not give its hash again is not handed out. */
function globalView({ seq, integrity, ...entry }: Entry): string {
  const { algorithm, local_hash, entry_hash } = integrity
  const view = canonicalize({
    ...entry,
    integrity: { algorithm, ...(local_hash !== undefined && { local_hash }) },
  })
  if (hash('sha256', view, 'hex') === entry_hash) return view
  return answered(refuse('trail_damaged', `Entry ${seq} (${entry.id}) does not match its hash. Verify the run.`))
}
