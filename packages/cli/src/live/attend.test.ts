import { CallError } from '@parley/call'
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import type { GateView, RunView } from '../node/views.ts'
import { shortId } from '../render/format.ts'
import { following } from '../testing/fake-node.ts'
import { parley } from '../testing/parley.ts'
import { aborted, done, type Follow, node, plan, run, solve, waiting, working } from '../testing/solving.ts'
import { FakeTerminal, screenOf } from '../testing/terminal.ts'
import { at, gateView, questionView, runView, taskView } from '../testing/views.ts'

test('on a terminal the plan is shown and asked for once, then followed to its end', async () => {
  const { api, answers } = node(following([waiting], [working, done]))
  const terminal = new FakeTerminal({ live: true, interactive: true, keys: ['y'] })
  const { code } = await solve({ node: api, terminal })
  expect(code).toBe(0)
  const input = { intent: 'Tidy the house', project: '/nowhere', agent: 'a', approved: false, attended: true }
  expect(api.asked('/solve/start')).toMatchObject([input])
  expect(answers).toEqual([{ gate: plan.id, decision: 'approve' }])
  expect(terminal.output).toContain('Start?')
  expect(screenOf(terminal.output)).toEqual([
    'Tidy the house  run_aaaaaa',
    '└─ ✓ Scan the house  writer  5.0s',
    'Done. 1 of 1 task · 5.0s',
    'files   1 changed',
    '  report.md',
    'result  branch parley/tidy',
    'look    parley diff run_aaaaaa',
    'take    parley apply run_aaaaaa',
    'record  parley trail verify run_aaaaaa',
  ])
  expect(api.closed()).toBe(true)
})

test('details stay above the question, a wrong key is told, help lists the keys, and nothing pasted is an answer', async () => {
  const { api } = node(following([waiting], [done]))
  const terminal = new FakeTerminal({ interactive: true, keys: ['d', 'x', '\r', '?', 'y'] })
  expect((await solve({ node: api, terminal })).code).toBe(0)
  const seen = terminal.output.replaceAll('\u001b[K', '')
  expect(seen).toContain('scan: Scan the house\n  agent    writer\n  limits   2 attempts at most\n')
  expect(seen).toContain("'x' does nothing here; ? shows the keys.")
  expect(seen).toContain('Enter does nothing here; ? shows the keys.')
  expect(seen).toContain('  y  all its tasks are approved\n  n  the run ends, and nothing has started\n')
  expect(seen).toContain('Nothing starts until you answer.')
})

test('a key that is pressed before the next question has settled, or comes with a paste, answers nothing', async () => {
  const terminal = new FakeTerminal({ interactive: true })
  const second = { ...merge, id: `${merge.id}2` }
  const { api, answers } = node(following([working, { ...gated, gates: [merge, second] }]))
  const ends = solve({ node: api, terminal }, '--yes')
  await expect.poll(() => terminal.output).toContain('? help')
  terminal.press('ly')
  expect(terminal.output).toContain('press the key again')
  terminal.clock.advance(500)
  terminal.press('y', true)
  expect(answers).toEqual([])
  terminal.press('y')
  await expect.poll(() => answers).toEqual([{ gate: second.id, decision: 'approve' }])
  terminal.press('\x03\x03')
  expect((await ends).code).toBe(130)
})

test('at a gate m lists what can be typed, and d shows what it is about in words, not as JSON', async () => {
  const gate = {
    ...merge,
    type: 'workspace_create',
    changes: ['priority'],
    change_forms: ['priority=…: critical, normal'],
    facts: [{ label: 'prompt', text: 'Paint it.' }],
    subject: { caused_by: 'env_1' },
  } satisfies GateView
  const { api, answers } = node(following([{ ...gated, gates: [gate] }], [done]))
  const terminal = new FakeTerminal({ interactive: true, keys: ['d', 'm', 'priority=normal\r'] })
  expect((await solve({ node: api, terminal }, '--yes')).code).toBe(0)
  const seen = terminal.output.replaceAll('\u001b[K', '')
  expect(seen).toContain('\nprompt   Paint it.\n')
  expect(seen).not.toContain('env_1')
  expect(seen).toContain('FIELD=VALUE, one of\npriority=…: critical, normal\n> █\n')
  expect(answers).toEqual([{ gate: gate.id, decision: 'modify', changes: { priority: 'normal' } }])
})

