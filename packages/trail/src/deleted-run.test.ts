// A run whose files somebody removed: what verification finds of it, by which memory, and what nobody can find.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { compact } from './testing/steps.ts'
import { type TestTrail, temporaryTrail } from './testing/temporary.ts'
import type { Trail } from './trail.ts'

/**
 * A run that is over and in the warm tier. A segment of the log that is as good as empty is kept, and a small run with
 * it.
 */
async function warmRun(turns: number): Promise<TestTrail & { readonly run: RunId }> {
  const made = await temporaryTrail()
  const script = await made.start()
  const worker = await script.workspace()
  for (let turn = 0; turn < turns; turn++) await script.envelope(script.root, worker, 'system')
  await script.end()
  const { id: run } = script.run
  const compactor = made.trail.storage
  await compact(compactor, script, made)
  unwrap(await compactor.reclaim())
  return { ...made, run }
}

const INDEX = ['trail.index.db', 'trail.index.db-wal', 'trail.index.db-shm']

async function removeAndReopen(made: TestTrail & { readonly run: RunId }, also: readonly string[]) {
  await made.trail.close()
  for (const name of [`trail/runs/${made.run}`, ...also])
    rmSync(join(made.profile, name), { recursive: true, force: true })
  return (await made.reopen()).trail
}

async function found(trail: Trail, run: RunId): Promise<readonly (readonly [string, boolean])[]> {
  const one = (await trail.run(run).verify()).findings.map(({ damage }) => damage)
  const all = (await trail.verifyAll()).runs.flatMap(({ findings }) => findings)
  expect(all.map(({ damage }) => damage)).toEqual(one)
  return all.map(({ damage, message }) => [damage, message.includes(run)])
}

test('a run whose files are gone is found although the log still has all of it', async () => {
  const made = await warmRun(10)
  expect((await made.trail.verifyAll()).runs.flatMap(({ findings }) => findings)).toEqual([])
  const trail = await removeAndReopen(made, [])
  expect(unwrap(await trail.run(made.run).query({})).entries).toEqual([])
  expect(await found(trail, made.run)).toEqual([['missing', true]])
  await trail.close()
})

test('without its index it is whole again: what the log has is shown', async () => {
  const made = await warmRun(10)
  const trail = await removeAndReopen(made, INDEX)
  expect(unwrap(await trail.run(made.run).query({})).entries.length).toBeGreaterThan(0)
  expect(await found(trail, made.run)).toEqual([])
  await trail.close()
})

test.each([
  ['the index knows of it', [], [['missing', true]]],
  ['the heads of the log know of it', INDEX, [['truncated', true]]],
  ['nobody knows of it: only a head that was kept elsewhere tells', [...INDEX, 'trail/heads'], []],
] as const)('a run that the log has dropped too: %s', async (_, also, findings) => {
  const made = await warmRun(150)
  const head = (await made.trail.runs()).find(({ run }) => run === made.run)!
  const trail = await removeAndReopen(made, also)
  expect(await found(trail, made.run)).toEqual(findings)
  const { runs } = await trail.verifyAll({ knownHeads: [{ run: made.run, seq: head.seq, hash: head.hash }] })
  expect(runs.flatMap(each => each.findings).length).toBeGreaterThan(0)
  await trail.close()
})

test('an archive whose manifest somebody made say that it was deleted is missed', async () => {
  const made = await warmRun(2000)
  await made.trail.close()
  const folder = join(made.profile, 'trail', 'runs', made.run)
  for (const name of readdirSync(folder).filter(each => each.endsWith('.json.zst'))) {
    const manifest = JSON.parse(zstdDecompressSync(readFileSync(join(folder, name))).toString())
    writeFileSync(join(folder, name), zstdCompressSync(JSON.stringify({ ...manifest, deleted: true })))
    rmSync(join(folder, name.replace('.json', '')))
  }
  for (const name of INDEX) rmSync(join(made.profile, name), { force: true })
  const { trail } = await made.reopen()
  const [first] = (await trail.run(made.run).verify()).findings
  expect(first).toMatchObject({
    seq: 1,
    damage: 'missing',
    message: expect.stringContaining('no entry that stays'),
  })
  expect(await found(trail, made.run)).toContainEqual(['missing', true])
  await trail.close()
})
