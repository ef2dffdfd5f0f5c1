// What the commands about the storage of the record say to people, and with which exit codes they end.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { NodeStatus, TiersView } from '../../node/views.ts'
import { fakeNode } from '../../testing/fake-node.ts'
import { tempFolder } from '../../testing/folder.ts'
import { parley } from '../../testing/parley.ts'

const none = { entries: 0, bytes: 0, runs: 0, oldest: null }
const tiers: TiersView = {
  hot: { entries: 12, bytes: 4000, runs: 1, oldest: '2026-11-15T10:00:00.000000Z' },
  warm: none,
  cold: { entries: 90_000, bytes: 7_000_000, runs: 40, oldest: '2026-01-01T10:00:00.000000Z' },
  deleted: 0,
  unreadable: [],
  replica: null,
}
const storage: NodeStatus['storage'] = { working: null, faults: [] }
const status = async () => ({ storage }) as NodeStatus

test('tiers: a table, and what is to be known of the replica', async () => {
  const say = async (shown: Partial<TiersView>, kept: Partial<NodeStatus['storage']> = {}) => {
    const node = fakeNode({
      '/trail/tiers': { ...tiers, ...shown },
      '/node/status': { storage: { ...storage, ...kept } } as NodeStatus,
    })
    return (await parley(['trail', 'tiers'], { node })).out
  }
  const alone = await say({})
  expect(alone).toMatch(/TIER +ENTRIES +SIZE +RUNS +SINCE\nhot +12 /)
  expect(alone).toContain('replica   none: the cold tier is lost if this disk is lost')
  expect(await say({ replica: { folder: '/r', lacking: 0 } })).toContain('/r, up to date')
  expect(await say({ replica: { folder: '/r', lacking: 2 } })).toContain('/r, lacks 2 files')
  expect(await say({ replica: { folder: '/r', lacking: 0, problem: 'It is full.' } })).toContain('It is full.')
  expect(await say({ deleted: 3, unreadable: ['cold/run_1/4'] })).toMatch(
    /deleted +3 entries[^\n]*\ndamaged +cold\/run_1\/4 cannot be read/,
  )
  const fault = {
    run: null,
    code: 'trail_full',
    message: 'The disk is full.',
    since: '2026-11-15T10:00:00.000000Z',
    attempts: 1,
    retry: '2026-11-15T10:01:00.000000Z',
  }
  expect(await say({}, { working: 'run_01m7', faults: [fault] })).toMatch(
    /working +on run_01m7\nwaiting +The disk is full\. Next attempt /,
  )
  const { out } = await parley(['trail', 'tiers', '--json'], {
    node: fakeNode({ '/trail/tiers': tiers, '/node/status': status }),
  })
  expect(JSON.parse(out)).toEqual({ ...tiers, storage })
})

test('compact: each run that moved, and 1 where one could not', async () => {
  const asked: unknown[] = []
  const run = (failed: { run: string; code: string; message: string }[], words: string[] = []) =>
    parley(['trail', 'compact', ...words], {
      node: fakeNode({
        '/trail/compact': async ({ run: which }) => {
          asked.push(which)
          return { runs: [{ run: 'run_1', archived: 7, records: 30 }], failed, freed: 2048 }
        },
      }),
    })
  const done = await run([])
  expect(done.code).toBe(0)
  expect(done.out).toContain('run_1: 7 entries to the cold tier, 30 records to files of the run')
  const half = await run([{ run: 'run_2', code: 'trail_damaged', message: 'Entry 4 was edited.' }], ['run_2'])
  expect([half.code, asked]).toEqual([1, [undefined, 'run_2']])
  expect(half.out).toContain('run_2: Entry 4 was edited.')
})

test('snapshot: what was frozen, with a head to keep', async () => {
  const head = 'a'.repeat(64)
  const { out, code } = await parley(['trail', 'snapshot', 'last', '--up-to', '9'], {
    node: fakeNode({
      '/trail/snapshot': async ({ run, up_to = 0 }) => ({ run, snapshot: 'snap_1', up_to, entries: 9, head }),
    }),
  })
  expect([code, out]).toEqual([0, `snap_1: 9 entries of last\nhead  last:9:${head}\n`])
  expect((await parley(['trail', 'snapshot'], { node: fakeNode() })).code).toBe(2)
})

test('restore: what was put back, and 1 where something is lost', async () => {
  const restore = (restored: string[], lost: string[]) =>
    parley(['trail', 'restore'], {
      node: fakeNode({ '/trail/restore': { restored, lost, replicated: 0 } }),
    })
  expect(await restore([], [])).toMatchObject({ code: 0, out: expect.stringContaining('intact') })
  expect(await restore(['cold/run_1/1.zst'], [])).toMatchObject({
    code: 0,
    out: 'restored  cold/run_1/1.zst\n1 file restored.\n',
  })
  expect(await restore([], ['cold/run_1/2.zst'])).toMatchObject({
    code: 1,
    out: expect.stringContaining('no intact copy'),
  })
})

test('verify --cold is for a whole copy, and for a folder that is there', async () => {
  const node = fakeNode()
  expect((await parley(['trail', 'verify', 'last', '--cold', '/r'], { node })).code).toBe(2)
  expect((await parley(['trail', 'verify', '--file', 'x', '--cold', '/r'], { node })).code).toBe(2)
  expect((await parley(['trail', 'verify', '--cold', '/no/such/folder'], { node })).code).toBe(3)
})

test('verify --cold says which key nobody has vouched for, and ends with 1', async () => {
  const folder = tempFolder()
  const key = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='
  const at = '2026-11-15T10:00:00.000000Z'
  const signature = 'a'.repeat(128)
  const endorsement = { from: key, to: key, at, until: at, signature, countersignature: signature }
  const keys = [{ key, since: at, until: null, endorsement }]
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ version: 1, keys }))
  const said = await parley(['trail', 'verify', '--cold', folder, '--key', key], { node: fakeNode() })
  expect(said.code).toBe(1)
  expect(said.out).toMatch(/^keys The endorsement of the key SHA256:\S+ does not hold\.$/m)
  const { out } = await parley(['trail', 'verify', '--cold', folder, '--json'], { node: fakeNode() })
  expect(JSON.parse(out)).toMatchObject({
    sound: false,
    problems: [expect.stringContaining('does not hold')],
  })
})
