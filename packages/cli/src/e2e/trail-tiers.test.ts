// The storage life cycle with real processes: a run that is over leaves the log, goes to the cold tier and its replica,
// is read and verified as before, and is there when the disk of the profile is not.
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { KeyView, RunView, TiersView, TrailPage, VerifyView } from '../node/views.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const profile = () => join(world.home, 'default')
const replica = () => join(world.folder, 'replica')

function configure(settings: string): void {
  mkdirSync(profile(), { recursive: true })
  mkdirSync(replica(), { recursive: true })
  writeFileSync(join(profile(), 'config.yaml'), `trail: { replica: ${replica()}, ${settings} }\n`)
}

const tiers = () => world.json<TiersView>('trail', 'tiers')
const segments = () => readdirSync(join(profile(), 'trail')).filter(name => name.endsWith('.seg'))

test('W-TRAIL-26 a run that is over goes to the cold tier by itself, is read as before, and survives the loss of the log', async () => {
  configure('compact: 0, warm: 0')
  const run = await world.solved('Tidy the house.')
  const before = await world.json<RunView>('show', run)
  await expect.poll(async () => (await tiers()).warm.entries, { timeout: 60_000, interval: 200 }).toBe(0)
  const now = await tiers()
  expect(now).toMatchObject({ cold: { runs: 1 }, replica: { folder: replica(), lacking: 0 }, deleted: 0 })
  expect(now.hot.runs).toBe(1)

  const shown = await world.json<RunView>('show', run)
  expect(shown).toMatchObject({ state: 'done', tasks: before.tasks, usage: before.usage })
  const page = await world.json<TrailPage>('trail', 'query', run, '--type', 'trail_compacted')
  expect(page.entries.length).toBeGreaterThan(0)
  expect(await world.json<VerifyView>('trail', 'verify')).toMatchObject({ sound: true })
  const text = await world.parley('trail', 'tiers')
  expect(text.out).toMatch(/^TIER +ENTRIES/)
  expect(text.out).toContain('up to date')

  const { keys } = await world.json<{ keys: KeyView[] }>('trail', 'keys')
  const key = keys.at(-1)!.key
  await world.stop()
  // The record without the disk that it was on.
  rmSync(join(profile(), 'trail'), { recursive: true })
  rmSync(join(profile(), 'blobs'), { recursive: true, force: true })
  rmSync(join(profile(), 'trail.index.db'), { force: true })
  const alone = await world.parley('trail', 'verify', '--cold', replica(), '--key', key, '--json')
  expect(alone.code).toBe(0)
  const report = JSON.parse(alone.out) as VerifyView & { signatures: string }
  expect(report).toMatchObject({ sound: true, signatures: 'trusted', unreadable: [] })
  expect(report.runs.find(each => each.run === run)?.entries).toBe(now.cold.entries)
  const unproven = await world.parley('trail', 'verify', '--cold', replica())
  expect([unproven.code, unproven.err]).toEqual([0, expect.stringContaining('NOT PROVEN')])

  // The replica becomes the cold tier of the profile, as the guide says.
  cpSync(replica(), join(profile(), 'trail', 'cold'), { recursive: true })
  rmSync(join(profile(), 'trail', 'cold', 'replica.json'))
  renameSync(replica(), `${replica()}.old`)
  mkdirSync(replica())
  expect(await world.json<RunView>('show', run)).toMatchObject({ state: 'done', tasks: before.tasks })
  expect(await world.json<VerifyView>('trail', 'verify', run)).toMatchObject({ sound: true })
  const again = await world.solved('Once more.')
  expect(await world.json<RunView>('show', again)).toMatchObject({ state: 'done' })
})

test("W-TRAIL-15 after rotations any one key of the profile verifies the replica, and nobody else's does", async () => {
  configure('compact: 0, warm: 0')
  const before = await world.solved('Tidy the house.')
  const rotate = async () => expect(await world.parley('trail', 'rotate-key', '--yes')).toMatchObject({ code: 0 })
  await rotate()
  const after = await world.solved('Once more.')
  await expect.poll(async () => (await tiers()).warm.entries, { timeout: 60_000, interval: 200 }).toBe(0)
  await rotate()
  const { keys } = await world.json<{ keys: KeyView[] }>('trail', 'keys')
  expect(keys).toHaveLength(3)
  await world.stop()
  const verify = (key: string) => world.parley('trail', 'verify', '--cold', replica(), '--key', key, '--json')
  for (const { key } of keys) {
    const { code, out } = await verify(key)
    const report = JSON.parse(out) as VerifyView & { signatures: string }
    expect([code, report]).toMatchObject([0, { sound: true, signatures: 'trusted', problems: [] }])
    expect(report.runs.map(each => each.run).sort()).toEqual([before, after].sort())
  }
  const stranger = await verify('11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=')
  expect(stranger).toMatchObject({ code: 1, out: expect.stringContaining('a key that is not known') })
})

test('compaction and snapshots on request, and archives that a disk has damaged are put back', async () => {
  configure('compact: off, warm: 0')
  const run = await world.solved('Tidy the house.')
  expect((await tiers()).cold.entries).toBe(0)
  const early = await world.parley('trail', 'snapshot', 'run_none')
  expect(early.code).toBe(3)
  const taken = await world.json<{ entries: number; up_to: number }>('trail', 'snapshot', run)
  expect(taken.entries).toBe(taken.up_to)
  const compacted = await world.json<{ runs: { run: string; archived: number }[]; freed: number }>('trail', 'compact')
  expect(compacted.runs).toMatchObject([{ run }])
  expect((await world.parley('trail', 'compact')).out).toContain('Nothing to do')

  const cold = join(profile(), 'trail', 'cold', run)
  const [archive] = readdirSync(cold).filter(name => /^\d+\.zst$/.test(name))
  const sound = readFileSync(join(cold, archive!))
  await world.stop()
  writeFileSync(join(cold, archive!), Buffer.alloc(sound.length))
  const restored = await world.json<{ restored: string[]; lost: string[] }>('trail', 'restore')
  expect(restored).toMatchObject({ restored: [`cold/${run}/${archive}`], lost: [] })
  expect(readFileSync(join(cold, archive!)).equals(sound)).toBe(true)
  expect(await world.json<VerifyView>('trail', 'verify')).toMatchObject({ sound: true })
  expect((await world.parley('trail', 'restore')).out).toContain('Nothing to restore')

  // A replica that is gone is told, and nothing is lost by it.
  const second = await world.solved('Once more.')
  renameSync(replica(), `${replica()}.away`)
  const refused = await world.parley('trail', 'compact', second, '--json')
  expect(refused.code).toBe(5)
  expect(refused.err + refused.out).toContain('replica_unavailable')
  const doctor = await world.json<{ checks: { check: string; state: string }[] }>('doctor')
  expect(doctor.checks.find(({ check }) => check === 'replica')).toMatchObject({ state: 'problem' })
  renameSync(`${replica()}.away`, replica())
  expect((await world.json<{ runs: object[] }>('trail', 'compact', second)).runs).toHaveLength(1)
  expect(segments().length).toBeGreaterThan(0)
  expect(await world.json<VerifyView>('trail', 'verify')).toMatchObject({ sound: true })
})