test('an answer from elsewhere takes the question away, says so, and the run goes on in view', async () => {
  const go = Promise.withResolvers<void>()
  const { api, answers } = node(async function* () {
    yield gated
    await go.promise
    yield working
    yield done
  })
  const terminal = new FakeTerminal({ interactive: true })
  const ends = solve({ node: api, terminal }, '--yes')
  await expect.poll(() => terminal.output).toContain('? help')
  // The tasks stay in view while something is asked.
  expect(screenOf(terminal.output).slice(0, 2)).toEqual(['Tidy the house  run_aaaaaa', '└─ ? scan  writer'])
  go.resolve()
  expect((await ends).code).toBe(0)
  expect(answers).toEqual([])
  const screen = screenOf(terminal.output)
  expect(screen[0]).toBe('Answered elsewhere: May the work on "Scan the house" be merged (one file)?')
  expect(screen.join('\n')).not.toContain('? help')
})

test('a terminal is notified of what waits and of the end, in our own words, where that is configured', async () => {
  const notes = async (bell: string, terminal: string) => {
    const screen = new FakeTerminal({ interactive: true, keys: ['y'] })
    const { api } = node(following([working, gated], [done]), {
      '/config/show': {
        values: [
          { key: 'notify.bell', value: bell, from: 'file' },
          { key: 'notify.terminal', value: terminal, from: 'file' },
        ],
      },
    })
    await solve({ node: api, terminal: screen }, '--yes')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what a terminal gets
    return screen.output.match(/\u0007|\u001b\][^\u0007]*\u0007/g) ?? []
  }
  const texts = ['run_aaaaaa waits for your answer.', 'run_aaaaaa has ended: done.']
  expect(await notes('false', 'off')).toEqual([])
  expect(await notes('true', 'off')).toEqual(['\u0007', '\u0007'])
  expect(await notes('false', 'osc9')).toEqual(texts.map(text => `\u001b]9;Parley: ${text}\u0007`))
  expect(await notes('false', 'osc777')).toEqual(texts.map(text => `\u001b]777;notify;Parley;${text}\u0007`))
})

test('with --yes nobody is told that the plan was approved already: the request did that', async () => {
  const terminal = new FakeTerminal({ live: true, interactive: true })
  const gone = new CallError('not_found', 'Nothing is waiting for this answer.')
  const { api } = node(following([waiting], [done]), { '/gates/respond': gone })
  const { code, out } = await solve({ node: api, terminal }, '--yes')
  expect(code).toBe(0)
  expect(api.asked('/gates/respond')).toHaveLength(1)
  expect(out).not.toContain('Somebody else')
})

test('gates of one moment are answered together with one key, each by itself', async () => {
  const two = { ...merge, id: `${merge.id}2`, question: 'May the work on "Clean" be merged?' }
  const both = { ...gated, gates: [merge, two] }
  const { api, answers } = node(following([both], [done]))
  const terminal = new FakeTerminal({ interactive: true, keys: ['a'] })
  expect((await solve({ node: api, terminal }, '--yes')).code).toBe(0)
  expect(terminal.output).toContain('a merge all 2')
  expect(answers).toEqual([merge, two].map(({ id }) => ({ gate: id, decision: 'approve' })))
})

test('at the plan one learns what else one is asked before', async () => {
  const gated: RunView = { ...waiting, asks_before: ['task_approval', 'workspace_create', 'integration'] }
  const { api } = node(following([gated], [done]))
  const terminal = new FakeTerminal({ interactive: true, keys: ['d', 'y'] })
  expect((await solve({ node: api, terminal })).code).toBe(0)
  expect(terminal.output.match(/you are also asked before an agent starts, work is merged/g)!.length).toBeGreaterThan(1)
  const plain = new FakeTerminal({ interactive: true, keys: ['y'] })
  await solve({ node: node(following([waiting], [done])).api, terminal: plain })
  expect(plain.output).not.toContain('also asked')
})

test('no is a rejection, and the run ends with 1', async () => {
  const rejected: RunView = { ...done, state: 'rejected', reason: 'The plan was not approved.' }
  const { api, answers } = node(following([waiting], [rejected]))
  const ran = await solve({ node: api, terminal: new FakeTerminal({ interactive: true, keys: ['n'] }) })
  expect(ran.code).toBe(1)
  expect(ran.out).toContain('Rejected.')
  expect(answers).toMatchObject([{ decision: 'reject' }])
})

