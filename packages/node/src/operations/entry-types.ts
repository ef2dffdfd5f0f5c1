// The types of entries that a query names. A slip of the fingers would find nothing and look like an answer, so it is
// refused; a name that the registry does not know is taken where the run has such entries: one that was imported may
// come from a version with more of them.
import { nearest, ok, type Result, refuse } from '@parley/core'
import { type ReadableRun, RUNTIME, type TrailFilter } from '@parley/trail'
import { EVENT_TYPES, isEventType } from '@parley/trail/events'

/** Refuses with `invalid_query`, and with what keeps the run from being read. */
export async function knownTypes(
  run: ReadableRun,
  { event_type: given = [] }: Pick<TrailFilter, 'event_type'>,
): Promise<Result<void>> {
  for (const name of typeof given === 'string' ? [given] : given) {
    if (isEventType(name)) continue
    const found = await run.query({ event_type: name, limit: 1 }, RUNTIME)
    if (!found.ok) return found
    if (found.value.entries.length === 0) return unknown(run, name)
  }
  return ok(undefined)
}

function unknown({ id }: ReadableRun, name: string): Result<never> {
  const meant = EVENT_TYPES.find(each => name.length > 1 && each.startsWith(name)) ?? nearest(name, EVENT_TYPES)
  const hint = meant === undefined ? '' : ` Did you mean '${meant}'?`
  const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name
  return refuse('invalid_query', `'${shown}' is not a type of entry, and ${id} has none of it.${hint}`, {
    details: { event_type: name, ...(meant !== undefined && { did_you_mean: meant }) },
  })
}
