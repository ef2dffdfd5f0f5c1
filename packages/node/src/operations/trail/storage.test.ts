// The storage of runs that are over, over the socket: tiers, compaction and snapshots on request and by the clock, and
// a replica that is away.
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ground } from '../../testing/ground.ts'
import { realNode } from '../../testing/real.ts'

function configured(settings: string) {
  const place = ground()
  const replica = join(place.home, 'replica')
  mkdirSync(replica)
  place.write('default/config.yaml', `trail: { replica: ${replica}, ${settings} }\n`)
  return { place, replica }
}

test('W-TRAIL-25 a run that is over is compacted by itself, and counts in its tier', async () => {
  const { place, replica } = configured('compact: 0, warm: 0')
  const { client, solved } = await realNode(place)
  const run = await solved('A thing.')
  await expect.poll(async () => (await client.call('trail', 'tiers', {})).warm.entries, { timeout: 30_000 }).toBe(0)
  const storage = async () => (await client.call('node', 'status', {})).storage
  await expect.poll(storage, { timeout: 30_000 }).toEqual({ working: null, faults: [] })
  const tiers = await client.call('trail', 'tiers', {})
  expect(tiers).toMatchObject({ cold: { runs: 1 }, deleted: 0, replica: { folder: replica, lacking: 0 } })
  expect(tiers.hot.oldest).not.toBeNull()
  const { entries } = await client.call('trail', 'query', { run, event_type: ['trail_compacted'] })
  expect(entries.every(({ actor, workspace }) => actor === 'protocol' && workspace === null)).toBe(true)
  expect(entries.length).toBeGreaterThan(0)
  expect(await client.call('trail', 'verify', {})).toMatchObject({ sound: true })
  expect(existsSync(join(replica, run, 'run.json'))).toBe(true)
})

test('W-TRAIL-27, -30 on request: one run, all of them, and a snapshot; runs at work are refused', async () => {
  const { place } = configured('compact: off')
  const { client, solved, start } = await realNode(place)
  const first = await solved('One.')
  const second = await solved('Two.')
  expect((await client.call('trail', 'tiers', {})).cold.entries).toBe(0)
  const one = await client.call('trail', 'compact', { run: first })
  expect(one).toMatchObject({ runs: [{ run: first }], failed: [] })
  expect(await client.call('trail', 'compact', {})).toMatchObject({ runs: [{ run: second }], failed: [] })
  const taken = await client.call('trail', 'snapshot', { run: first })
  expect(taken).toMatchObject({ run: first, entries: taken.up_to })
  expect(readdirSync(place.path('default', 'trail', 'snapshots'))).toEqual([`${taken.snapshot}.zst`])
  const busy = await start('version: 1\nname: t\napproval: none\nagents:\n  a: { command: [sh, -c, "sleep 30"] }\n')
  for (const what of ['compact', 'snapshot'] as const)
    await expect(client.call('trail', what, { run: busy })).rejects.toMatchObject({ code: 'invalid_state' })
  await client.call('runs', 'abort', { run: busy, reason: 'enough' })
})

test('W-TRAIL-26 a replica that is away is refused, told, and nothing is lost', async () => {
  const { place, replica } = configured('compact: 0')
  const { client, solved, log } = await realNode(place)
  renameSync(replica, `${replica}.away`)
  const run = await solved('A thing.')
  await expect
    .poll(async () => (await client.call('node', 'status', {})).storage.faults, { timeout: 30_000 })
    .toMatchObject([{ run: null, code: 'replica_unavailable', attempts: 1 }])
  const message = expect.stringContaining(replica)
  expect(log.lines).toContainEqual(expect.objectContaining({ level: 'error', message }))
  await expect(client.call('trail', 'compact', { run })).rejects.toMatchObject({ code: 'replica_unavailable' })
  expect((await client.call('trail', 'tiers', {})).replica).toMatchObject({ problem: message })
  expect(await client.call('trail', 'verify', {})).toMatchObject({ sound: true })
  renameSync(`${replica}.away`, replica)
  expect((await client.call('trail', 'compact', { run })).runs).toMatchObject([{ run }])
})

test('a record that shall not be signed has no key', async () => {
  const { place } = configured('sign: false')
  const { client, solved } = await realNode(place)
  const run = await solved('A thing.')
  expect(await client.call('trail', 'keys', {})).toEqual({ keys: [] })
  const { entries } = await client.call('trail', 'query', { run, limit: 1 })
  expect(entries[0]!.integrity).not.toHaveProperty('signature')
  expect(await client.call('trail', 'verify', { run })).toMatchObject({ sound: true })
})
