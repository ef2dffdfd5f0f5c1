// A process that appends to a trail and reports each acknowledged place on its output, until it is killed.
//   node appender.ts PROFILE SEED
import { writeSync } from 'node:fs'
import { SeededIds, StrictClock, SystemClock, unwrap } from '@parley/core'
import { openTrail } from '../open-trail.ts'
import { seededRandom } from './random.ts'
import { ScriptedRun } from './scripted-run.ts'

const [profile, seed] = process.argv.slice(2)
const random = seededRandom(Number(seed))
const trail = await openTrail(profile!, { firstSegmentBytes: 32 * 1024, segmentBytes: 128 * 1024 })
const clock = new StrictClock(new SystemClock())
clock.anchor(trail.floor)
const ids = new SeededIds(Number(seed))

function report(line: object): void {
  // Straight to the pipe: what was acknowledged must be reported before the next signal can strike.
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at)
    } catch (cause) {
      // The reader is slow and the pipe is full: there is nothing to do but to try again.
      if ((cause as NodeJS.ErrnoException).code !== 'EAGAIN') throw cause
    }
  }
}

async function work(): Promise<never> {
  const script = await ScriptedRun.start(trail, ids, clock)
  const first = await script.run.head()
  report({ run: script.run.id, seq: first.seq, hash: first.hash })
  for (;;) {
    const entries = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
      script.entry('checkpoint_rejected', script.root, 'protocol', { workspace: script.root }),
    )
    const large = random() < 0.02 ? [{ id: ids.next('obj') as never, kind: 'payload', value: 'x'.repeat(80_000) }] : []
    const { last, head } = unwrap(await script.appendWith(large, ...entries))
    report({ run: script.run.id, seq: last, hash: head })
  }
}

report({ ready: true })
await Promise.all(Array.from({ length: 8 }, work))
