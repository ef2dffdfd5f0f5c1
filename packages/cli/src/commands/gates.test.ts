import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CallError } from '@parley/call'
import { expect, onTestFinished, test } from 'vitest'
import { fakeNode } from '../testing/fake-node.ts'
import { parley } from '../testing/parley.ts'
import { FakeTerminal } from '../testing/terminal.ts'
import { at, gateView, questionView, runView } from '../testing/views.ts'
import type { GateView, UserView } from '../views.ts'

const one = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'
const two = 'run_01m8bbbbbbbbbbbbbbbbbbbbbb'
const view = runView()

function gated(...gates: GateView[]) {
  const answers: unknown[] = []
  const node = fakeNode({
    gates: async run => gates.filter(gate => run === undefined || gate.run === run),
    show: async () => view,
    respond: async (...answer) => {
      answers.push(answer)
      const [text] = answer
      const meant = gates.filter(({ id, run }) => id === text || run === text)
      return { run: meant[0]?.run ?? one, gates: meant.map(({ id }) => id) }
    },
    reply: async (...answer) => {
      answers.push(answer)
      return { run: one }
    },
  })
  return { node, answers }
}

const plan = (run: string) => gateView(run, 'plan')

test('approve and reject find the gate: the only one, by run, by a beginning, by its id', async () => {
  const { node, answers } = gated(plan(one), plan(two))
  expect((await parley(['approve', 'run_01m8'], { node })).code).toBe(0)
  expect((await parley(['reject', plan(one).id, '--reason', ' too much '], { node })).code).toBe(0)
  expect((await parley(['approve', 'last'], { node })).code).toBe(0)
  expect((await parley(['approve', plan(one).id.slice(0, 12), '--reason', 'fine'], { node })).code).toBe(0)
  expect(answers).toEqual([
    [plan(two).id, { decision: 'approve' }],
    [plan(one).id, { decision: 'reject', reason: 'too much' }],
    [plan(one).id, { decision: 'approve' }],
    [plan(one).id, { decision: 'approve', reason: 'fine' }],
  ])
  const only = gated(plan(two))
  expect((await parley(['approve'], { node: only.node })).out).toContain('Approved: plan?')
  expect(only.answers).toEqual([[plan(two).id, { decision: 'approve' }]])
})

test('a run stands for its whole plan', async () => {
  const { node, answers } = gated(gateView(one, 'a'), gateView(one, 'b'))
  const ran = await parley(['approve'], { node })
  expect(ran.out).toBe('Approved: a?\nApproved: b?\nWatch it: parley show run_01m7aaaaaa --follow\n')
  expect(answers).toEqual([[one, { decision: 'approve' }]])
  const json = await parley(['approve', one, '--json'], { node })
  expect(JSON.parse(json.out)).toEqual({
    run: one,
    gates: [gateView(one, 'a').id, gateView(one, 'b').id],
    decision: 'approve',
  })
})

test('a gate that is not clear is refused and nothing is answered', async () => {
  const { node, answers } = gated(plan(one), plan(two), gateView(one, 'merge', { type: 'integration' }))
  expect(await parley(['approve'], { node })).toMatchObject({ code: 3 })
  expect(await parley(['approve', 'run_01'], { node })).toMatchObject({ code: 3 })
  expect(await parley(['approve', 'run_01m7'], { node })).toMatchObject({ code: 3 })
  expect(await parley(['approve', 'run_02'], { node })).toMatchObject({ code: 3 })
  expect(await parley(['approve'], gated())).toMatchObject({ code: 3 })
  expect(answers).toEqual([])
})

test('a question takes a reply, a gate does not', async () => {
  const scan = questionView(one, 'scan')
  const { node, answers } = gated(scan, questionView(one, 'clean'))
  const wrong = await parley(['approve', scan.id], { node })
  expect(wrong.code).toBe(5)
  expect(wrong.err).toContain('next: parley reply sig_')
  expect((await parley(['reply', scan.id, 'The upper one'], { node })).code).toBe(0)
  expect((await parley(['reply', scan.id, '--abort'], { node })).code).toBe(0)
  expect((await parley(['reply', scan.id, '--delegate'], { node })).code).toBe(0)
  expect(answers).toEqual([
    [scan.id, { answer: 'envelope', text: 'The upper one' }],
    [scan.id, { answer: 'abort' }],
    [scan.id, { answer: 'delegate' }],
  ])
  expect((await parley(['reply', one, 'x'], gated(plan(one)))).code).toBe(5)
  expect((await parley(['reply', scan.id], { node })).code).toBe(2)
  expect((await parley(['reply', scan.id, 'x', '--abort'], { node })).code).toBe(2)
})

