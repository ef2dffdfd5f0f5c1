import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { TrailQueryInput } from '../node-api.ts'
import { fakeNode, following } from '../testing/fake-node.ts'
import { parley } from '../testing/parley.ts'
import { FakeTerminal } from '../testing/terminal.ts'
import { at, entryView, runView } from '../testing/views.ts'
import type { EntryView } from '../views.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-cli-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const one = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'
const view = runView({ state: 'done', ended: at(42) })

test('trail query passes filters on and shows what fits', async () => {
  const asked: TrailQueryInput[] = []
  const node = fakeNode({
    queryTrail: async query => {
      asked.push(query)
      return { run: one, entries: [entryView(7)], cursor: 7, more: true }
    },
  })
  const args = [
    'trail',
    'query',
    '--type',
    'workspace_created',
    '--actor',
    'writer',
    '--after',
    '6',
    '--newest',
    '--limit',
    '900',
  ]
  const { out, err } = await parley(args, { node })
  expect(asked).toEqual([
    {
      run: 'last',
      event_type: ['workspace_created'],
      actor: 'writer',
      after: 6,
      order: 'descending',
      limit: 256,
    },
  ])
  expect(out).toBe('7  00:00:07.000  writer  workspace_created  ws_01m7cccccc role=worker tries=2\n')
  expect(err).toBe('There are more: --after 7\n')
})

test('trail follow ends with its run, and shows every entry once', async () => {
  const node = fakeNode({
    follow: following([view]),
    watchTrail: async function* (_query, signal) {
      yield { run: one, entries: [entryView(1)], cursor: 1, more: false }
      await new Promise<void>(resolve => {
        if (signal?.aborted) resolve()
        signal?.addEventListener('abort', () => resolve(), { once: true })
      })
    },
    queryTrail: async ({ after }) => ({
      run: one,
      entries: after === 1 ? [entryView(2)] : [],
      cursor: 2,
      more: false,
    }),
  })
  const { out, code } = await parley(['trail', 'follow', '--json'], { node })
  expect(code).toBe(0)
  expect(
    out
      .trim()
      .split('\n')
      .map(line => (JSON.parse(line) as EntryView).seq),
  ).toEqual([1, 2])
})

test('Ctrl-C ends trail follow with 130', async () => {
  const terminal = new FakeTerminal()
  const node = fakeNode({
    follow: following([runView()]),
    watchTrail: async function* (_query, signal) {
      yield { run: one, entries: [entryView(1)], cursor: 1, more: false }
      terminal.interrupt()
      expect(signal?.aborted).toBe(true)
    },
  })
  expect((await parley(['trail', 'follow'], { node, terminal })).code).toBe(130)
})

test('trail verify ends with 1 where something is damaged, and names it', async () => {
  const sound = fakeNode({
    verifyTrail: async () => ({
      sound: true,
      runs: [{ run: one, entries: 78, findings: [] }],
      unreadable: [],
    }),
  })
  expect(await parley(['trail', 'verify'], { node: sound })).toEqual({
    code: 0,
    err: '',
    out: 'Sound: 78 entries in 1 run, every hash, anchor and signature as it was written.\n',
  })
  const finding = {
    seq: 29,
    entry: null,
    damage: 'edited',
    violation: 'hash_mismatch',
    message: 'entry 29 does not match its hash',
    expected: '',
    actual: '',
  }
  const bad = fakeNode({
    verifyTrail: async () => ({
      sound: false,
      runs: [{ run: one, entries: 78, findings: [finding] }],
      unreadable: [],
    }),
  })
  const damaged = await parley(['trail', 'verify', one], { node: bad })
  expect(damaged.code).toBe(1)
  expect(damaged.out).toContain('edited run_01m7aaaaaa: entry 29 does not match its hash')
})

test('trail export writes lines, to a new file only, for its owner only', async () => {
  const node = fakeNode({
    exportTrail: async function* () {
      yield '{"run":"x"}'
      yield '{"seq":1}'
    },
  })
  expect((await parley(['trail', 'export'], { node })).out).toBe('{"run":"x"}\n{"seq":1}\n')
  const file = join(folder, 'out.jsonl')
  const args = ['trail', 'export', '--output', 'out.jsonl']
  expect(await parley(args, { node, cwd: folder })).toMatchObject({ code: 0, err: `${file}: 1 entries\n` })
  expect(readFileSync(file, 'utf8')).toBe('{"run":"x"}\n{"seq":1}\n')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await parley(args, { node, cwd: folder })).toMatchObject({ code: 5 })
  expect(
    await parley(['trail', 'export', '--output', 'no/such/folder'], { node, cwd: folder }),
  ).toMatchObject({ code: 5 })
})
