// A copy of the cold tier is verified by whoever knows one key of the chain of rotations (W-TRAIL-15, 26), as an
// exported file is; whatever else its lists of keys say is not believed.
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatTimestamp, SeededIds, type Timestamp, unwrap } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { verifyExport } from '../export/verify-export.ts'
import { endorse, type TrailKey } from '../keys/trail-key.ts'
import { openCold } from '../open-cold.ts'
import { ed25519Signer, type Signer } from '../signing.ts'
import { bytesInMemory } from '../testing/bytes.ts'
import type { ScriptedRun } from '../testing/scripted-run.ts'
import { compact, exported } from '../testing/steps.ts'
import { type TestTrail, temporaryFolder, temporaryTrail } from '../testing/temporary.ts'

const NOW = { warm: 0, cold: 0 }
const stranger = ed25519Signer(Buffer.alloc(32, 99))

async function rotated({ trail, strict }: TestTrail): Promise<string> {
  return unwrap(await trail.rotateKey(formatTimestamp(strict.take()))).key
}

/** Ends a run and brings all of it to the cold tier. */
async function gone({ trail, strict }: TestTrail, script: ScriptedRun): Promise<void> {
  await script.end()
  const compactor = trail.storage
  await compact(compactor, script, { strict })
  unwrap(await compactor.expire(script.run.id, strict.take(), NOW))
}

/**
 * Two runs in the cold tier, one of the first key and one of the first two, and a third key that has signed neither.
 */
async function rotatedTwice() {
  const replica = temporaryFolder()
  const t = await temporaryTrail({ signs: true, replica })
  const keys = [t.trail.keys[0]!.key]
  const first = await t.start()
  await first.workspace()
  const second = await t.start()
  await gone(t, first)
  keys.push(await rotated(t))
  await second.workspace()
  await gone(t, second)
  const file = await exported(t, second.run.id)
  keys.push(await rotated(t))
  await t.trail.close()
  return { t, replica, cold: join(t.profile, 'trail', 'cold'), keys, file, first, second }
}

async function verified(folder: string, trusted?: readonly string[]) {
  const { trail, problems } = await openCold(folder, trusted ? { trusted: new Set(trusted) } : {})
  onTestFinished(() => trail.close())
  const { runs, unreadable } = await trail.verifyAll(trusted ? { signed: true } : {})
  expect(unreadable).toEqual([])
  const findings = runs.flatMap(each => each.findings)
  return { sound: findings.length === 0 && problems.length === 0, findings, problems, runs }
}

const listIn = (folder: string): { keys: TrailKey[] } => JSON.parse(readFileSync(join(folder, 'keys.json'), 'utf8'))

function changeList(folder: string, change: (keys: TrailKey[]) => TrailKey[]): void {
  const list = listIn(folder)
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ ...list, keys: change(list.keys) }))
}

test('W-TRAIL-15 after two rotations any one key verifies a copy of the cold tier, as it does an export', async () => {
  const { replica, cold, keys, file } = await rotatedTwice()
  for (const folder of [replica, cold]) {
    expect(listIn(folder).keys.map(({ key }) => key)).toEqual(keys)
    for (const key of keys) expect(await verified(folder, [key])).toMatchObject({ sound: true, problems: [] })
    const report = await verified(folder, [stranger.id])
    expect(report.sound).toBe(false)
    expect(report.findings[0]).toMatchObject({ damage: 'signature', violation: 'signature_invalid' })
    expect(await verified(folder)).toMatchObject({ sound: true })
  }
  // The same words for a file, which knows the keys of its time.
  for (const key of keys.slice(0, 2))
    expect((await verifyExport(bytesInMemory(file), { keys: [key] })).sound).toBe(true)
  const foreign = await verifyExport(bytesInMemory(file), { keys: [stranger.id] })
  expect(foreign.findings[0]).toMatchObject({ damage: 'signature', violation: 'signature_invalid' })
})

test('W-TRAIL-15 without its list of keys a copy needs every key that has signed, and no more is believed', async () => {
  const { replica, keys } = await rotatedTwice()
  rmSync(join(replica, 'keys.json'))
  expect((await verified(replica, keys)).sound).toBe(true)
  expect((await verified(replica, keys.slice(0, 2))).sound).toBe(true)
  for (const key of keys) expect((await verified(replica, [key])).sound).toBe(false)
})