test('modify takes fields as words and from a file, and says what can change', async () => {
  const { node, answers } = gated(plan(one))
  const { id } = plan(one)
  const folder = mkdtempSync(join(tmpdir(), 'parley-modify-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'changes.json')
  writeFileSync(file, '{"name": "from the file", "priority": "urgent"}')
  const words = ['name=A better name', 'resource_estimate={"tokens": 5}']
  expect((await parley(['modify', id, ...words, '--reason', 'clearer'], { node })).code).toBe(0)
  expect((await parley(['modify', id, 'name=mine', '--file', file], { node })).code).toBe(0)
  expect(answers).toEqual([
    [
      id,
      {
        decision: 'modify',
        changes: { name: 'A better name', resource_estimate: { tokens: 5 } },
        reason: 'clearer',
      },
    ],
    [id, { decision: 'modify', changes: { name: 'mine', priority: 'urgent' } }],
  ])
  const nothing = await parley(['modify', id], { node })
  expect(nothing.code).toBe(2)
  expect(nothing.err).toContain('name, description, priority, resource_estimate')
  expect((await parley(['modify', id, 'name'], { node })).code).toBe(2)
  writeFileSync(file, '[1]')
  expect((await parley(['modify', id, '--file', file], { node })).code).toBe(2)
})

test('gates and escalations list what waits, or say that nothing does', async () => {
  const both = gated(plan(one), questionView(two, 'scan', { deadline: at(60), fallback: 'reject' }))
  expect((await parley(['gates'], both)).out).toContain('plan?')
  expect((await parley(['gates'], both)).out).not.toContain('scan?')
  expect((await parley(['escalations'], both)).out).toMatch(/scan\? +owner +reject in 1m00s/)
  expect(JSON.parse((await parley(['gates', '--json'], both)).out).gates).toEqual([plan(one)])
  expect((await parley(['gates'], gated())).out).toBe('No gate waits for you.\n')
  expect((await parley(['escalations'], gated())).out).toBe('No question waits for you.\n')
})

test('the inbox is printed once without a terminal, and again after each change with --follow', async () => {
  const lists = [[plan(one)], [plan(one), questionView(two, 'scan')], []]
  const node = fakeNode({
    gates: async () => lists[1]!,
    show: async () => view,
    watchGates: async function* () {
      yield* lists
    },
  })
  expect((await parley(['inbox'], { node })).out.split('\n')).toHaveLength(4)
  expect(JSON.parse((await parley(['inbox', '--json', '--run', one], { node })).out)).toEqual({
    waiting: [plan(one)],
  })
  const followed = await parley(['inbox', '--json', '--follow'], { node })
  const counts = followed.out
    .trim()
    .split('\n')
    .map(line => JSON.parse(line).waiting.length)
  expect(counts).toEqual([1, 2, 0])
})

test('on a terminal one is chosen by its number and answered', async () => {
  const { node, answers } = gated(plan(one), questionView(one, 'scan'))
  const watching = {
    ...node,
    watchGates: async function* (signal?: AbortSignal) {
      yield [plan(one), questionView(one, 'scan')]
      await new Promise(resolve => signal?.addEventListener('abort', resolve, { once: true }))
    },
  }
  const typed = ['9', '2', 'The upper one', '1', 'a', '1', 'l', 'q']
  const terminal = new FakeTerminal({ interactive: true, answers: typed })
  expect((await parley(['inbox'], { node: watching, terminal })).code).toBe(0)
  expect(answers).toEqual([
    [questionView(one, 'scan').id, { answer: 'envelope', text: 'The upper one' }],
    [plan(one).id, { decision: 'approve' }],
  ])
})

test('an answer that comes too late, or is not allowed, is told and the inbox stays', async () => {
  const node = {
    ...gated(plan(one)).node,
    watchGates: async function* (signal?: AbortSignal) {
      yield [plan(one)]
      await new Promise(resolve => signal?.addEventListener('abort', resolve, { once: true }))
    },
    respond: async () => {
      throw new CallError('not_found', 'gone')
    },
  }
  const terminal = new FakeTerminal({ interactive: true, answers: ['1', 'a', 'q'] })
  const ran = await parley(['inbox'], { node, terminal })
  expect(ran.code).toBe(0)
  expect(ran.err).toContain('Somebody else has answered already.')
})

test('words, suspension, budgets and users reach the node', async () => {
  const acts: unknown[] = []
  const act =
    (name: string, value: unknown = undefined) =>
    async (...of: unknown[]) => {
      acts.push([name, ...of])
      return value as never
    }
  const user: UserView = { user: 'bob', state: 'suspended', capabilities: [], waiting: 2 }
  const node = fakeNode({
    show: async () => view,
    inject: act('inject', { run: one, envelope: 'env_1' }),
    suspend: act('suspend'),
    resume: act('resume'),
    raiseBudget: act('raise'),
    budgets: async () => [
      { task: 'run', dimension: 'token_limit', limit: 1000, used: 900, warned: true },
      { task: 'docs', dimension: 'compute_timeout', limit: 60_000, used: 0, warned: false },
    ],
    users: async () => [user],
    changeUser: act('user', user),
  })
  const ran = async (...words: string[]) => {
    const { code, out, err } = await parley(words, { node })
    expect(code, err).toBe(0)
    return out
  }
  await ran('inject', 'last', 'Hurry', '--to', 'docs', '--priority', 'urgent')
  await ran('suspend', 'last', 'docs', '--reason', 'lunch')
  await ran('resume', 'last')
  const table = await ran('budget', 'last', 'tokens=2000', 'working_time=2h', 'trail=1MiB', '--task', 'docs')
  expect(table).toMatch(/run +tokens +900 +1k +90/)
  expect(table).toMatch(/docs +working_time +0.0s +1m00s +0/)
  expect(await ran('users')).toMatch(/bob +suspended +2/)
  await ran('users', 'suspend', 'bob', '--reason', 'holiday')
  await ran('users', 'grant', 'bob', 'abort_any')
  expect(acts).toEqual([
    ['inject', 'last', { text: 'Hurry', to: 'docs', priority: 'urgent' }],
    ['suspend', one, 'lunch', 'docs'],
    ['resume', one, undefined],
    ['raise', one, { dimension: 'token_limit', limit: 2000, task: 'docs' }],
    ['raise', one, { dimension: 'compute_timeout', limit: 7_200_000, task: 'docs' }],
    ['raise', one, { dimension: 'trail_limit', limit: 1_048_576, task: 'docs' }],
    ['user', { user: 'bob', act: 'suspend', reason: 'holiday' }],
    ['user', { user: 'bob', act: 'grant', capability: 'abort_any' }],
  ])
  for (const wrong of [
    ['budget', 'last', 'money=5'],
    ['budget', 'last', 'tokens=many'],
    ['users', 'suspend'],
    ['users', 'like', 'bob'],
  ])
    expect((await parley(wrong, { node })).code, wrong.join(' ')).toBe(2)
})

test('abort needs a run to be named', async () => {
  expect((await parley(['abort'])).code).toBe(2)
  const ended: unknown[] = []
  const node = fakeNode({ show: async () => view, abort: async (...of) => void ended.push(of) })
  expect((await parley(['abort', 'last', '--reason', 'wrong'], { node })).code).toBe(0)
  expect((await parley(['abort', 'last', 'docs'], { node })).code).toBe(0)
  const { out } = await parley(['abort', 'last', 'docs', '--grace', '1m30s'], { node })
  expect(out).toContain('Asked docs of')
  expect(out).toContain('to finish within 1m30s')
  expect(ended).toEqual([
    [one, 'wrong', undefined, undefined],
    [one, 'aborted by its owner', 'docs', undefined],
    [one, 'aborted by its owner', 'docs', 90_000],
  ])
  for (const grace of ['soon', '0s', '2d', ''])
    expect((await parley(['abort', 'last', '--grace', grace], { node })).code, grace).toBe(2)
  expect(ended).toHaveLength(3)
})

test('a reason that is too long is refused before anything happens', async () => {
  const node = fakeNode({ show: async () => view })
  expect((await parley(['abort', 'last', '--reason', 'x'.repeat(3000)], { node })).code).toBe(2)
})
