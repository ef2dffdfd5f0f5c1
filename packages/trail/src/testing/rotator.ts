// A process that appends to a trail and replaces its key again and again, and reports what was acknowledged, until it
// is killed. node rotator.ts PROFILE SEED
import { writeSync } from 'node:fs'
import { formatTimestamp, SeededIds, StrictClock, SystemClock, unwrap } from '@parley/core'
import { openTrail } from '../open-trail.ts'
import { ScriptedRun } from './scripted-run.ts'

const [profile, seed] = process.argv.slice(2)
const trail = await openTrail(profile!)
const clock = new StrictClock(new SystemClock())
clock.anchor(trail.floor)
const script = await ScriptedRun.start(trail, new SeededIds(Number(seed)), clock)
writeSync(1, 'ready\n')

async function append(): Promise<never> {
  for (;;) {
    await script.workspace()
    const { seq } = await script.run.head()
    writeSync(1, `${seq}\n`)
  }
}

async function rotate(): Promise<never> {
  for (;;) unwrap(await trail.rotateKey(formatTimestamp(clock.next())))
}

await Promise.all([append(), rotate()])
