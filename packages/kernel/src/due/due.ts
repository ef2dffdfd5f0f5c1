// What time brings (W-CLOCK-05): timeouts, the idle watchdog, budgets, silence, gates, escalations. The runtime keeps one alarm for
// each run, set to the earliest of them; `due` then deals with what is due first, one at a time.
import { ok, type Result, type Ticks } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type { Batch } from '../batch.ts'
import type { Run } from '../run/run.ts'

/** The earliest moment at which something is due, past or future. */
export function nextDue(_run: Run): Ticks | undefined {
  return undefined
}

/** The earliest moment that an entry, now folded in, may have brought; undefined where it brought none. */
export function dueAfter(_run: Run, _entry: EntryDraft): Ticks | undefined {
  return undefined
}

/** Deals with what is due first at the batch's time; nothing is due: nothing is written. */
export function decideDue(_batch: Batch): Result<void> {
  return ok(undefined)
}
