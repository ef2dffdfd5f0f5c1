// Snapshots: freezes a finished run up to an entry, if its chain is unbroken (W-TRAIL-30).
import { ok, ParleyError, refuse } from '@parley/core'
import type { ProposedEntry } from '../entry.ts'
import type { RunTrail } from '../run/run-trail.ts'
import { entryAt } from '../store/entry-at.ts'
import type { TrailStore } from '../store/store.ts'
import type { Sound } from './compaction.ts'

export async function freezeRun(
  store: TrailStore,
  run: RunTrail,
  id: string,
  upTo: number,
): Promise<Sound<ProposedEntry<'trail_snapshot_created'>>> {
  const report = await run.verify({ skipSignatures: true })
  const broken = report.findings.filter(finding => finding.seq <= upTo)
  if (broken.length > 0) {
    const message = `${run.id} is damaged before entry ${upTo}: ${broken[0]!.message}. No snapshot was taken.`
    const error = new ParleyError('trail_damaged', message)
    return { ok: false, error, violations: report.violations.slice(0, broken.length) }
  }
  if (!(await run.model()).ended)
    return refuse('invalid_state', `${run.id} has not ended; snapshots are taken of finished runs.`)
  const last = await entryAt(store, run.id, upTo)
  if (!last) return refuse('not_found', `${run.id} has no entry ${upTo}.`)
  const entry_count = await store.tiers.snapshot(run.id, id, upTo)
  return ok({
    event_type: 'trail_snapshot_created',
    workspace: null,
    actor: 'protocol',
    body: { snapshot_id: id, up_to: upTo, entry_count, head_hash: last.hash },
  })
}
