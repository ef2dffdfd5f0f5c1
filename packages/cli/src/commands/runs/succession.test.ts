// `migrate`, `salvage` and `trail proof` against a node of the test's own: words, questions, exit codes.
import { expect, test } from 'vitest'
import type { LeftView, ProofView, SalvageView } from '../../node/views.ts'
import { fakeNode } from '../../testing/fake-node.ts'
import { parley } from '../../testing/parley.ts'
import { FakeTerminal } from '../../testing/terminal.ts'
import { at, runView, stepView, taskView } from '../../testing/views.ts'

const run = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'

const left: LeftView = {
  task: 'docs',
  workspace: 'ws_1',
  agent: 'writer#1',
  checkpoint: 'cp_1',
  final: false,
  failure: 'It broke.',
  text: 'half of it',
  files: ['a.md'],
  diff: '+a line',
  conflicts: ['a.md'],
}
const saved: SalvageView = {
  state: 'merged',
  workspace: 'ws_1',
  checkpoint: 'cp_1',
  agent: 'writer#1',
  files: ['a.md'],
}

function salvaging(state: SalvageView['state'] = 'merged') {
  return fakeNode({
    '/workspaces/left': { run, left },
    '/workspaces/salvage': { run, salvage: { ...saved, state } },
    '/runs/show': runView({ run, state: 'failed', ended: at(9) }),
  })
}

test('migrate says who takes over, and needs to be told', async () => {
  const node = fakeNode({
    '/workspaces/migrate': { run, workspace: 'ws_1', from: 'one#1', to: 'two#1' },
  })
  const { code, out } = await parley(['migrate', 'docs', '--to', 'two', '--reason', 'Slow'], { node })
  expect([code, out]).toEqual([0, 'two#1 continues docs in place of one#1.\n'])
  const json = await parley(['migrate', 'docs', '--to', 'two', '--run', 'run_01m7', '--json'], { node })
  expect(JSON.parse(json.out)).toMatchObject({ task: 'docs', from: 'one#1', to: 'two#1' })
  expect(node.asked('/workspaces/migrate')).toEqual([
    { run: 'last', task: 'docs', to: 'two', reason: 'Slow' },
    { run: 'run_01m7', task: 'docs', to: 'two', reason: 'moved by its owner' },
  ])
  expect((await parley(['migrate', 'docs'], { node })).code).toBe(2)
  expect((await parley(['migrate', '--to', 'two'], { node })).code).toBe(2)
})

test.each([
  ['y', true, 'merged', 0, 'Kept what docs left: 1 file.'],
  ['n', false, 'discarded', 0, 'Discarded what docs left.'],
  ['yes', true, 'discarded', 1, 'Discarded what docs left.'],
  ['y', true, 'open', 0, 'waits for an answer: parley gates'],
] as const)('salvage shows what was left and asks: %s', async (typed, take, state, code, words) => {
  const node = salvaging(state)
  const terminal = new FakeTerminal({ interactive: true, keys: ['p', typed] })
  const ran = await parley(['salvage', 'docs', '--reason', 'Why not'], { node, terminal })
  expect(ran.code).toBe(code)
  for (const part of ['docs failed: It broke.', 'not finished', '+a line', 'conflict a.md', words])
    expect(terminal.output).toContain(part)
  expect(node.asked('/workspaces/salvage')).toEqual([
    { run, task: 'docs', take, checkpoint: 'cp_1', reason: 'Why not' },
  ])
})

test('salvage decides nothing by itself, and asks nothing where it is told', async () => {
  const node = salvaging()
  expect((await parley(['salvage', 'docs'], { node })).code).toBe(5)
  const later = new FakeTerminal({ interactive: true, keys: ['l'] })
  expect((await parley(['salvage', 'docs'], { node, terminal: later })).code).toBe(5)
  const interrupted = new FakeTerminal({ interactive: true, keys: ['\x03'] })
  const { err } = await parley(['salvage', 'docs'], { node, terminal: interrupted })
  expect(err.replaceAll('\n', ' ')).toContain('Nothing was decided. parley salvage docs --yes keeps it')
  expect(node.asked('/workspaces/salvage')).toEqual([])
  expect((await parley(['salvage', 'docs', '--yes', '--discard'], { node })).code).toBe(2)
  // It is over.
  expect((await parley(['salvage', 'docs', '--yes'], { node })).out).toMatch(/^take {4}parley apply run_\w+$/m)
  const { out } = await parley(['salvage', 'docs', '--yes', '--json'], { node })
  expect(JSON.parse(out)).toMatchObject({ run, task: 'docs', state: 'merged' })
  await parley(['salvage', 'docs', '--discard'], { node })
  expect(node.asked('/workspaces/salvage')).toMatchObject([
    { run, take: true },
    { run, take: true },
    { run, take: false },
  ])
})

test('trail proof shows each step, and ends with 1 where one does not hold', async () => {
  const proof: ProofView = {
    run,
    entry: 'ent_1',
    seq: 17,
    event_type: 'checkpoint_created',
    workspace: 'ws_1',
    actor: 'worker',
    party: 'agent',
    identity: { status: 'verified', detail: 'Bound at its creation.', name: 'writer#1', run, entry: 'ent_0' },
    message: { status: 'failed', detail: 'It is not what was handed in.' },
    link: { status: 'verified', detail: 'In its place.', hash: 'f'.repeat(64), previous: null },
    signature: { status: 'none', detail: 'Not signed.', signer: null },
    complete: false,
  }
  const node = fakeNode({ '/trail/proof': async ({ entry }) => ({ ...proof, complete: entry === 17 }) })
  const whole = await parley(['trail', 'proof', 'last', '17'], { node })
  expect([whole.code, whole.out]).toEqual([0, expect.stringContaining('Every step is verified.')])
  const broken = await parley(['trail', 'proof', 'last', 'ent_1'], { node })
  expect(broken.code).toBe(1)
  expect(broken.out).toMatch(/what +failed +It is not what was handed in\./)
  expect(node.asked('/trail/proof')).toEqual([
    { run: 'last', entry: 17 },
    { run: 'last', entry: 'ent_1' },
  ])
  expect((await parley(['trail', 'proof', 'last'], { node })).code).toBe(2)
})

test('show tells who took over, what is asked to finish, and what was salvaged', async () => {
  const moves = [{ from: 'one#1', to: 'two#1', reason: 'Out of quota', at: at(2), outcome: 'completed' as const }]
  const view = runView({
    tasks: [
      taskView('docs', { state: 'migrating', note: 'two#1 takes over', steps: [stepView({ moves })] }),
      taskView('code', { state: 'working', terminating: { until: at(60), reason: 'Lunch' } }),
      taskView('test', { state: 'failed', note: 'It broke.', salvage: saved }),
    ],
  })
  const node = fakeNode({ '/runs/show': view, '/tasks/list': { tasks: view.tasks } })
  const { out } = await parley(['show'], { node })
  expect(out).toContain('→ docs')
  expect(out).toContain('two#1 takes over from one#1: Out of quota')
  expect(out).toMatch(/asked to finish within .*: Lunch/)
  expect(out).toContain('salvaged: 1 file of writer#1, cp_1')
  expect((await parley(['tasks'], { node })).out).toContain('salvaged: 1 file')
})
