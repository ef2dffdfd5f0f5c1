// A trail on a real disk that goes away with its test.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ManualClock, SeededIds, StrictClock, type Ticks } from '@parley/core'
import { onTestFinished } from 'vitest'
import { type OpenTrailOptions, openTrail } from '../open-trail.ts'
import type { Trail } from '../trail.ts'
import { ScriptedRun } from './scripted-run.ts'

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface TestTrail {
  readonly profile: string
  readonly trail: Trail
  readonly clock: ManualClock
  readonly strict: StrictClock
  readonly ids: SeededIds
  /** A run with its root in place. */
  start(): Promise<ScriptedRun>
  /** Closes the trail and opens it again, as a restart does. */
  reopen(): Promise<TestTrail>
}

export interface TestTrailOptions extends OpenTrailOptions {
  readonly profile?: string
  readonly clock?: ManualClock
  readonly ids?: SeededIds
  /** It signs with the profile's own key, as a node's does; otherwise not, unless there is a `signer`. */
  readonly signs?: boolean
}

const START = 1_772_355_900_000_000 as Ticks

/** Opens a trail in a folder of its own, closed and removed when the test ends. */
export async function temporaryTrail(options: TestTrailOptions = {}): Promise<TestTrail> {
  const {
    profile = temporaryFolder(),
    clock = new ManualClock(START),
    ids = new SeededIds(1),
    signs = false,
    ...rest
  } = options
  const trail = await openTrail(profile, { ...(!signs && { signer: null }), ...rest, now: () => clock.now() })
  onTestFinished(() => trail.close())
  const strict = new StrictClock(clock)
  strict.anchor(trail.floor)
  return {
    profile,
    trail,
    clock,
    strict,
    ids,
    start: () => ScriptedRun.start(trail, ids, strict),
    reopen: async () => {
      await trail.close()
      return temporaryTrail({ ...options, profile, clock, ids })
    },
  }
}
