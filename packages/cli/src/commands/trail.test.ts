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
  expect(out).toBe('7  00:00:07.000  writer  workspace_created  role=worker tries=2 ws_01m7cccccc\n')
  expect(err).toBe('There are more: --after 7\n')
})

test('on a narrow terminal the facts of an entry stand below it, what changed first', async () => {
  const entry = {
    ...entryView(5),
    event_type: 'workspace_state_changed',
    body: {
      workspace_id: 'ws_01m7cccccccccccccccccccccc',
      from_state: 'idle',
      initiator: 'coordinator',
      to_state: 'active',
      trigger: 'agent_started',
      timestamp: at(5),
    },
  } as unknown as EntryView
  const node = fakeNode({ queryTrail: async () => ({ run: one, entries: [entry], cursor: 5, more: false }) })
  const { out } = await parley(['trail', 'query'], { node })
  expect(out.split('\n')).toEqual([
    '5  00:00:05.000  writer  workspace_state_changed',
    '      idle → active initiator=coordinator trigger=agent_started ws_01m7cccccc',
    '',
  ])
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
