// Steps that tests of several folders take: filling runs, exporting and compacting them, and seeing that all is sound.
import { buffer } from 'node:stream/consumers'
import {
  formatTimestamp,
  ManualClock,
  type ObjectId,
  type Result,
  type RunId,
  SeededIds,
  StrictClock,
  type Ticks,
  type Timestamp,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import { expect } from 'vitest'
import type { Manifest } from '../archive/manifest.ts'
import type { Entry, StoredRecord, TrailObject } from '../entry.ts'
import type { ExportContent } from '../export/format.ts'
import { type VerifyExportOptions, verifyExport } from '../export/verify-export.ts'
import type { TrailState } from '../run/run-state.ts'
import type { RunTrail } from '../run/run-trail.ts'
import type { StorageManager } from '../storage/manager.ts'
import type { MoveProgress } from '../store/store.ts'
import { Trail } from '../trail.ts'
import { bytesInMemory } from './bytes.ts'
import { type MemoryDisks, type MemoryStoreOptions, memoryDisks, openMemoryStore } from './memory/open-memory.ts'
import { ScriptedRun } from './scripted-run.ts'
import { removeIndex } from './tamper.ts'
import { type TestTrail, temporaryTrail } from './temporary.ts'

export const AT = '2026-03-02T10:00:00.000000Z' as Timestamp

/** The key that signs now. */
export const keyOf = ({ trail }: Pick<TestTrail, 'trail'>) => trail.keys.at(-1)!.key

/** A run of root, worker, and `size` entries with an object each; the sixth has another one beside the log. */
export async function sampleRun(t: Pick<TestTrail, 'start'>, size = 12): Promise<ScriptedRun> {
  const script = await t.start()
  const worker = await script.workspace()
  const object = (value: unknown) => ({ id: script.id('obj') as ObjectId, kind: 'payload', value })
  for (let count = 0; count < size; count++)
    unwrap(
      await script.appendWith(
        [object({ text: `secret ${count}` }), ...(count === 5 ? [object('x'.repeat(80_000))] : [])],
        script.entry('checkpoint_rejected', worker, 'protocol', { workspace: worker }),
      ),
    )
  return script
}

/** A trail with a run of so many entries: its root, a worker, and the worker's checkpoints. */
export async function filledTrail(
  count: number,
): Promise<{ first: TestTrail; script: ScriptedRun; worker: WorkspaceId }> {
  const first = await temporaryTrail()
  const script = await first.start()
  const worker = await script.workspace()
  for (let seq = 3; seq <= count; seq++) await script.checkpoint(worker, { confidence: 'low' })
  return { first, script, worker }
}

/** A trail in memory, and runs in it. */
export async function memoryTrail(disks: MemoryDisks = memoryDisks(), sizes: MemoryStoreOptions = {}) {
  const store = await openMemoryStore(disks, sizes)
  const trail = new Trail({ store })
  const clock = new StrictClock(new ManualClock(1_772_355_900_000_000 as Ticks))
  const ids = new SeededIds(7)
  const at = () => formatTimestamp(clock.take())
  return { disks, store, trail, clock, ids, at, start: () => ScriptedRun.start(trail, ids, clock) }
}

/** A run that has ended, with one workspace whose mail can be archived. */
export async function mailRun(t: Pick<TestTrail, 'start'>) {
  const script = await t.start()
  const worker = await script.workspace()
  for (let turn = 0; turn < 4; turn++) await script.envelope(script.root, worker, 'system')
  await script.state(worker, 'integrating', 'closed', { trigger: 'integration_succeeded' } as never)
  await script.end()
  return { script, worker, run: script.run.id }
}

/** A run that a trail holds already, to be added to: after a restart, or once it was released. */
export function goingOn(
  { run: { id: run }, root }: Pick<ScriptedRun, 'run' | 'root'>,
  { trail, ids, strict }: Pick<TestTrail, 'trail' | 'ids' | 'strict'>,
): ScriptedRun {
  return new ScriptedRun(trail, ids, strict, { run, root })
}

/** Looks at a trail as it is, after a restart, and after another one whose index has to be made anew. */
export async function throughRestarts(
  made: TestTrail,
  look: (now: TestTrail, time: string) => Promise<void>,
): Promise<TestTrail> {
  let now = made
  for (const time of ['live', 'reopened', 'with a new index']) {
    if (time !== 'live') {
      await now.trail.close()
      if (time !== 'reopened') removeIndex(made.profile)
      now = await now.reopen()
    }
    await look(now, time)
  }
  return now
}

/** The records in an exported file. */
export async function recordsIn(file: Buffer): Promise<StoredRecord[]> {
  const records: StoredRecord[] = []
  const take: VerifyExportOptions['take'] = async taken => {
    for (const record of taken) if ('kind' in record) records.push(record)
  }
  await verifyExport(bytesInMemory(file), { take })
  return records
}

/** What can be exported: these records, and what manifests tell of others. */
export function sourceOf(records: readonly StoredRecord[], ...manifests: readonly Manifest[]) {
  const replay = async function* () {
    yield* records
  }
  return { replay, tiers: { manifests: async () => manifests } }
}

export async function exported(
  { trail }: { readonly trail: Trail },
  of: ScriptedRun | RunId,
  options: { readonly content?: ExportContent; readonly upTo?: number } = {},
): Promise<Buffer> {
  const run = typeof of === 'string' ? of : of.run.id
  return buffer(unwrap(await trail.export(run, { at: AT, ...options })))
}

export async function recordsOf(run: RunTrail, behind?: TrailState): Promise<(Entry | TrailObject)[]> {
  const records: (Entry | TrailObject)[] = []
  for await (const record of run.replay({ behind })) records.push(record)
  return records
}

/** What a runtime does with a run that has ended, until all of it has left the log. */
export async function compact(
  storage: StorageManager,
  script: Pick<ScriptedRun, 'run' | 'append'>,
  { strict }: { readonly strict: StrictClock },
  progress?: (moved: MoveProgress) => void,
): Promise<void> {
  for (;;) {
    const at = formatTimestamp(strict.take())
    const { summaries, done } = unwrap(await storage.compactRun(script.run.id, at, progress))
    if (done) return
    unwrap(await script.append(...summaries))
  }
}

export async function expectSound(trail: Trail, say?: string): Promise<void> {
  const report = await trail.verifyAll()
  expect([report.unreadable, report.runs.flatMap(each => each.findings)], say).toEqual([[], []])
}

/** The code of a refusal, or ok. */
export function codeOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : result.error.code
}
