import { CallError } from '@parley/call'
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import type { RunView } from '../node/views.ts'
import { shortId } from '../render/format.ts'
import { following } from '../testing/fake-node.ts'
import { parley } from '../testing/parley.ts'
import { aborted, done, type Follow, node, plan, run, solve, waiting, working } from '../testing/solving.ts'
import { FakeTerminal, screenOf } from '../testing/terminal.ts'
import { at, gateView, questionView, runView, taskView } from '../testing/views.ts'

test('on a terminal the plan is shown and asked for once, then followed to its end', async () => {
  const { api, answers } = node(following([waiting], [working, done]))
  const terminal = new FakeTerminal({ live: true, interactive: true, answers: ['y'] })
  const { code } = await solve({ node: api, terminal })
  expect(code).toBe(0)
  const input = { intent: 'Tidy the house', project: '/nowhere', agent: 'a', approved: false }
  expect(api.asked('/solve/start')).toMatchObject([input])
  expect(answers).toEqual([{ gate: plan.id, decision: 'approve' }])
  expect(terminal.questions).toEqual(['\nStart? [y]es, [n]o, [d]etails: '])
  const screen = screenOf(terminal.output)
  expect(screen.slice(0, 4)).toEqual([
    'Tidy the house',
    'team house, 1 task, in /projects/house',
    '',
    '└─ · Scan the house  writer',
  ])
  expect(screen.slice(4)).toEqual([
    'Tidy the house  run_01m7aaaaaa',
    '└─ ✓ Scan the house  writer  1/2  5.0s',
    'Done. 1 of 1 task · 5.0s',
    'files   1 changed',
    '  report.md',
    'result  branch parley/tidy',
    'look    parley diff run_01m7aaaaaa',
    'take    parley apply run_01m7aaaaaa',
    'record  parley trail verify run_01m7aaaaaa',
  ])
  expect(api.closed()).toBe(true)
})

test('details are shown before the answer, and anything else asks again', async () => {
  const { api } = node(following([waiting], [done]))
  const terminal = new FakeTerminal({ interactive: true, answers: ['d', 'what?', ' YES '] })
  expect((await solve({ node: api, terminal })).code).toBe(0)
  expect(terminal.questions.length).toBe(3)
  expect(terminal.output).toContain('scan: Scan the house\n  agent    writer\n  limits   2 attempts at most\n')
})

test('no is a rejection, and the run ends with 1', async () => {
  const rejected: RunView = { ...done, state: 'rejected', reason: 'The plan was not approved.' }
  const { api, answers } = node(following([waiting], [rejected]))
  const ran = await solve({ node: api, terminal: new FakeTerminal({ interactive: true, answers: ['n'] }) })
  expect(ran.code).toBe(1)
  expect(ran.out).toContain('Rejected.')
  expect(answers).toMatchObject([{ decision: 'reject' }])
})

test('without a terminal nothing is asked: 5, and how to approve it', async () => {
  const { api, answers } = node(following([waiting]))
  const ran = await solve({ node: api })
  expect(ran.code).toBe(5)
  expect(ran.err).toContain('next: parley approve run_01m7aaaaaa starts it')
  expect(ran.err).toContain('--yes')
  expect(answers).toEqual([])
  const json = await solve({ node: api, terminal: new FakeTerminal({ interactive: true }) }, '--json')
  expect(json.code).toBe(5)
  expect(JSON.parse(json.err)).toMatchObject({
    error: { code: 'approval_needed', details: { run, gate: plan.id } },
  })
})

test('--yes approves beforehand, and without a terminal each change is one line', async () => {
  const { api } = node(following([working, working, done]))
  const ran = await solve({ node: api }, '--yes')
  expect(ran.code).toBe(0)
  expect(api.asked('/solve/start')).toMatchObject([{ approved: true }])
  expect(ran.out.split('\n').slice(0, 3)).toEqual([
    '[0/1] ● Scan the house (writer) working',
    '[1/1] ✓ Scan the house (writer) done 5.0s',
    'Done. 1 of 1 task · 5.0s',
  ])
})

test('--json prints one view a line and nothing else', async () => {
  const { api } = node(following([working, done]))
  const ran = await solve({ node: api }, '--yes', '--json')
  expect(ran).toMatchObject({ code: 0, err: '' })
  expect(
    ran.out
      .trim()
      .split('\n')
      .map(line => (JSON.parse(line) as RunView).state),
  ).toEqual(['working', 'done'])
})

test('--quiet prints the end only', async () => {
  const { api } = node(following([working, done]))
  const { out } = await solve({ node: api }, '--yes', '--quiet')
  expect(out.split('\n')[0]).toBe('Done. 1 of 1 task · 5.0s')
})

