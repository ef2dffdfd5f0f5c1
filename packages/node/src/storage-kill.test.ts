// The node is killed while runs leave the log and go to the cold tier. Whatever the moment, every run is whole
// afterwards, in exactly one place (W-TRAIL-25), and what was begun is brought to its end; the replica then holds all
// of them alone (W-TRAIL-26).
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCold } from '@parley/trail'
import { expect, test } from 'vitest'
import { KilledNodes } from './testing/killed.ts'

const KILLS = process.env.PARLEY_SOAK ? 60 : 10
const SEED = 20261116
/** Longer than all of it takes here, so that some kills come after the end. */
const LATEST_KILL = 150

const TEAM = `
version: 1
name: three
approval: none
agents:
  writer: { command: [sh, -c, 'echo "of {task}" >> $PARLEY_TASK.txt; head -c 90000 /dev/zero | tr "\\\\0" x'] }
plan:
  - { id: a, agent: writer, prompt: Write. }
  - { id: b, agent: writer, prompt: Write. }
`

test(
  `W-TRAIL-25 runs survive ${KILLS} kills of the node that compacts them (seed ${SEED})`,
  async () => {
    const nodes = new KilledNodes(SEED)
    const { profile } = nodes
    const replica = join(nodes.folder, 'replica')
    mkdirSync(replica)
    // On request only, so that the kill hits it.
    writeFileSync(
      join(profile, 'config.yaml'),
      `trail: { compact: off, warm: 0, replica: ${JSON.stringify(replica)} }\n`,
    )
    await nodes.connect()
    const runs = new Map<string, number>()
    let interrupted = 0
    const expectWhole = async (what: string) => {
      const { client } = nodes
      const verified = (await client.invoke('trail', 'verify', {})).unwrap()
      expect(verified, what).toMatchObject({ sound: true, unreadable: [] })
      for (const [run, cursor] of runs) {
        const shown = (await client.invoke('runs', 'show', { run })).unwrap()
        expect(shown, what).toMatchObject({ state: 'done', tasks_done: 2 })
        const entries = verified.runs.find(each => each.run === run)?.entries ?? 0
        expect(entries, what).toBeGreaterThanOrEqual(cursor)
      }
    }
    for (let kill = 1; kill <= KILLS; kill++) {
      const run = await nodes.start(`Write, ${kill}.`, TEAM)
      const { client } = nodes
      for await (const view of client.subscribe('runs', 'follow', { run }, { buffer: 64 })) runs.set(run, view.cursor)
      const compacting = client.invoke('trail', 'compact', {}, { type: 'mutation' })
      await nodes.kill(LATEST_KILL)
      if (!(await compacting).result.ok) interrupted++
      client.close()
      await nodes.connect()
      await expectWhole(`kill ${kill} of seed ${SEED}`)
    }
    expect(interrupted, 'kills that came before the end').toBeGreaterThan(0)
    const { client } = nodes
    expect((await client.invoke('trail', 'compact', {}, { type: 'mutation' })).unwrap().failed).toEqual([])
    // What is warm goes to the cold tier by itself, soon after the start.
    await expect
      .poll(async () => (await client.invoke('trail', 'tiers', {})).unwrap().warm.entries, {
        timeout: 30_000,
        interval: 200,
      })
      .toBe(0)
    await expectWhole('at the end')
    const tiers = (await client.invoke('trail', 'tiers', {})).unwrap()
    expect(tiers).toMatchObject({ cold: { runs: KILLS }, replica: { folder: replica, lacking: 0 } })
    expect(readdirSync(join(profile, 'trail', 'runs'))).toEqual([])
    // The replica alone.
    const copy = await openCold(replica)
    const report = await copy.trail.verifyAll()
    await copy.trail.close()
    expect(report.unreadable).toEqual([])
    expect(report.runs.flatMap(({ findings }) => findings)).toEqual([])
    for (const [run, cursor] of runs)
      expect(report.runs.find(each => each.run === run)?.entries).toBeGreaterThanOrEqual(cursor)
  },
  KILLS * 30_000 + 60_000,
)
