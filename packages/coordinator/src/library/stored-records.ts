// The library's records on disk, in order over all its runs: requests that are records themselves, and checkpoints of
// what was made. A record is one batch, so whatever is read here is whole.
import {
  compile,
  LIBRARY_RECORDS,
  type LibraryRecordType,
  type ObjectId,
  ParleyError,
  type RunId,
  Type,
  unwrap,
} from '@parley/core'
import { type CheckpointRecord, type EnvelopeRecord, isMade, type LibraryPart } from '@parley/kernel'
import type { Entry } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import type { RunsHost } from '../run/runs-host.ts'
import { libraryLimits } from './limits.ts'
import type { StoredRecord } from './stored-record.ts'

const made = compile(Type.Object({ by: Type.String({ minLength: 1 }), content: Type.String() }))
const asked = compile(Type.Object({ content: Type.String() }))

type Host = Pick<RunsHost, 'trail' | 'runtime'>

/** From a position on to the end as it is when that is reached. Throws where something cannot be read. */
export async function* storedRecords(host: Host, after: number): AsyncGenerator<StoredRecord> {
  for (const part of await host.runtime.library.parts(after)) {
    try {
      yield* recordsOf(host, part, Math.max(0, after - part.base))
    } finally {
      // Nothing of a run that is over stays in memory.
      if (!host.runtime.isAtWork(part.run)) await host.trail.release(part.run)
    }
  }
}

async function* recordsOf({ trail }: Host, { run, base }: LibraryPart, from: number): AsyncGenerator<StoredRecord> {
  for (let after = from, more = true; more; ) {
    const filter = { event_type: ['human_injection', 'checkpoint_created'], after, limit: libraryLimits.pageEntries }
    const page = unwrap(await trail.run(run).query(filter))
    if (page.partial) throw damaged(run, `${page.partial.join(', ')} cannot be read`)
    const places = page.entries.flatMap(placeOf)
    for (let first = 0; first < places.length; first += libraryLimits.readAhead) {
      const ahead = places.slice(first, first + libraryLimits.readAhead)
      const objects = ahead.map(({ object }) => trail.run(run).object(object))
      // What stands before one that cannot be read is read all the same.
      void Promise.allSettled(objects)
      for (const [index, { entry, type }] of ahead.entries()) {
        const { seq, timestamp } = entry
        yield { at: base + seq, type, timestamp, ...contentOf(run, entry, (await objects[index])?.value) }
      }
    }
    after = page.cursor
    more = page.more
  }
}

interface Place {
  readonly entry: Entry
  readonly type: LibraryRecordType
  readonly object: ObjectId
}

/** Which object holds the record, if an entry is one. */
function placeOf(entry: Entry): readonly Place[] {
  if (entry.event_type === 'checkpoint_created') {
    const { type, checkpoint_id } = entry.body as EventBody<'checkpoint_created'>
    return isRecordType(type) ? [{ entry, type, object: checkpoint_id as ObjectId }] : []
  }
  const { type, status, envelope_id } = entry.body as EventBody<'human_injection'>
  if (status !== 'delivered' || !isRecordType(type) || isMade(type)) return []
  return [{ entry, type, object: envelope_id as ObjectId }]
}

function contentOf(
  run: RunId,
  { event_type, actor, seq }: Entry,
  value: unknown,
): Pick<StoredRecord, 'by' | 'content'> {
  const { payload } = (value ?? {}) as Partial<CheckpointRecord | EnvelopeRecord>
  if (event_type === 'checkpoint_created' && made.is(payload)) return { by: payload.by, content: payload.content }
  if (event_type === 'human_injection' && asked.is(payload)) return { by: actor, content: payload.content }
  throw damaged(run, `what entry ${seq} refers to is not there, or is not what was written`)
}

function isRecordType(type: unknown): type is LibraryRecordType {
  return LIBRARY_RECORDS.some(each => each === type)
}

function damaged(run: RunId, what: string): ParleyError {
  return new ParleyError('trail_damaged', `${run} of the library cannot be read: ${what}.`, { details: { run } })
}