test('--detach returns at once and says how to come back', async () => {
  const { api } = node(following([waiting]))
  const ran = await solve({ node: api }, '--detach')
  expect(ran.code).toBe(0)
  expect(ran.out).toContain(`${run}\n`)
  expect(ran.out).toContain('parley show run_01m7aaaaaa --follow')
  expect(ran.out).toContain('parley approve run_01m7aaaaaa')
})

test('a run that fails ends with 1 and says why', async () => {
  const failed = runView({
    state: 'failed',
    ended: at(3),
    reason: 'scan: no house',
    tasks: [taskView('scan', { state: 'failed', note: 'no house' })],
  })
  const ran = await solve({ node: node(following([failed])).api }, '--yes')
  expect(ran.code).toBe(1)
  expect(ran.out).toContain('why: scan: no house')
})

/** Presses Ctrl-C as soon as the run is being followed. */
function interrupting(terminal: FakeTerminal, ...rounds: (readonly RunView[])[]): Follow {
  const next = following(...rounds)
  let pressed = false
  return async function* (input, options) {
    for await (const view of next(input, options)) {
      yield view
      if (pressed) continue
      pressed = true
      terminal.interrupt()
    }
  }
}

test('the first Ctrl-C asks on a terminal; nothing typed leaves the run running', async () => {
  const terminal = new FakeTerminal({ live: true, interactive: true, answers: [''] })
  const { api } = node(interrupting(terminal, [working]), { '/runs/abort': { run } })
  const { code, err } = await solve({ node: api, terminal }, '--yes')
  expect(code).toBe(130)
  expect(api.asked('/runs/abort')).toEqual([])
  expect(terminal.questions).toEqual(['\n[Enter] leaves run_01m7aaaaaa running, [a] aborts it: '])
  expect(err).toContain('Return to it: parley show run_01m7aaaaaa --follow')
  expect(terminal.listening).toBe(false)
})

test('the second Ctrl-C leaves at once, and the run is not aborted', async () => {
  const terminal = new FakeTerminal({ live: true, interactive: true, answers: [{ interrupt: true }] })
  const { api } = node(interrupting(terminal, [working]))
  await solve({ node: api, terminal }, '--yes')
  expect(terminal.left).toBe(130)
})

test('a aborts the run, and its end is still shown', async () => {
  const terminal = new FakeTerminal({ live: true, interactive: true, answers: ['a'] })
  const { api } = node(interrupting(terminal, [working], [aborted]), { '/runs/abort': { run } })
  const { code, out } = await solve({ node: api, terminal }, '--yes')
  expect(code).toBe(1)
  expect(api.asked('/runs/abort')).toMatchObject([{ reason: 'aborted at the terminal' }])
  expect(out).toContain('Aborted.')
})

test('without a terminal Ctrl-C leaves without a question', async () => {
  const terminal = new FakeTerminal()
  const { api } = node(interrupting(terminal, [working]))
  const { code, err } = await solve({ node: api, terminal }, '--yes')
  expect(code).toBe(130)
  expect(terminal.questions).toEqual([])
  expect(err).toContain('It continues without this terminal')
})

test('Ctrl-C at the plan leaves it waiting', async () => {
  const terminal = new FakeTerminal({ interactive: true, answers: [{ interrupt: true }] })
  const { api, answers } = node(following([waiting]))
  const { code, err } = await solve({ node: api, terminal })
  expect(code).toBe(130)
  expect(answers).toEqual([])
  expect(err).toContain(`parley approve ${shortId(plan.id)}`)
  expect(err).toContain('nothing has started')
  expect(err).not.toContain('goes on')
})

test('somebody else who answers first is right', async () => {
  const { api } = node(following([waiting], [done]), {
    '/gates/respond': new CallError('invalid_state', 'approved already'),
  })
  const ran = await solve({ node: api, terminal: new FakeTerminal({ interactive: true, answers: ['y'] }) })
  expect(ran.code).toBe(0)
  expect(ran.err).toContain('Somebody else has already answered.')
})

const question = questionView(run, 'scan', { question: 'Which floor?', since: at(2) })
const blocked = runView({
  tasks: [taskView('scan', { state: 'blocked', note: 'Which floor?', attempt: 1 })],
  gates: [question],
})

test('a plan is asked for once, and each of its tasks answered by itself', async () => {
  const tasks = ['a', 'b', 'c'].map(id => taskView(id))
  const gates = tasks.map(({ id }) => gateView(run, id))
  const { api, answers } = node(following([runView({ state: 'waiting', tasks, gates })], [done]))
  const terminal = new FakeTerminal({ interactive: true, answers: ['y'] })
  expect((await solve({ node: api, terminal })).code).toBe(0)
  expect(terminal.questions).toHaveLength(1)
  expect(answers).toEqual(gates.map(({ id }) => ({ gate: id, decision: 'approve' })))
})