test('without a terminal nothing is asked: 5, and how to approve it', async () => {
  const { api, answers } = node(following([waiting]))
  const ran = await solve({ node: api })
  expect(ran.code).toBe(5)
  expect(ran.err).toContain('next: `parley approve run_aaaaaa` starts it')
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

test('--quiet prints the end only, without warnings', async () => {
  const { api } = node(following([working, { ...done, warnings: ['mind this'] }]))
  const { out } = await solve({ node: api }, '--yes', '--quiet')
  expect(out).not.toContain('warning')
  expect(out.split('\n')[0]).toBe('Done. 1 of 1 task · 5.0s')
})

test('--detach returns at once and says how to come back', async () => {
  const { api } = node(following([waiting]))
  const ran = await solve({ node: api }, '--detach')
  expect(ran.code).toBe(0)
  expect(ran.out).toContain(`${run}\n`)
  expect(ran.out).toBe(
    `${run}\nIt has not started: parley approve run_aaaaaa starts it, parley reject run_aaaaaa cancels it.\n`,
  )
  const begun = await solve({ node: node(following([working])).api }, '--detach')
  expect(begun.out).toBe(`${run}\nIt is running in the background: parley show run_aaaaaa --follow\n`)
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
  expect(ran.out).toContain('✗ scan: no house\nresult  no changes\nmore    parley show run_aaaaaa\n')
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

test('the first Ctrl-C asks on a terminal, and leaves the run running where that is wanted', async () => {
  const terminal = new FakeTerminal({ live: true, interactive: true, keys: ['w'] })
  const { api } = node(interrupting(terminal, [working]), { '/runs/abort': { run } })
  const { code, err } = await solve({ node: api, terminal }, '--yes')
  expect(code).toBe(130)
  expect(api.asked('/runs/abort')).toEqual([])
  expect(terminal.output).toContain('Leave run_aaaaaa running, or end it?')
  expect(err.replaceAll('\n', ' ')).toContain('Return to it: `parley show run_aaaaaa --follow`')
  expect(terminal.listening).toBe(false)
})

test('the second Ctrl-C leaves at once, and the run is not aborted', async () => {
  const terminal = new FakeTerminal({ live: true, interactive: true, keys: ['\x03'] })
  const { api } = node(interrupting(terminal, [working]))
  expect((await solve({ node: api, terminal }, '--yes')).code).toBe(130)
  expect(api.asked('/runs/abort')).toEqual([])
})

test('e ends the run, and its end is still shown; the keys that pass over or approve a gate do nothing there', async () => {
  const terminal = new FakeTerminal({ live: true, interactive: true, keys: ['a', 'l', 'y', 'e'] })
  const { api } = node(interrupting(terminal, [working], [aborted]), { '/runs/abort': { run } })
  const { code, out } = await solve({ node: api, terminal }, '--yes')
  expect(code).toBe(1)
  expect(api.asked('/runs/abort')).toMatchObject([{ reason: 'aborted at the terminal' }])
  expect(out).toContain('Aborted.')
})

test('while a run is being ended its tasks stay in view, and whoever leaves meanwhile is told that it ends', async () => {
  const terminal = new FakeTerminal({ live: true, interactive: true, keys: ['e'] })
  const { api } = node(interrupting(terminal, [working]), {
    '/runs/abort': async (_input, { signal }) => {
      await new Promise(resolve => setImmediate(resolve))
      terminal.press('\x03')
      void signal
      throw new CallError('INTERNAL', 'connection closed')
    },
  })
  const { code, err } = await solve({ node: api, terminal }, '--yes')
  expect(code).toBe(130)
  const screen = screenOf(terminal.output)
  expect(screen[0]).toBe('Tidy the house  run_aaaaaa')
  expect(screen).toContain('Ending it: its agents have a moment to stop. Ctrl-C leaves.')
  expect(screen.join('\n')).not.toContain('The node is gone')
  expect(err.replaceAll('\n', ' ')).toBe(
    'It is being ended, also without this terminal. See how it ended: `parley show run_aaaaaa`. ',
  )
})

test('one Ctrl-C while an answer is on its way asks as well, as soon as the answer has arrived', async () => {
  const terminal = new FakeTerminal({ live: true, interactive: true, keys: ['y', 'w'] })
  const { api } = node(following([gated], [working]), {
    '/gates/respond': async ({ gate }) => {
      terminal.press('\x03')
      await new Promise(resolve => setImmediate(resolve))
      return { run, gates: [gate] }
    },
  })
  expect((await solve({ node: api, terminal }, '--yes')).code).toBe(130)
  expect(terminal.output).toContain('Leave run_aaaaaa running, or end it?')
})

test('a question of several lines is asked as it was written, and says how long its agent waits', async () => {
  const gates = [questionView(run, 'scan', { question: 'Which one?\n1. red\n2. blue', goes_on: at(45) })]
  const { api } = node(following([{ ...working, gates }]))
  const terminal = new FakeTerminal({ interactive: true, keys: ['\x03', 'w'] })
  await solve({ node: api, terminal }, '--yes')
  const seen = terminal.output.replaceAll('\u001b[K', '')
  expect(seen).toContain('scan asks: Which one?\n1. red\n2. blue\n')
  expect(seen).toContain('Its agent waits another 45 s, then it goes on without an answer.')
})

test('on 80 columns nothing of what else one is asked before is cut', async () => {
  const types = [
    'workspace_create',
    'envelope_delivery',
    'integration',
    'conflict_resolution',
    'workspace_abort',
  ] as const
  const { api } = node(following([{ ...waiting, asks_before: [...types] }], [done]))
  const terminal = new FakeTerminal({ interactive: true, keys: ['y'] })
  await solve({ node: api, terminal })
  const seen = terminal.output.replaceAll('\u001b[K', '')
  expect(seen).toContain('work is merged, a\nconflict is settled, work is ended\nStart?')
})

test('a task that is asked about after others have begun does not say that nothing has started', async () => {
  const tasks = [taskView('scan', { state: 'done', attempt: 1 }), taskView('wipe', { state: 'gated' })]
  const gate = gateView(run, 'wipe', {})
  const { api } = node(following([runView({ tasks, gates: [gate] })], [done]))
  const terminal = new FakeTerminal({ interactive: true, keys: ['y'] })
  await solve({ node: api, terminal })
  expect(terminal.output).toContain('It does not start until you answer.')
  expect(terminal.output).not.toContain('Nothing starts')
})

test('without a terminal Ctrl-C leaves without a question', async () => {
  const terminal = new FakeTerminal()
  const { api } = node(interrupting(terminal, [working]))
  const { code, err } = await solve({ node: api, terminal }, '--yes')
  expect(code).toBe(130)
  expect(terminal.questions).toEqual([])
  expect(err).toContain('It continues without this terminal')
})

test.each([
  ['\x03', 'w'],
  ['\x03', '\x03'],
])('Ctrl-C at the plan asks whether to cancel it or to leave it waiting: %j leaves it', async (...keys) => {
  const terminal = new FakeTerminal({ interactive: true, keys })
  const { api, answers } = node(following([waiting]))
  const { code, err, out } = await solve({ node: api, terminal })
  expect(code).toBe(130)
  expect(out).toContain('Cancel it, or leave it waiting?')
  expect(answers).toEqual([])
  expect(err.replaceAll('\n', ' ')).toBe(
    'Nothing starts until you answer. Start it: `parley approve run_aaaaaa`. Cancel it: `parley reject run_aaaaaa`. ',
  )
})

test('Ctrl-C at the plan, and c: the run is cancelled; b goes back to the question', async () => {
  const terminal = new FakeTerminal({ interactive: true, keys: ['\x03', 'b', '\x03', 'c'] })
  const go = Promise.withResolvers<void>()
  const { api } = node(
    async function* () {
      yield waiting
      await go.promise
      yield aborted
    },
    {
      '/runs/abort': async () => {
        go.resolve()
        return { run }
      },
    },
  )
  expect((await solve({ node: api, terminal })).code).toBe(1)
  expect(terminal.output.match(/leave it waiting\?/g)).toHaveLength(2)
})

test('the question of Ctrl-C follows the run: once it is at work, nothing speaks of a plan that waits', async () => {
  const terminal = new FakeTerminal({ interactive: true })
  const go = Promise.withResolvers<void>()
  const { api } = node(async function* (_input, { signal }) {
    yield waiting
    await go.promise
    yield working
    await new Promise(resolve => signal?.addEventListener('abort', resolve))
  })
  const ends = solve({ node: api, terminal })
  await expect.poll(() => terminal.output).toContain('Start?')
  terminal.press('\x03')
  await expect.poll(() => terminal.output).toContain('leave it waiting?')
  go.resolve()
  const screen = () => {
    terminal.clock.advance(100)
    return screenOf(terminal.output).join('\n')
  }
  await expect.poll(screen).toContain('Leave run_aaaaaa running, or end it?')
  expect(screenOf(terminal.output).join('\n')).not.toContain('Nothing starts')
  terminal.press('\x03')
  expect((await ends).code).toBe(130)
})

test('a plan with a fallback says what it does, and when', async () => {
  const soon = { ...waiting, gates: [{ ...plan, deadline: at(596), fallback: 'escalate_to_coordinator' }] }
  const terminal = new FakeTerminal({ interactive: true, keys: ['\x03', 'w'] })
  const { err } = await solve({ node: node(following([soon])).api, terminal })
  expect(terminal.output).toContain('Without an answer it starts by itself in 9 min 56 s.')
  expect(err).toContain('Without an answer it starts by itself in 9 min')
})

test('somebody else who answers first is right', async () => {
  const { api } = node(following([waiting], [done]), {
    '/gates/respond': new CallError('invalid_state', 'approved already'),
  })
  const ran = await solve({ node: api, terminal: new FakeTerminal({ interactive: true, keys: ['y'] }) })
  expect(ran.code).toBe(0)
  expect(ran.out).toContain('Somebody else has already answered.')
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
  const terminal = new FakeTerminal({ interactive: true, keys: ['y'] })
  expect((await solve({ node: api, terminal })).code).toBe(0)
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
  [['d', 'y'], { decision: 'approve' }],
  [['n', 'Not thus\x7f\x7fis.\r'], { decision: 'reject', reason: 'Not this.' }],
  [['n', '\r'], { decision: 'reject' }],
  [['s', '\r', 'Shorter\r'], { decision: 'reject', reason: 'Shorter', again: true }],
  [['m', 'strategy="direct"\r'], { decision: 'modify', changes: { strategy: 'direct' } }],
  [['m', '\r', '\x1b', 'm', 'strategy=direct\r'], { decision: 'modify', changes: { strategy: 'direct' } }],
])('a gate that opens later is answered with %j', async (typed, answer) => {
  const { api, answers } = node(following([gated], [done]))
  const terminal = new FakeTerminal({ interactive: true, keys: typed })
  expect((await solve({ node: api, terminal }, '--yes')).code).toBe(0)
  expect(terminal.output).toContain('be merged (one file)?')
  expect(answers).toEqual([{ gate: merge.id, ...answer }])
})

test('a change that is refused stays in its line, and what is typed on is never an answer', async () => {
  const wrong = new CallError('modification_not_allowed', 'There is no such priority.')
  const { api, answers } = node(following([working, gated]), {
    '/gates/respond': async answer => {
      answers.push(answer)
      if (answer.decision === 'modify') throw wrong
      return { run, gates: [answer.gate] }
    },
    '/runs/abort': { run },
  })
  const terminal = new FakeTerminal({ interactive: true })
  const ends = solve({ node: api, terminal }, '--yes')
  await expect.poll(() => terminal.output).toContain('? help')
  terminal.press('mstrategy=foo\ry')
  await expect.poll(() => screenOf(terminal.output).join('\n')).toMatch(/> strategy=foo█\nThere is no such priority\./)
  terminal.press('\x1bany y')
  for (const key of 'yay') {
    terminal.clock.advance(399)
    terminal.press(key)
  }
  expect(answers).toEqual([{ gate: merge.id, decision: 'modify', changes: { strategy: 'foo' } }])
  terminal.clock.advance(400)
  terminal.press('y')
  await expect.poll(() => answers.at(-1)).toEqual({ gate: merge.id, decision: 'approve' })
  terminal.press('qe')
  expect(api.asked('/runs/abort')).toEqual([])
  terminal.press('\x03\x03')
  expect((await ends).code).toBe(130)
})

test('without a terminal a gate with a fallback is waited for, one without ends the following', async () => {
  const soon = { ...gated, gates: [{ ...merge, deadline: at(60), fallback: 'approve' }] }
  const waited = node(following([soon], [soon, done]))
  expect((await solve({ node: waited.api }, '--yes')).code).toBe(0)
  const ended = await solve({ node: node(following([gated])).api }, '--yes')
  expect(ended.code).toBe(5)
  expect(ended.err).toContain(`\`parley approve ${shortId(merge.id)}\`, or \`parley reject`)
  expect(ended.err).toContain('`parley diff run_aaaaaa scan` shows the work')
})

test('what an agent asks is asked on the terminal, and the reply goes back', async () => {
  const { api, answers } = node(following([blocked], [working, done]))
  const terminal = new FakeTerminal({ interactive: true, keys: ['r', 'The upper one\r'] })
  expect((await solve({ node: api, terminal }, '--yes')).code).toBe(0)
  expect(terminal.output).toContain('scan asks: Which floor?')
  expect(answers).toEqual([{ question: question.id, answer: 'envelope', text: 'The upper one' }])
})

test('what an agent says and goes on is a remark, and gives way to what holds work up', async () => {
  const said = questionView(run, 'scan', { id: 'sig_said', question: 'The README is old.', remark: true })
  const working = taskView('scan', { state: 'working', attempt: 1 })
  const both = { ...blocked, tasks: [working, ...blocked.tasks], gates: [question, said] }
  const { api, answers } = node(following([runView({ tasks: [working], gates: [said] }), both]))
  const terminal = new FakeTerminal({ interactive: true })
  const ends = solve({ node: api, terminal }, '--yes')
  await expect.poll(() => terminal.output).toContain('scan says: The README is old.')
  expect(terminal.output).toContain('Its agent goes on meanwhile; a reply reaches it as mail.')
  await expect.poll(() => screenOf(terminal.output).join('\n')).toContain('scan asks: Which floor?')
  expect(screenOf(terminal.output).join('\n')).toContain('working, 2 things wait for you')
  expect(answers).toEqual([])
  terminal.press('\x03\x03')
  expect((await ends).code).toBe(130)
})

test('without a terminal a question ends the following only when nothing else can go on', async () => {
  const busy = { ...blocked, tasks: [...blocked.tasks, taskView('other', { state: 'working' })] }
  const { api, answers } = node(following([busy], [busy, blocked], [blocked]))
  const ran = await solve({ node: api }, '--yes')
  expect(ran.code).toBe(5)
  expect(ran.err).toContain('scan asks: Which floor?')
  expect(ran.err).toContain(`\`parley reply ${shortId(question.id)} "…"\` answers it`)
  expect(answers).toEqual([])
})

test('a question that is left for later is not asked again at once', async () => {
  const busy = { ...blocked, tasks: [...blocked.tasks, taskView('other', { state: 'working' })] }
  const go = Promise.withResolvers<void>()
  const { api } = node(async function* () {
    yield busy
    await go.promise
    yield busy
    yield done
  })
  const terminal = new FakeTerminal({ interactive: true, keys: ['l'] })
  const ends = solve({ node: api, terminal }, '--yes')
  await expect.poll(() => terminal.output).toContain(`parley reply ${shortId(question.id)}`)
  const before = terminal.output.length
  go.resolve()
  expect((await ends).code).toBe(0)
  expect(terminal.output.slice(before)).not.toContain('? help')
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

test('show --follow asks on a terminal like solve, and leaves gates to others elsewhere', async () => {
  const follow = async (terminal: FakeTerminal) => {
    const { api, answers } = node(following([waiting], [done]), { '/runs/show': waiting })
    const ran = await parley(['show', '--follow'], { node: api, terminal })
    return { ...ran, answers }
  }
  const asked = await follow(new FakeTerminal({ interactive: true, keys: ['y'] }))
  expect(asked).toMatchObject({ code: 0, answers: [{ decision: 'approve' }] })
  expect(asked.out).toContain('Start?')
  expect(await follow(new FakeTerminal())).toMatchObject({ code: 0, answers: [] })
})

test('plans inside tasks are approved with the plan, and nothing else is', async () => {
  const inner = gateView(run, 'inner', { id: 'gate_inner', question: 'May writer do "Inner"?' })
  const merge = gateView(run, 'scan', { id: 'gate_merge', type: 'integration', question: 'May it be merged?' })
  const team = taskView('scan', { state: 'working', attempt: 1, agent: 'team' })
  const tasks = [team, taskView('inner', { parent: 'scan' })]
  const begun = runView({ tasks, gates: [inner, merge] })
  const { api, answers } = node(following([waiting], [begun], [{ ...begun, gates: [merge] }], [done]))
  await solve({ node: api, terminal: new FakeTerminal({ interactive: true, keys: ['y', 'nNo\r'] }) })
  expect(answers).toMatchObject([
    { decision: 'approve' },
    { gate: 'gate_inner', decision: 'approve' },
    { gate: 'gate_merge', decision: 'reject' },
  ])
})
