import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CallError } from '@parley/call'
import { expect, test } from 'vitest'
import type { GateView, PlanTaskView, UserView } from '../../node/views.ts'
import { shortId } from '../../render/format.ts'
import { type Answering, aborted, fakeNode } from '../../testing/fake-node.ts'
import { tempFolder } from '../../testing/folder.ts'
import { parley } from '../../testing/parley.ts'
import { FakeTerminal } from '../../testing/terminal.ts'
import { at, gateView, questionView, runView, taskView } from '../../testing/views.ts'

const one = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'
const two = 'run_01m8bbbbbbbbbbbbbbbbbbbbbb'
const view = runView()

/** What waits, and stays so. */
function watching(...gates: GateView[]): Answering<'/gates/watch'> {
  return async function* (_input, { signal }) {
    yield { gates }
    await aborted(signal)
  }
}

function gated(...gates: GateView[]) {
  const answers: unknown[] = []
  const node = fakeNode({
    '/gates/list': async ({ run }) => ({ gates: gates.filter(gate => run === undefined || gate.run === run) }),
    '/gates/find': async input => {
      const named = gates.filter(({ id, run }) => input.name === undefined || [id, run].includes(input.name))
      const found = named.filter(({ kind }) => kind === input.kind)
      if (found.length > 0) return { gates: found }
      if (!named[0]) throw new CallError('not_found', 'Nothing is waiting for this answer.')
      throw new CallError('invalid_state', 'It is of the other kind.', { details: { gate: named[0].id } })
    },
    '/escalations/list': { gates: gates.filter(({ kind }) => kind === 'question') },
    '/gates/watch': watching(...gates),
    '/runs/show': view,
    '/gates/respond': async answer => {
      answers.push(answer)
      const meant = gates.filter(({ id, run }) => id === answer.gate || run === answer.gate)
      return { run: meant[0]?.run ?? one, gates: meant.map(({ id }) => id) }
    },
    '/escalations/respond': async answer => {
      answers.push(answer)
      return { run: one }
    },
  })
  return { node, answers }
}

const plan = (run: string) => gateView(run, 'plan')

test('approve and reject ask the node which gate is meant, and answer that one', async () => {
  const { node, answers } = gated(plan(one), plan(two))
  expect((await parley(['approve', two], { node })).out).toContain('Approved: plan?')
  expect((await parley(['reject', plan(one).id, '--reason', ' too much '], { node })).code).toBe(0)
  expect((await parley(['approve'], gated(plan(two)))).code).toBe(0)
  expect(node.asked('/gates/find')).toEqual([
    { name: two, kind: 'gate' },
    { name: plan(one).id, kind: 'gate' },
  ])
  expect(answers).toEqual([
    { gate: plan(two).id, decision: 'approve' },
    { gate: plan(one).id, decision: 'reject', reason: 'too much' },
  ])
})

test('a run stands for its whole plan', async () => {
  const { node, answers } = gated(gateView(one, 'a'), gateView(one, 'b'))
  const ran = await parley(['approve'], { node })
  expect(ran.out).toBe('Approved: a?\nApproved: b?\nWatch it: parley show run_aaaaaa --follow\n')
  expect(answers).toEqual([{ gate: one, decision: 'approve' }])
  const json = await parley(['approve', one, '--json'], { node })
  expect(JSON.parse(json.out)).toEqual({
    run: one,
    gates: [gateView(one, 'a').id, gateView(one, 'b').id],
    decision: 'approve',
  })
})

test('--all answers every gate that waits in a run, each by itself', async () => {
  const merge = gateView(one, 'merge', { type: 'integration' })
  const { node, answers } = gated(gateView(one, 'a'), merge)
  const ran = await parley(['approve', one, '--all'], { node })
  expect(ran.out).toContain('Approved: a?\nApproved: merge?\n')
  expect(node.asked('/gates/find')).toEqual([{ name: one, kind: 'gate', all: true }])
  expect(answers).toEqual([gateView(one, 'a'), merge].map(({ id }) => ({ gate: id, decision: 'approve' })))
})

test('what is not found, or not clear, is refused with what helps, and nothing is answered', async () => {
  expect(await parley(['approve', 'run_02'], gated(plan(one)))).toMatchObject({ code: 3 })
  const node = fakeNode({
    '/gates/find': new CallError('ambiguous', 'It fits two.', {
      details: { gates: [plan(one).id, plan(two).id], questions: ['plan?', 'more?'] },
    }),
  })
  const ran = await parley(['approve', 'run_01'], { node })
  expect(ran.code).toBe(3)
  expect(ran.err).toContain('\n  gate_aaplan  plan?\n  gate_bbplan  more?\n  next: ')
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
    { question: scan.id, answer: 'envelope', text: 'The upper one' },
    { question: scan.id, answer: 'abort' },
    { question: scan.id, answer: 'delegate' },
  ])
  expect((await parley(['reply', one, 'x'], gated(plan(one)))).code).toBe(5)
  expect((await parley(['reply', scan.id], { node })).code).toBe(2)
  expect((await parley(['reply', scan.id, 'x', '--abort'], { node })).code).toBe(2)
})