const merge = gateView(run, 'scan', {
  type: 'integration',
  question: 'May the work on "Scan the house" be merged (one file)?',
  changes: ['strategy'],
  subject: { source: 'ws_1' },
})
const gated = runView({ tasks: [taskView('scan', { state: 'gated', attempt: 1 })], gates: [merge] })

test.each([
  [['d', 'a'], { decision: 'approve' }],
  [['r', 'Not this.'], { decision: 'reject', reason: 'Not this.' }],
  [['m', 'strategy="direct"'], { decision: 'modify', changes: { strategy: 'direct' } }],
  [['m', '', 'm', 'strategy=direct'], { decision: 'modify', changes: { strategy: 'direct' } }],
])('a gate that opens later is answered with %j', async (typed, answer) => {
  const { api, answers } = node(following([gated], [done]))
  const terminal = new FakeTerminal({ interactive: true, answers: typed })
  expect((await solve({ node: api, terminal }, '--yes')).code).toBe(0)
  expect(terminal.output).toContain('be merged (one file)?')
  expect(answers).toEqual([{ gate: merge.id, ...answer }])
})

test('without a terminal a gate with a fallback is waited for, one without ends the following', async () => {
  const soon = { ...gated, gates: [{ ...merge, deadline: at(60), fallback: 'approve' }] }
  const waited = node(following([soon], [soon, done]))
  expect((await solve({ node: waited.api }, '--yes')).code).toBe(0)
  const ended = await solve({ node: node(following([gated])).api }, '--yes')
  expect(ended.code).toBe(5)
  expect(ended.err).toContain(`parley approve ${shortId(merge.id)}, or parley reject`)
})

test('what an agent asks is asked on the terminal, and the reply goes back', async () => {
  const { api, answers } = node(following([blocked], [working, done]))
  const terminal = new FakeTerminal({ interactive: true, answers: ['The upper one'] })
  expect((await solve({ node: api, terminal }, '--yes')).code).toBe(0)
  expect(terminal.output).toContain('scan asks: Which floor?')
  expect(answers).toEqual([{ question: question.id, answer: 'envelope', text: 'The upper one' }])
})

test('without a terminal a question ends the following only when nothing else can go on', async () => {
  const busy = { ...blocked, tasks: [...blocked.tasks, taskView('other', { state: 'working' })] }
  const { api, answers } = node(following([busy], [busy, blocked], [blocked]))
  const ran = await solve({ node: api }, '--yes')
  expect(ran.code).toBe(5)
  expect(ran.err).toContain('scan asks: Which floor?')
  expect(ran.err).toContain(`parley reply ${shortId(question.id)} "…" answers it`)
  expect(answers).toEqual([])
})

test('a question that is left for later is not asked again at once', async () => {
  const busy = { ...blocked, tasks: [...blocked.tasks, taskView('other', { state: 'working' })] }
  const { api } = node(following([busy], [busy, done]))
  const terminal = new FakeTerminal({ interactive: true, answers: [''] })
  expect((await solve({ node: api, terminal }, '--yes')).code).toBe(0)
  expect(terminal.questions.length).toBe(1)
})

test('when the node dies it is reached again, and the run is followed to its end', async () => {
  const clock = new ManualClock()
  let connections = 0
  const dying = node(async function* () {
    yield working
    queueMicrotask(() => setImmediate(() => clock.advance(10_000)))
    throw new CallError('INTERNAL', 'connection closed')
  }).api
  const next = node(following([done])).api
  const ran = await solve({ clock, node: () => (connections++ === 0 ? dying : next) }, '--yes')
  expect(ran.code).toBe(0)
  expect(connections).toBe(2)
  expect(ran.err).toContain('The node is gone.')
})

test('a node that stays away ends with 4 after a few attempts', async () => {
  const clock = new ManualClock()
  let attempts = 0
  const { api } = node(async function* () {
    attempts++
    setImmediate(() => clock.advance(10_000))
    throw new CallError('UNAVAILABLE', 'nobody there')
  })
  const ran = await solve({ clock, node: api }, '--yes')
  expect(ran.code).toBe(4)
  expect(attempts).toBe(6)
})

test('show --follow only looks: a gate is left to others', async () => {
  const { api, answers } = node(following([waiting], [waiting, done]), { '/runs/show': waiting })
  const ran = await parley(['show', '--follow'], {
    node: api,
    terminal: new FakeTerminal({ interactive: true }),
  })
  expect(ran.code).toBe(0)
  expect(answers).toEqual([])
  expect(ran.err).toContain(`parley approve ${shortId(plan.id)}`)
})
