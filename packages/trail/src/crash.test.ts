// Crash (W-TRAIL-05, 26): a real process appends and is killed without warning; after every restart all that it
// reported as acknowledged is there, in order, and the chains verify.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { RunId } from '@parley/core'
import { expect, test } from 'vitest'
import { openSegmentStore } from './open-trail.ts'
import { seededRandom } from './testing/random.ts'
import { temporaryFolder } from './testing/temporary.ts'
import { Trail } from './trail.ts'

const KILLS = process.env.PARLEY_SOAK ? 200 : 20
const APPENDER = fileURLToPath(new URL('./testing/appender.ts', import.meta.url))

interface Reported {
  readonly run: RunId
  readonly seq: number
  readonly hash: string
}

/** Runs the appender and kills it after some reports; what it reported until it died is what was acknowledged. */
async function runAndKill(profile: string, seed: number, reports: number): Promise<Reported[]> {
  const child = spawn(process.execPath, [...process.execArgv, APPENDER, profile, String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const acknowledged: Reported[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    const report = JSON.parse(line) as Reported | { ready: true }
    if (!('ready' in report)) acknowledged.push(report)
    if (acknowledged.length >= reports) child.kill('SIGKILL')
  }
  return acknowledged
}

test(`${KILLS} kills at random moments lose nothing that was acknowledged`, async () => {
  const profile = temporaryFolder()
  const random = seededRandom(20_261_115)
  const heads = new Map<RunId, Reported>()
  for (let round = 1; round <= KILLS; round++) {
    const reported = await runAndKill(profile, round, Math.floor(random() * 400))
    for (const report of reported) heads.set(report.run, report)
    const store = await openSegmentStore(profile)
    try {
      expect(store.damage).toEqual([])
      // Every head that was ever acknowledged is still in its place, and everything before it is linked to it.
      const report = await new Trail({ store }).verifyAll({
        knownHeads: [...heads.values()],
        signed: true,
        skipSignatures: round % 10 !== 0,
      })
      expect(report.unreadable).toEqual([])
      expect(report.runs.flatMap(each => each.findings)).toEqual([])
      for (const [run, acknowledged] of Map.groupBy(reported, each => each.run)) {
        const found = new Map<number, string>()
        for await (const record of store.replay(run)) if (record.kind === 'entry') found.set(record.seq, record.hash)
        for (const { seq, hash } of acknowledged) expect(found.get(seq), `entry ${seq} of ${run}`).toBe(hash)
      }
    } finally {
      await store.close()
    }
  }
  expect(heads.size).toBeGreaterThan(KILLS)
}, 1_800_000)