test('W-TRAIL-15 a list that somebody has changed leads to no key, and is told', async () => {
  const { replica, keys } = await rotatedTwice()
  const folder = join(temporaryFolder(), 'copy')
  const forged = async (change: (keys: TrailKey[]) => TrailKey[], trusted: readonly string[]) => {
    rmSync(folder, { recursive: true, force: true })
    cpSync(replica, folder, { recursive: true })
    changeList(folder, change)
    return verified(folder, trusted)
  }
  const named = (list: TrailKey[], index: number, change: Partial<TrailKey>) =>
    list.with(index, { ...list[index]!, ...change })
  // The signature of the old key, and that of the new one, taken from elsewhere.
  for (const field of ['signature', 'countersignature'] as const) {
    const report = await forged(
      list => {
        const endorsement = { ...list[1]!.endorsement!, [field]: list[2]!.endorsement![field] }
        return named(list, 1, { endorsement })
      },
      [keys[2]!],
    )
    expect(report.problems).toEqual([expect.stringContaining('does not hold')])
    expect(report.findings[0]).toMatchObject({ seq: 1, damage: 'signature' })
  }
  // A stranger who endorses the first key needs its word for that, and does not get it.
  const at = '2026-03-01T00:00:00.000000Z' as Timestamp
  const first: Signer = { ...stranger, id: keys[0]! }
  const claimed = await forged(
    list => [
      { key: stranger.id, since: null, until: null },
      ...named(list, 0, { endorsement: endorse(stranger, first, at, at) }),
    ],
    [stranger.id],
  )
  expect(claimed.problems).toEqual([expect.stringContaining('does not hold')])
  expect(claimed.findings.length).toBeGreaterThan(0)
  // Named, but by nobody.
  const listed = await forged(list => [...list, { key: stranger.id, since: null, until: null }], [stranger.id])
  expect([listed.sound, listed.problems]).toEqual([false, []])
  // Without the endorsement there is no way from the last key to the ones before it.
  const cut = await forged(list => named(list, 2, { endorsement: undefined } as never), [keys[2]!])
  expect(cut.sound).toBe(false)
  // An end that was made up can only make the check stricter.
  const ended = await forged(list => named(list, 0, { until: at }), [keys[0]!])
  expect(ended.findings[0]).toMatchObject({ damage: 'signature' })
  writeFileSync(join(folder, 'keys.json'), '{')
  expect((await verified(folder, keys)).problems).toEqual([expect.stringContaining('cannot be read')])
})

test('W-TRAIL-15 an imported run is verified with a key of whoever made it, and its keys are good for no other run', async () => {
  const one = await temporaryTrail({ signs: true })
  const script = await one.start()
  await script.workspace()
  const former = one.trail.keys[0]!.key
  const current = await rotated(one)
  await script.workspace()
  await script.end()
  const replica = temporaryFolder()
  const other = await temporaryTrail({ signs: true, replica, ids: new SeededIds(77) })
  const own = await other.start()
  await own.workspace()
  const at = formatTimestamp(other.strict.take())
  const source = bytesInMemory(await exported(one, script.run.id))
  unwrap(await other.trail.import(source, { keys: [former], at }))
  other.clock.advance(1000)
  unwrap(await other.trail.storage.expire(script.run.id, other.strict.take(), NOW))
  await gone(other, own)
  const mine = other.trail.keys[0]!.key
  await other.trail.close()
  for (const folder of [replica, join(other.profile, 'trail', 'cold')]) {
    for (const key of [former, current]) expect((await verified(folder, [mine, key])).sound).toBe(true)
    const foreign = await verified(folder, [mine])
    const bad = foreign.runs.filter(each => each.findings.length > 0)
    expect(bad.map(({ run }) => run)).toEqual([script.run.id])
    // Whoever knows the other one only: its rotation leads to nothing for our own run.
    const theirs = await verified(folder, [current])
    const unknown = theirs.runs.filter(each => each.findings.length > 0)
    expect(unknown.map(({ run }) => run)).toEqual([own.run.id])
  }
})

test('W-TRAIL-26 a replica that was away at a rotation is behind, and hears of it later; without a cold tier there is no list', async () => {
  const replica = temporaryFolder()
  const t = await temporaryTrail({ signs: true, replica })
  const script = await t.start()
  await rotated(t)
  expect(await t.trail.storage.replicate()).toBe(0)
  expect([existsSync(join(replica, 'keys.json')), existsSync(join(t.profile, 'trail', 'cold', 'keys.json'))]).toEqual([
    false,
    false,
  ])
  await gone(t, script)
  expect(listIn(replica).keys).toHaveLength(2)
  renameSync(replica, `${replica}.away`)
  const key = await rotated(t)
  // Behind whatever the storage had to do.
  unwrap(await t.trail.storage.reclaim())
  renameSync(`${replica}.away`, replica)
  expect(listIn(replica).keys).toHaveLength(2)
  expect((await t.trail.replica())?.lacking).toBe(1)
  expect(await t.trail.storage.replicate()).toBeGreaterThan(0)
  expect(await t.trail.storage.replicate()).toBe(0)
  expect((await t.trail.replica())?.lacking).toBe(0)
  expect((await verified(replica, [key])).sound).toBe(true)
})

test('W-TRAIL-26 a profile that begins anew over a copy of the cold tier keeps the keys that came with it', async () => {
  const { replica, keys } = await rotatedTwice()
  const profile = temporaryFolder()
  cpSync(replica, join(profile, 'trail', 'cold'), { recursive: true })
  rmSync(join(profile, 'trail', 'cold', 'replica.json'))
  const t = await temporaryTrail({ profile, signs: true, ids: new SeededIds(9) })
  await gone(t, await t.start())
  const cold = join(profile, 'trail', 'cold')
  const own = t.trail.keys[0]!.key
  expect(listIn(cold).keys.map(({ key }) => key)).toEqual([...keys, own])
  expect((await verified(cold, [keys[2]!, own])).sound).toBe(true)
  expect((await verified(cold, [own])).sound).toBe(false)
})
