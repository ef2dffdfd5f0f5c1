import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError } from '@parley/core'
import { beforeEach, expect, test } from 'vitest'
import type { EntryView } from '../../node/views.ts'
import { aborted, fakeNode, following } from '../../testing/fake-node.ts'
import { tempFolder } from '../../testing/folder.ts'
import { parley } from '../../testing/parley.ts'
import { FakeTerminal } from '../../testing/terminal.ts'
import { at, entryView, runView, stepView, taskView } from '../../testing/views.ts'

let folder: string
beforeEach(() => {
  folder = tempFolder()
})

const one = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'
const view = runView({ state: 'done', ended: at(42) })

test('trail query passes filters on and shows what fits', async () => {
  const node = fakeNode({
    '/trail/query': { run: one, entries: [entryView(7)], cursor: 7, more: true },
  })
  const flags = '--type workspace_created --actor writer --after 6 --newest --limit 900'
  const { out, err } = await parley(['trail', 'query', ...flags.split(' ')], { node })
  expect(node.asked('/trail/query')).toEqual([
    {
      run: 'last',
      event_type: ['workspace_created'],
      actor: 'writer',
      after: 6,
      order: 'descending',
      limit: 256,
    },
  ])
  expect(out).toBe('7  00:00:07.000  writer  workspace_created  role=worker tries=2 ws_cccccc\n')
  const named = fakeNode({
    '/trail/query': { run: one, entries: [entryView(7)], more: false, cursor: 7 },
    '/runs/show': runView({ tasks: [taskView('scan', { steps: [stepView()] })] }),
  })
  expect((await parley(['trail', 'query'], { node: named })).out).toContain('tries=2 scan (writer#1)\n')
  expect(err).toBe('There are more: --after 7\n')
})

test('several types are several flags; one that there is not is refused by the node', async () => {
  const message = "'task_creatd' is not a type of entry, and run_1 has none of it. Did you mean 'task_created'?"
  const refuse = (): never => {
    throw new ParleyError('invalid_query', message)
  }
  const node = fakeNode({
    '/runs/follow': following([view]),
    '/trail/watch': refuse,
    '/trail/query': async ({ event_type }) =>
      event_type?.includes('task_creatd') ? refuse() : { run: one, entries: [], cursor: 0, more: false },
  })
  const types = ['--type', 'task_created', '--type', 'acme.painted']
  expect(await parley(['trail', 'query', ...types], { node })).toMatchObject({
    code: 0,
    out: 'No entries.\n',
  })
  expect(node.asked('/trail/query')).toMatchObject([{ event_type: ['task_created', 'acme.painted'] }])
  for (const command of ['query', 'follow']) {
    const list = await parley(['trail', command, '--type', 'task_created,task_failed'], { node })
    expect(list, command).toMatchObject({
      code: 2,
      err: expect.stringContaining('--type task_created --type task_failed'),
    })
    const slip = await parley(['trail', command, '--type', 'task_creatd'], { node })
    expect(slip, command).toMatchObject({ code: 2, err: expect.stringContaining(message) })
  }
  expect(node.asked('/trail/query')).toHaveLength(2)
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
  const node = fakeNode({ '/trail/query': { run: one, entries: [entry], cursor: 5, more: false } })
  const { out } = await parley(['trail', 'query'], { node, terminal: new FakeTerminal({ columns: 80 }) })
  expect(out.split('\n')).toEqual([
    '5  00:00:05.000  writer  workspace_state_changed',
    '      idle → active initiator=coordinator trigger=agent_started ws_cccccc',
    '',
  ])
})

