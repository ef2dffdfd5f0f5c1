// Which entries of terminal workspaces move to the cold tier, and the summaries proposed for that (W-TRAIL-27).
import { invariant, type Result, type RunId, refuse, type Timestamp, type WorkspaceId } from '@parley/core'
import { bridgeOf, type Manifest } from '../archive/manifest.ts'
import type { ProposedEntry } from '../entry.ts'
import { damagedError } from '../errors.ts'
import { compactionClass } from '../events/registry.ts'
import { trailLimits } from '../limits.ts'
import { pause } from '../log/pause.ts'
import type { RunTrail } from '../run/run-trail.ts'
import type { BridgedEntry, TrailStore } from '../store/store.ts'
import { RunVerifier } from '../verify/verify.ts'

export type Sound<T> = Result<T> & { readonly violations?: readonly ProposedEntry[] }

export interface Compacted {
  readonly archived: number
  readonly summaries: readonly ProposedEntry<'trail_compacted'>[]
}

interface Classes {
  readonly archivable: number[]
  preserved: number
}

/** Entries that are verified between two turns of the event loop. */
const SLICE = 256

/** Moves what is archivable of a terminal workspace to the cold tier. Nothing is deleted. */
export async function compactWorkspace(
  store: TrailStore,
  run: RunTrail,
  workspace: WorkspaceId,
  at: Timestamp,
): Promise<Result<Compacted>> {
  const facts = (await run.model()).workspaces.get(workspace)
  if (!facts) return refuse('not_found', `There is no workspace ${workspace} in ${run.id}.`)
  if (facts.ended === undefined)
    return refuse('invalid_state', `${workspace} is ${facts.state}; only terminal workspaces are compacted.`)
  return { ok: true, value: await archiveEach(store, run.id, await classify(store, run, { workspace }), at) }
}

/** The same for every terminal workspace of the run; proposes lost summaries of earlier archives again. */
export async function compactWorkspaces(store: TrailStore, run: RunTrail, at: Timestamp): Promise<Compacted> {
  const { workspaces } = await run.model()
  const classes = await classify(store, run, {})
  for (const id of classes.keys()) if (workspaces.get(id)?.ended === undefined) classes.delete(id)
  const again = await uncovered(store, run, classes)
  const { archived, summaries } = await archiveEach(store, run.id, classes, at)
  return { archived, summaries: [...again, ...summaries] }
}

async function archiveEach(
  store: TrailStore,
  run: RunId,
  classes: ReadonlyMap<WorkspaceId, Classes>,
  at: Timestamp,
): Promise<Compacted> {
  const summaries: ProposedEntry<'trail_compacted'>[] = []
  let archived = 0
  for (const [workspace, { archivable, preserved }] of classes) {
    for (let from = 0; from < archivable.length; from += trailLimits.archiveEntries) {
      const seqs = archivable.slice(from, from + trailLimits.archiveEntries)
      const manifest = await store.tiers.archive(run, workspace, seqs, at)
      summaries.push(summary(manifest, workspace, preserved))
      archived += seqs.length
    }
  }
  return { archived, summaries }
}

/** A crash between an archive and its summary leaves the archive without one. */
async function uncovered(
  store: TrailStore,
  run: RunTrail,
  classes: ReadonlyMap<WorkspaceId, Classes>,
): Promise<ProposedEntry<'trail_compacted'>[]> {
  const open: ProposedEntry<'trail_compacted'>[] = []
  for (const manifest of await store.tiers.manifests(run.id)) {
    const { kind, workspace, deleted } = manifest
    if (kind !== 'workspace' || workspace === null || deleted || (await isSummedUp(run, manifest))) continue
    open.push(summary(manifest, workspace, classes.get(workspace)?.preserved ?? 0))
  }
  return open
}

export async function isSummedUp(run: RunTrail, { archive_hash }: Manifest): Promise<boolean> {
  const covered = await run.query({ event_type: 'trail_compacted', body: { archive_hash }, limit: 1 })
  if (!covered.ok) throw covered.error
  return covered.value.entries.length > 0
}

async function classify(
  store: TrailStore,
  run: RunTrail,
  filter: { readonly workspace?: WorkspaceId },
): Promise<Map<WorkspaceId, Classes>> {
  const cold = (await store.tiers.manifests(run.id)).filter(({ tier }) => tier === 'cold')
  const archived = new Set(cold.flatMap(manifest => manifest.entries.map(({ seq }) => seq)))
  const classes = new Map<WorkspaceId, Classes>()
  let after = 0
  for (;;) {
    const page = await run.query({ ...filter, after })
    if (!page.ok) throw page.error
    for (const { seq, workspace, event_type, body } of page.value.entries) {
      if (workspace === null || archived.has(seq)) continue
      const found = classes.get(workspace) ?? { archivable: [], preserved: 0 }
      classes.set(workspace, found)
      if (compactionClass(event_type, body) === 'A') found.archivable.push(seq)
      else found.preserved++
    }
    if (!page.value.more) return classes
    invariant(page.value.cursor > after, 'a page that is not the last brings its reader further')
    after = page.value.cursor
    await pause()
  }
}

function summary(manifest: Manifest, workspace: WorkspaceId, preserved: number): ProposedEntry<'trail_compacted'> {
  return {
    event_type: 'trail_compacted',
    workspace: null,
    actor: 'protocol',
    body: {
      workspace,
      entries_archived: manifest.entries.length,
      entries_preserved: preserved,
      archive_range: { from: manifest.entries[0]!.timestamp, to: manifest.entries.at(-1)!.timestamp },
      archive_hash: manifest.archive_hash,
    },
  }
}

/** Both chains of a run, from the stored bytes: what is broken is evidence, and is not touched. */
export async function findUnsound(store: TrailStore, run: RunId): Promise<Sound<never> | undefined> {
  const verifier = new RunVerifier(run, { skipSignatures: true })
  const gone = new Map<number, BridgedEntry>()
  for (const { deleted, entries } of await store.tiers.manifests(run)) {
    if (deleted) for (const entry of entries) gone.set(entry.seq, bridgeOf(run, entry))
  }
  let next = 1
  for await (const record of store.replay(run)) {
    if (record.kind !== 'entry') continue
    for (; next < record.seq; next++) if (gone.has(next)) verifier.bridge(gone.get(next)!)
    verifier.entry(record)
    next = record.seq + 1
    if (record.seq % SLICE === 0) await pause()
  }
  const { findings, violations } = verifier.finish()
  if (findings.length === 0) return undefined
  const message = `${findings[0]!.message}. Nothing of the run was moved; verify it and restore it from a backup.`
  return { ok: false, error: damagedError(message, { run }), violations }
}
