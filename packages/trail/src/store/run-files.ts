// The warm files of one run: which of them are worth writing anew, and which nobody needs any more.
import type { RunId } from '@parley/core'
import type { Catalogue } from '../archive/catalogue.ts'
import type { Contents } from '../archive/contents.ts'
import { HeldRun, isBehind } from '../archive/held.ts'
import type { Manifest } from '../archive/manifest.ts'
import { damagedError } from '../errors.ts'
import type { RunPoint, RunUsage } from '../index/contract.ts'
import { trailLimits } from '../limits.ts'

interface WarmFile {
  readonly archive: number
  readonly bytes: number
  readonly small: boolean
  readonly seqs: ReadonlySet<number>
  /** Something in it is held by a later archive, too. */
  dead: boolean
}

export class RunFiles {
  readonly held = new HeldRun()
  #warm: WarmFile[] = []

  /** Takes the next manifest, in order of number. */
  add(manifest: Manifest): void {
    this.held.add(manifest)
    const { archive, bytes, tier, entries, objects } = manifest
    for (const file of this.#warm) file.dead ||= entries.some(({ seq }) => file.seqs.has(seq))
    if (tier !== 'warm') return
    const records = entries.length + objects.length
    const small = records * 2 <= trailLimits.archiveRecords && bytes * 2 <= trailLimits.archiveBytes
    const seqs = new Set(entries.map(({ seq }) => seq))
    this.#warm.push({ archive, bytes, small, seqs, dead: false })
  }

  /** Numbers of small files, and of those that hold what others hold, too: they are merged with what is new. */
  untidy(): number[] {
    return this.#warm.filter(({ small, dead }) => small || dead).map(({ archive }) => archive)
  }

  /** Whether so many bytes are just what one file holds: writing it anew would change nothing. */
  isWhole(archives: readonly number[], bytes: number): boolean {
    const left = this.#warm.filter(({ archive, dead }) => archives.includes(archive) && !dead)
    return left.some(file => file.bytes === bytes)
  }

  furthest(until: RunPoint): RunPoint {
    return isBehind(until, this.held.until) ? until : this.held.until
  }
}

export async function runFiles(catalogue: Catalogue, run: RunId): Promise<RunFiles> {
  const files = new RunFiles()
  for await (const manifest of catalogue.manifests(run)) files.add(manifest)
  return files
}

/** Numbers of the warm files of a run whose every record is in archives with higher numbers. */
export async function superseded(catalogue: Catalogue, run: RunId): Promise<number[]> {
  const left = new Map<number, Set<number | string>>()
  for await (const { archive, tier, entries, objects } of catalogue.manifests(run)) {
    const keys = [...entries.map(({ seq }) => seq), ...objects.map(({ id }) => id)]
    for (const [number, missing] of left) {
      for (const key of keys) missing.delete(key)
      left.set(number, missing)
    }
    if (tier === 'warm') left.set(archive, new Set(keys))
  }
  return [...left].filter(([, missing]) => missing.size === 0).map(([archive]) => archive)
}

/** What the log has lost must not be lost for good: nothing moves out of it where entries of the run are missing. */
export function expectNoGap(run: RunId, { entries }: Contents, held: HeldRun): void {
  const seqs = new Set(entries.map(({ seq }) => seq))
  const last = entries.at(-1)?.seq ?? 0
  for (let seq = Math.max(1, held.until.seq); seq < last; seq++) {
    if (seqs.has(seq) || held.hasEntry(seq)) continue
    throw damagedError(`${run} misses entry ${seq}; it stays in the log. Verify the run.`, { run, seq })
  }
}

/** Bytes that counting records take in each segment that has any. */
export function usedSegments(usage: readonly RunUsage[]): Map<number, number> {
  const used = new Map<number, number>()
  for (const { segments } of usage) {
    for (const { segment, bytes } of segments) used.set(segment, (used.get(segment) ?? 0) + bytes)
  }
  return used
}