test('modify takes fields as words and from a file, and says what can change', async () => {
  const { node, answers } = gated(plan(one))
  const { id } = plan(one)
  const folder = tempFolder()
  const file = join(folder, 'changes.json')
  writeFileSync(file, '{"name": "from the file", "priority": "urgent"}')
  const words = ['name=A better name', 'resource_estimate={"tokens": 5}']
  expect((await parley(['modify', id, ...words, '--reason', 'clearer'], { node })).code).toBe(0)
  expect((await parley(['modify', id, 'name=mine', '--file', file], { node })).code).toBe(0)
  expect(answers).toEqual([
    {
      gate: id,
      decision: 'modify',
      changes: { name: 'A better name', resource_estimate: { tokens: 5 } },
      reason: 'clearer',
    },
    { gate: id, decision: 'modify', changes: { name: 'mine', priority: 'urgent' } },
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
  expect((await parley(['escalations'], both)).out).toMatch(/scan\? +owner +ends the work that asks in /)
  expect(JSON.parse((await parley(['gates', '--json'], both)).out).gates).toEqual([plan(one)])
  expect((await parley(['gates'], gated())).out).toBe('No gate is waiting for you.\n')
  expect((await parley(['escalations'], gated())).out).toBe('No question is waiting for you.\n')
})

test('the inbox is printed once without a terminal, and again after each change with --follow', async () => {
  const lists = [[plan(one)], [plan(one), questionView(two, 'scan')], []]
  const node = fakeNode({
    '/gates/list': { gates: lists[1]! },
    '/runs/show': view,
    '/gates/watch': async function* () {
      for (const gates of lists) yield { gates }
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
  const keys = ['9', '2', 'r', 'The upper one\r', '1', 'l', '\r', 'y', 'q']
  const terminal = new FakeTerminal({ interactive: true, keys })
  expect((await parley(['inbox'], { node, terminal })).code).toBe(0)
  expect(answers).toEqual([
    { question: questionView(one, 'scan').id, answer: 'envelope', text: 'The upper one' },
    { gate: plan(one).id, decision: 'approve' },
  ])
})

test('where several runs wait, what waits is named with its run', async () => {
  const both = [
    { ...plan(one), intent: 'Tidy' },
    { ...plan(two), intent: 'Paint' },
  ]
  expect((await parley(['gates'], gated(...both))).out).toMatch(/plan\? \(Tidy\)[\s\S]*plan\? \(Paint\)/)
  expect((await parley(['gates'], gated(both[0]!))).out).not.toContain('Tidy')
  const terminal = new FakeTerminal({ interactive: true, keys: ['q'] })
  expect((await parley(['inbox'], { node: gated(...both).node, terminal })).out).toMatch(
    /Tidy · waits[\s\S]*Paint · waits/,
  )
})

test('in the inbox, what is typed on after a line has closed or gone is never an answer', async () => {
  const { node, answers } = gated(gateView(one, 'a'), questionView(one, 'scan'))
  const terminal = new FakeTerminal({ interactive: true })
  const ends = parley(['inbox'], { node, terminal })
  await expect.poll(() => terminal.output).toContain('quit')
  // One opened at once is not yet read.
  terminal.press('1y')
  terminal.clock.advance(400)
  terminal.press('nno\x1by')
  terminal.clock.advance(400)
  terminal.press('\x1b')
  terminal.press('2')
  terminal.clock.advance(400)
  terminal.press('rall\r1y')
  await expect
    .poll(() => answers)
    .toEqual([{ question: questionView(one, 'scan').id, answer: 'envelope', text: 'all' }])
  terminal.clock.advance(400)
  terminal.press('q')
  expect((await ends).code).toBe(0)
})

test('an answer that comes too late, or is not allowed, is told and the inbox stays', async () => {
  const node = fakeNode({
    '/gates/watch': watching(plan(one)),
    '/gates/respond': new CallError('not_found', 'gone'),
  })
  const terminal = new FakeTerminal({ interactive: true, keys: ['1', 'y', 'q'] })
  const ran = await parley(['inbox'], { node, terminal })
  expect(ran.code).toBe(0)
  expect(ran.out).toContain('Somebody else has already answered.')
})

test('words, suspension, budgets and users reach the node', async () => {
  const acts: unknown[] = []
  const act =
    (name: string, value: unknown = undefined) =>
    async (input: unknown) => {
      acts.push([name, input])
      return value as never
    }
  const user: UserView = { user: 'bob', state: 'suspended', capabilities: [], waiting: 2 }
  const node = fakeNode({
    '/runs/show': view,
    '/highway/inject': act('inject', { run: one, envelope: 'env_1' }),
    '/workspaces/suspend': act('suspend'),
    '/workspaces/resume': act('resume'),
    '/budgets/raise': act('raise'),
    '/budgets/list': {
      budgets: [
        { task: 'run', dimension: 'token_limit', limit: 1000, used: 900, warned: true },
        { task: 'docs', dimension: 'compute_timeout', limit: 60_000, used: 0, warned: false },
      ],
    },
    '/users/list': { users: [user] },
    '/users/change': act('user', user),
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
    ['inject', { run: 'last', text: 'Hurry', to: 'docs', priority: 'urgent' }],
    ['suspend', { run: one, reason: 'lunch', task: 'docs' }],
    ['resume', { run: one }],
    ['raise', { run: one, dimension: 'token_limit', limit: 2000, task: 'docs' }],
    ['raise', { run: one, dimension: 'compute_timeout', limit: 7_200_000, task: 'docs' }],
    ['raise', { run: one, dimension: 'trail_limit', limit: 1_048_576, task: 'docs' }],
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

test('abort says what was kept', async () => {
  const kept: NonNullable<PlanTaskView['salvage']> = {
    state: 'kept',
    workspace: 'ws_1',
    checkpoint: 'cp_1',
    agent: 'a#1',
    files: ['x'],
    commit: 'c0ffee',
  }
  const ended = runView({ run: one, state: 'aborted', tasks: [taskView('docs', { salvage: kept }), taskView('more')] })
  const node = fakeNode({ '/runs/show': view, '/runs/abort': { run: one }, '/runs/follow': [ended] })
  const whole = await parley(['abort', 'last', '--reason', 'wrong'], { node })
  expect(whole.code).toBe(0)
  expect(whole.out).toContain(
    `kept    docs: 1 file, commit c0ffee\n        parley salvage docs --run ${shortId(one)}\n`,
  )
  expect((await parley(['abort', 'last', 'docs'], { node })).code).toBe(0)
  const { out } = await parley(['abort', 'last', 'docs', '--grace', '1m30s'], { node })
  expect(out).toContain('Asked docs of')
  expect(out).toContain('to finish within 1m30s')
  expect(node.asked('/runs/abort')).toEqual([
    { run: one, reason: 'wrong' },
    { run: one, reason: 'aborted by its owner', task: 'docs' },
    { run: one, reason: 'aborted by its owner', task: 'docs', grace: 90_000 },
  ])
  for (const grace of ['soon', '0s', '2d', ''])
    expect((await parley(['abort', 'last', '--grace', grace], { node })).code, grace).toBe(2)
  expect(node.asked('/runs/abort')).toHaveLength(3)
})

test('a reason that is too long is refused before anything happens', async () => {
  const node = fakeNode({ '/runs/show': view })
  expect((await parley(['abort', 'last', '--reason', 'x'.repeat(3000)], { node })).code).toBe(2)
})

test('last of a run that waits for nothing is answered by which run does wait', async () => {
  const { node, answers } = gated(plan(two))
  const refused = await parley(['reject', 'last'], {
    node: fakeNode({
      '/gates/find': new CallError('not_found', `Nothing named '${one}' is waiting.`),
      '/gates/list': { gates: [plan(two)] },
      '/runs/list': { runs: [{ ...view, run: one }] },
    }),
  })
  expect(refused).toMatchObject({ code: 3 })
  expect(refused.err).toBe(
    'parley: The newest run here, run_aaaaaa, waits for no approval.\n  why:  Other runs do:\n  next: run_bbbbbb: plan?\n',
  )
  expect([answers, node.asked('/gates/find')]).toEqual([[], []])
})

test('? explains the keys of the list, and two runs with one intent are told apart', async () => {
  const gates = [plan(one), plan(two)].map(gate => ({ ...gate, intent: 'Tidy the house' }))
  const terminal = new FakeTerminal({ interactive: true, keys: ['?', '?', 'q'] })
  expect((await parley(['inbox'], { node: gated(...gates).node, terminal })).code).toBe(0)
  const seen = terminal.output.replaceAll('\u001b[K', '')
  expect(seen).toContain('run_aaaaaa · Tidy the house · waits')
  expect(seen).toContain('run_bbbbbb · Tidy the house · waits')
  expect(seen).toContain('  1 to 9  opens the one with that number\n')
  expect(seen).not.toContain('Nothing happens there')
})

test('a plan is one thing in the inbox, and its tasks are answered together', async () => {
  const gates = ['a', 'b', 'c'].map(task => gateView(one, task, { intent: 'Tidy the house' }))
  const { node, answers } = gated(...gates)
  const terminal = new FakeTerminal({ interactive: true, keys: ['1', 'd', 'y', 'q'] })
  expect((await parley(['inbox'], { node, terminal })).code).toBe(0)
  const seen = terminal.output.replaceAll('\u001b[K', '')
  expect(seen).toContain('1 thing waits for you\n▸  1 May these 3 tasks start? Tidy the house\n')
  expect(seen).toContain(
    'May these 3 tasks start? Tidy the house\n  a?\n  b?\n  c?\nNone of them starts until you answer.\n',
  )
  for (const { id } of gates) expect(seen).toContain(id)
  expect(answers).toEqual(gates.map(({ id }) => ({ gate: id, decision: 'approve' })))
})