test('trail follow ends with its run, and shows every entry once', async () => {
  const node = fakeNode({
    '/runs/follow': following([view]),
    '/trail/watch': async function* (_query, { signal }) {
      yield { run: one, entries: [entryView(1)], cursor: 1, more: false }
      await aborted(signal)
    },
    '/trail/query': async ({ after }) => ({
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

test('trail follow calls work by its name, also what began while it followed', async () => {
  const [first, second] = ['ws_01m7cccccccccccccccccccccc', 'ws_01m7dddddddddddddddddddddd']
  const steps = [stepView({ workspace: first }), stepView({ workspace: second, kind: 'review', agent: 'critic#1' })]
  const shown = (count: number) =>
    runView({ tasks: [taskView('floor', { steps: steps.slice(0, count) })], cursor: 2 * count + 1 })
  const at = (seq: number, workspace: string | null) => ({ ...entryView(seq), workspace }) as EntryView
  let known = 0
  const node = fakeNode({
    '/runs/show': async () => shown(++known),
    '/runs/follow': following([view]),
    '/trail/watch': async function* (_query, { signal }) {
      yield { run: one, entries: [at(1, null), at(2, first), at(3, first)], cursor: 3, more: false }
      yield { run: one, entries: [at(4, first)], cursor: 4, more: false }
      yield { run: one, entries: [at(5, second)], cursor: 5, more: false }
      await aborted(signal)
    },
    '/trail/query': { run: one, entries: [at(6, first)], cursor: 6, more: false },
  })
  const { out } = await parley(['trail', 'follow'], { node })
  expect([out.match(/floor \(writer#1\)/g)?.length, out.match(/floor\/review \(critic#1\)/g)?.length]).toEqual([4, 1])
  expect(node.asked('/runs/show')).toHaveLength(2)
  await parley(['trail', 'follow', '--json'], { node })
  expect(node.asked('/runs/show')).toHaveLength(2)
})

test('Ctrl-C ends trail follow with 130', async () => {
  const terminal = new FakeTerminal()
  const node = fakeNode({
    '/runs/follow': following([runView()]),
    '/trail/watch': async function* (_query, { signal }) {
      yield { run: one, entries: [entryView(1)], cursor: 1, more: false }
      terminal.interrupt()
      expect(signal?.aborted).toBe(true)
    },
  })
  expect((await parley(['trail', 'follow'], { node, terminal })).code).toBe(130)
})

test('trail verify ends with 1 where something is damaged, and names it', async () => {
  const sound = fakeNode({
    '/trail/verify': {
      sound: true,
      runs: [{ run: one, entries: 78, findings: [], findings_total: 0 }],
      unreadable: [],
      unreadable_total: 0,
    },
  })
  expect(await parley(['trail', 'verify'], { node: sound })).toEqual({
    code: 0,
    err: '',
    out: 'Sound: 78 entries in 1 run, every hash, anchor and signature verified.\n',
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
    '/trail/verify': {
      sound: false,
      runs: [
        { run: one, entries: 78, findings: [finding, { ...finding, seq: 30 }], findings_total: 34 },
        { run: 'run_01m7bbbbbbbbbb', entries: 3, findings: [finding], findings_total: 1 },
      ],
      unreadable: ['segment 1 at 5', 'segment 1 at 9'],
      unreadable_total: 2,
    },
  })
  const damaged = await parley(['trail', 'verify', one], { node: bad })
  expect(damaged.code).toBe(1)
  // The first finding of each run, and a count: where the damage begins is what a person needs.
  expect(damaged.out.split('\n').slice(0, 3)).toEqual([
    'unreadable segment 1 at 5 (and 1 more place)',
    'edited run_aaaaaa: entry 29 does not match its hash (and 33 more findings)',
    'edited run_bbbbbb: entry 29 does not match its hash',
  ])
  expect(damaged.out).toContain('Damaged: 2 runs of 2')
  expect(damaged.out).toContain('All findings: --json.')
})

const piece = (text: string) => ({ data: Buffer.from(text, 'latin1').toString('base64') })

test('trail export writes one file, a new one only, for its owner only, and nothing where it fails', async () => {
  const node = fakeNode({
    '/trail/pack': async function* () {
      yield piece('parley-run/1\n')
      yield piece('\0\xff')
    },
  })
  const file = join(folder, 'run.parley')
  const args = ['trail', 'export', one, '--output', 'run.parley', '--no-content', '--up-to', '7']
  const ran = await parley(args, { node, cwd: folder })
  expect(ran).toMatchObject({ code: 0, out: `${file}: 15 B\n` })
  expect(ran.err).toContain('parley trail verify --file')
  expect(node.asked('/trail/pack')).toEqual([{ run: one, content: 'none', up_to: 7 }])
  expect(readFileSync(file)).toEqual(Buffer.from('parley-run/1\n\0\xff', 'latin1'))
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await parley(args, { node, cwd: folder })).toMatchObject({ code: 5 })
  expect(await parley(['trail', 'export', '--output', 'no/such/folder'], { node, cwd: folder })).toMatchObject({
    code: 5,
  })
  const failing = fakeNode({
    '/trail/pack': async function* () {
      yield piece('parley-run/1\n')
      throw new ParleyError('trail_damaged', 'entry 3 is damaged')
    },
  })
  const broken = await parley(['trail', 'export', '-o', 'broken.parley'], { node: failing, cwd: folder })
  expect(broken.err).toContain('entry 3 is damaged')
  expect(readdirSync(folder)).toEqual(['run.parley'])
})

test('trail export gives a pipe its bytes, and a person a hint', async () => {
  const node = fakeNode({
    '/trail/pack': async function* ({ content }) {
      yield piece(content ?? '')
    },
  })
  expect((await parley(['trail', 'export', '--decrypt'], { node })).out).toBe('opened')
  const seen = await parley(['trail', 'export'], { node, terminal: new FakeTerminal({ seen: true }) })
  expect(seen).toMatchObject({ code: 2, out: '' })
  expect(seen.err).toContain('parley trail export last --output run.parley')
  expect(seen.err).toContain('--format jsonl')
})

test('trail export --format jsonl writes lines, to a terminal too', async () => {
  const node = fakeNode({
    '/trail/export': async function* () {
      yield { lines: ['{"run":"x"}'] }
      yield { lines: ['{"seq":1}'] }
    },
  })
  const args = ['trail', 'export', '--format', 'jsonl']
  const terminal = new FakeTerminal({ seen: true })
  expect((await parley(args, { node, terminal })).out).toBe('{"run":"x"}\n{"seq":1}\n')
  const kept = await parley([...args, '--output', 'out.jsonl', '--json'], { node, cwd: folder })
  expect(JSON.parse(kept.out)).toMatchObject({ file: join(folder, 'out.jsonl'), format: 'jsonl' })
  expect(readFileSync(join(folder, 'out.jsonl'), 'utf8')).toBe('{"run":"x"}\n{"seq":1}\n')
  for (const flag of ['--no-content', '--decrypt', '--up-to=3'])
    expect(await parley([...args, flag], { node })).toMatchObject({ code: 2 })
  expect(await parley(['trail', 'export', '--no-content', '--decrypt'], { node })).toMatchObject({ code: 2 })
})

test('trail verify hands on the heads that it is given, and wants keys only for a file', async () => {
  const node = fakeNode({
    '/trail/verify': { sound: true, runs: [], unreadable: [], unreadable_total: 0 },
  })
  const head = `${one}:7:${'a'.repeat(64)}`
  const args = ['trail', 'verify', '--expect-head', head, '--expect-head', `house:1:${'b'.repeat(64)}`]
  expect((await parley(args, { node })).code).toBe(0)
  expect(node.asked('/trail/verify')).toEqual([
    {
      expect: [
        { run: one, seq: 7, hash: 'a'.repeat(64) },
        { run: 'house', seq: 1, hash: 'b'.repeat(64) },
      ],
    },
  ])
  for (const wrong of [
    ['--expect-head', 'run:0:x'],
    ['--expect-head', `${one}:0:${'a'.repeat(64)}`],
    ['--key', '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='],
    ['last', '--file', 'x.parley'],
  ])
    expect(await parley(['trail', 'verify', ...wrong], { node }), wrong.join(' ')).toMatchObject({ code: 2 })
})

test('trail verify --file says what a file is not, and which key is none', async () => {
  writeFileSync(join(folder, 'letter.txt'), 'Dear Mira')
  writeFileSync(join(folder, 'private.pem'), '-----BEGIN PRIVATE KEY-----\n')
  const verify = (...args: readonly string[]) => parley(['trail', 'verify', '--file', ...args], { cwd: folder })
  expect(await verify('letter.txt')).toMatchObject({
    code: 1,
    err: expect.stringContaining('no exported run'),
  })
  expect(await verify('gone.parley')).toMatchObject({ code: 3 })
  expect(await verify('letter.txt', '--key', 'abc')).toMatchObject({ code: 2 })
  expect(await verify('letter.txt', '--key-file', 'gone.pub')).toMatchObject({ code: 3 })
  const secret = await verify('letter.txt', '--key-file', 'private.pem')
  expect(secret).toMatchObject({ code: 2, err: expect.stringContaining('private key') })
})

test('trail heads prints what trail verify takes', async () => {
  const heads = [
    { run: one, seq: 78, hash: 'a'.repeat(64) },
    { run: 'run_2', seq: 3, hash: 'b'.repeat(64) },
  ]
  const node = fakeNode({
    '/trail/heads': async function* () {
      yield { heads: [heads[0]!] }
      yield { heads: [heads[1]!] }
    },
  })
  const { out } = await parley(['trail', 'heads'], { node })
  expect(out.trim().split('\n')).toEqual(heads.map(({ run, seq, hash }) => `${run}:${seq}:${hash}`))
  expect(JSON.parse((await parley(['trail', 'heads', '--json'], { node })).out)).toEqual({ heads })
})

const key = (name: string, until: string | null = null) => ({
  key: `${name}${'A'.repeat(43 - name.length)}=`,
  fingerprint: `SHA256:${name}`,
  since: at(1),
  until,
  endorsed_by: null,
})

test('trail keys shows the key in use first', async () => {
  const keys = [{ ...key('old', at(5)), since: null }, key('new')]
  const node = fakeNode({ '/trail/keys': { keys } })
  const terminal = new FakeTerminal({ columns: 200 })
  const { out } = await parley(['trail', 'keys'], { node, terminal })
  const [, first = '', second = ''] = out.split('\n')
  expect(first).toMatch(/^newA+= {2}SHA256:new +\d{4}-.* UTC {2}in use$/)
  expect(second).toMatch(/^oldA+= {2}SHA256:old +the beginning +\d{4}-.* UTC$/)
})

test('trail rotate-key says what it means and asks, and does nothing unasked', async () => {
  let rotations = 0
  const node = fakeNode({
    '/trail/rotate-key': async () => {
      rotations++
      return { old: key('old', at(5)), new: key('new'), recorded: true }
    },
  })
  const args = ['trail', 'rotate-key']
  const alone = await parley(args, { node })
  expect(alone).toMatchObject({ code: 5, err: expect.stringContaining('--yes') })
  const no = new FakeTerminal({ interactive: true, answers: [''] })
  expect((await parley(args, { node, terminal: no })).code).toBe(5)
  expect(no.output).toContain('peers that have pinned the old key must pin the new one')
  expect(rotations).toBe(0)
  const yes = new FakeTerminal({ interactive: true, answers: ['y'] })
  expect((await parley(args, { node, terminal: yes })).out).toContain('is recorded')
  expect((await parley([...args, '--yes', '--json'], { node })).code).toBe(0)
  expect(rotations).toBe(2)
})

test('trail import names the run, from whom it is, and how to look at it', async () => {
  const asked: unknown[] = []
  const node = fakeNode({
    '/trail/import': async input => {
      asked.push(input)
      const more = { ended: true, content: 'stored', from: 'SHA256:new', already: asked.length > 1 } as const
      return { run: one, entries: 78, objects: 4, ...more }
    },
  })
  const trusted = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='
  writeFileSync(join(folder, 'keys.txt'), `# Mira\n${trusted}\n\n`)
  const args = ['trail', 'import', 'run.parley', '--key-file', 'keys.txt']
  const first = await parley(args, { node, cwd: folder })
  expect(first.out).toBe(
    `${one} is imported: 78 entries with 4 objects, finished.\nfrom  SHA256:new\nlook  parley show ${one}\n`,
  )
  expect((await parley(args, { node, cwd: folder })).out).toContain('already imported')
  expect(asked[0]).toEqual({ file: join(folder, 'run.parley'), keys: [trusted] })
})
