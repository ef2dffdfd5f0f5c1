// A trail on a real disk for tests, and somebody with access to that disk who changes what it holds.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { tamper } from '@parley/trail/testing'
import { onTestFinished } from 'vitest'
import { type Fixture, type FixtureOptions, fixture } from './fixture.ts'

export function temporaryProfile(): string {
  const profile = mkdtempSync(join(tmpdir(), 'parley-test-'))
  onTestFinished(() => rmSync(profile, { recursive: true, force: true }))
  return profile
}

/** A worker W in `integrating` whose final checkpoint K lies on the disk, with proofs. */
export async function deliveredOnDisk(options: FixtureOptions = {}): Promise<Fixture> {
  const secret = new Uint8Array(32).fill(42)
  const f = await fixture({ secret, profile: temporaryProfile(), ...options })
  const worker = await f.workspace('W', { directive: { format: 'markdown', content: 'work' } })
  unwrap(await worker.receive())
  f.name(unwrap(await f.final('W')).checkpoint, 'K')
  unwrap(await worker.complete())
  await f.mark()
  return f
}

/** Changes what is stored of the objects of one kind; to be called while everything is closed. */
export function changeObjects(f: Fixture, kind: string, change: (data: string) => string): void {
  tamper(f.options.profile!, records =>
    records.map(record =>
      record.kind === 'object' && record.objectKind === kind ? { ...record, data: change(record.data) } : record,
    ),
  )
  // The frames that were written anew do not say how late it was.
  f.clock.advance(1000)
}
