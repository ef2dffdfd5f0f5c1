// Runs that cannot be trusted (W-REC-13): found damaged when the runtime was opened, or not to be recovered. Such a run
// takes nothing and nothing is written to it; a human has to look, and the other runs go on.
import { asParleyError, type ObjectId, ParleyError, type RunId } from '@parley/core'
import type { ReadableRun, Trail, VerifyReport } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import type { House } from '../house/house.ts'
import { forgedEntry } from '../integrity/object-proof.ts'

/**
 * What halts a run that could not be read: replay checks hashes, links, anchors and signatures as it goes (W-REC-12
 * steps 1 and 2), and where it met damage, all of the stored trail is looked through for the report. The signatures of
 * all of it take most of the time: `verify` on demand.
 */
export async function damageOf(id: RunId, trail: ReadableRun, cause: unknown): Promise<ParleyError> {
  try {
    const { findings } = await trail.verify({ skipSignatures: true })
    if (findings.length > 0) return haltError(id, findings[0]!.message, findings, cause)
  } catch {
    // What cannot even be looked through is told by what was met first.
  }
  return haltedBy(id, cause)
}

function haltError(run: RunId, what: string, findings: VerifyReport['findings'] = [], cause?: unknown): ParleyError {
  const message = `The run ${run} is halted: ${what}. Nothing is repaired by itself; verify the trail, and restore it from a backup.`
  return new ParleyError('run_halted', message, { details: { run, findings }, cause })
}

/** The same for whatever kept a run from being read or recovered. */
export function haltedBy(run: RunId, cause: unknown): ParleyError {
  const error = asParleyError(cause)
  if (error.code === 'run_halted') return error
  return haltError(run, error.message.replace(/\.$/, ''), [], error)
}

/** A fault of the machine is no damage: the run is read again when that is over. */
export function awayBy(run: RunId, cause: unknown): ParleyError {
  const { message } = asParleyError(cause)
  const text = `The run ${run} cannot be read for now: ${message.replace(/\.$/, '')}.`
  return new ParleyError('trail_unavailable', text, { retryable: true, details: { run }, cause })
}

/**
 * Throws where the house may be among them. It must not be replaced by an empty one: nobody would know any more who may
 * do what.
 */
export async function requireNoHouse(unread: Iterable<[RunId, ParleyError]>, trail: Trail): Promise<void> {
  for (const [id, error] of unread) if (await mayBeHouse(trail.readable(id))) throw error
}

async function mayBeHouse(trail: ReadableRun): Promise<boolean> {
  try {
    const page = await trail.query({ limit: 1 })
    const [first] = page.ok ? page.value.entries : []
    if (!first) return true
    const { context } = first.body as EventBody<'workspace_created'>
    if (context === undefined) return false
    const object = await trail.object(context as ObjectId)
    return (object?.value as { readonly house?: unknown } | undefined)?.house === true
  } catch {
    return true
  }
}

/** W-SEC-18: a run that is halted because its content was changed can record nothing itself; once for each object. */
export async function recordForged(
  halted: ReadonlyMap<RunId, ParleyError>,
  house: Pick<House, 'record'>,
  trail: ReadableRun,
): Promise<void> {
  for (const { cause } of halted.values()) {
    const { code, details } = asParleyError(cause)
    if (code !== 'content_damaged') continue
    const entry = forgedEntry(String(details.object ?? details.run))
    const { subject_id } = entry.body
    const known = await trail.query({ event_type: 'integrity_violation', body: { subject_id }, limit: 1 })
    if (known.ok && known.value.entries.length === 0) await house.record([entry])
  }
}
