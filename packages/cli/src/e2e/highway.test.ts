// People and limits with real processes: gates answered and left alone, conflicts, a team inside the team, questions,
// budgets, and a node that is killed while all of that waits.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { GateView, RunView } from '../node/views.ts'
import { agentLine as agent } from '../testing/team.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const team = (text: string) => world.team(`version: 1\nname: house\ndescription: Tidy the house\n${text}`)

const SWEEP = agent('sweep', 'cat > told.txt; echo swept > floor.txt')

test('a supervised run is approved, modified and rejected from the command line', async () => {
  team(`agents:\n${SWEEP}${agent('wipe', 'echo wiped > table.txt')}gates: { preset: supervised }
plan:
  - { id: floor, title: Sweep the floor, agent: sweep, prompt: Sweep it. }
  - { id: table, title: Wipe the table, agent: wipe, prompt: Wipe it. }
`)
  await world.up()
  const run = await world.detach()
  const { waiting: plan } = await world.json<{ waiting: GateView[] }>('inbox')
  expect(plan).toMatchObject([
    { type: 'task_approval', task: 'floor', fallback: 'escalate_to_coordinator' },
    { type: 'task_approval', task: 'table' },
  ])
  await world.ok('modify', plan[0]!.id, 'description=Sweep it twice.', 'name=Sweep well')
  await world.ok('reject', plan[1]!.id, '--reason', 'The table is clean')
  const merge = await world.waiting(run, 'integration')
  expect(merge.question).toContain('be merged (2 files)?')
  await world.ok('approve', merge.id)
  const view = await world.over(run)
  expect(view).toMatchObject({
    state: 'failed',
    tasks: [
      { id: 'floor', title: 'Sweep well', state: 'done' },
      { id: 'table', state: 'cancelled' },
    ],
  })
  expect(view.tasks[1]?.note).toContain('did not approve it: The table is clean')
  expect(world.result(view, 'told.txt')).toContain('Sweep it twice.')
  const me = plan[0]!.addressee
  const { entries } = await world.json<{ entries: { actor: string; body: { action: string } }[] }>(
    'trail',
    'query',
    run,
    '--type',
    'gate_resolved',
  )
  expect(entries.map(({ actor, body }) => [actor, body.action])).toEqual([
    [me, 'modify'],
    [me, 'reject'],
    [me, 'approve'],
  ])
  expect((await world.parley('trail', 'verify', run)).code).toBe(0)
})

test('every gate falls back when nobody answers', async () => {
  const gate = (fallback: string) => `{ timeout: 400ms, fallback: ${fallback} }`
  const types = ['task_approval', 'workspace_create', 'envelope_delivery', 'integration', 'conflict_resolution']
  const gates = (fallback: string) => types.map(type => `  ${type}: ${gate(fallback)}\n`).join('')
  const rivals = `${agent('one', 'echo one > same.txt')}${agent('two', 'sleep 1; echo two > same.txt')}`
  team(`agents:\n${rivals}gates:\n${gates('approve')}merge: { conflicts: ask }
plan:
  - { id: a, agent: one, prompt: x }
  - { id: b, agent: two, prompt: x }
`)
  await world.up()
  const view = await world.over(await world.detach())
  expect(view.state).toBe('done')
  expect(world.result(view, 'same.txt')).toBe('two')
  const { entries } = await world.json<{ entries: { body: { gate_type: string } }[] }>(
    'trail',
    'query',
    view.run,
    '--type',
    'gate_timeout',
    '--limit',
    '200',
  )
  expect(new Set(entries.map(({ body }) => body.gate_type))).toEqual(new Set(types))
  // The same with no as the fallback: nothing is done, and nothing hangs.
  for (const type of types.slice(0, 4)) {
    const others = type === 'task_approval' ? '' : 'task_approval: { on: false }, '
    team(`agents:\n${SWEEP}gates: { ${others}${type}: ${gate('reject')} }\nlimits: { timeout: 20s }
plan: [{ id: floor, agent: sweep, prompt: x, attempts: 1 }]\n`)
    expect(await world.over(await world.detach()), type).toMatchObject({ tasks_done: 0 })
  }
}, 120_000)

test('two agents change one file: each way of settling it', async () => {
  const scripts =
    agent('one', "sed -i 's/^1$/one/' list.txt") +
    agent('far', "sleep 1; sed -i 's/^9$/far/' list.txt") +
    agent(
      'near',
      "sleep 1; if grep -q '^1$' list.txt; then sed -i 's/^1$/near/' list.txt; else echo near >> list.txt; fi",
    )
  const plan = (rival: string) =>
    `plan:\n  - { id: a, agent: one, prompt: x }\n  - { id: b, agent: ${rival}, prompt: x }\n`
  const numbers = '1\n2\n3\n4\n5\n6\n7\n8\n9\n'
  world.write('list.txt', numbers)
  await world.up()
  const lines = (view: RunView) => world.result(view, 'list.txt').split('\n')

  team(`approval: none\nagents:\n${scripts}${plan('far')}`)
  const joined = await world.over(await world.detach())
  expect([lines(joined)[0], lines(joined).at(-1)]).toEqual(['one', 'far'])

  team(`approval: none\nagents:\n${scripts}${plan('near')}`)
  const again = await world.over(await world.detach())
  expect(again.tasks[1]).toMatchObject({ attempt: 2, state: 'done' })
  expect([lines(again)[0], lines(again).at(-1)]).toEqual(['one', 'near'])

  team(`approval: none\nmerge: { conflicts: ask }\nagents:\n${scripts}${plan('near')}`)
  for (const [answer, first] of [
    [['approve'], 'near'],
    [['modify', 'resolution=existing'], 'one'],
  ] as const) {
    const run = await world.detach()
    const gate = await world.waiting(run, 'conflict_resolution')
    const [command, ...rest] = answer
    await world.ok(command, gate.id, ...rest)
    expect(lines(await world.over(run))[0]).toBe(first)
  }
  const run = await world.detach()
  await world.ok('reject', (await world.waiting(run, 'conflict_resolution')).id)
  expect((await world.over(run)).tasks[1]).toMatchObject({ attempt: 2, state: 'done' })
}, 120_000)

test('a team inside the team has its own subtree and its own result', async () => {
  team(`approval: none
agents:
${agent('api', 'echo api > api.txt')}${agent('store', 'cat api.txt > store.txt')}${agent('docs', 'cat store.txt > docs.txt')}plan:
  - id: backend
    prompt: The backend.
    plan:
      - { id: api, agent: api, prompt: The API. }
      - { id: store, agent: store, prompt: The store., needs: [api] }
    check: [sh, -c, 'test -e store.txt']
  - { id: docs, agent: docs, prompt: The docs., needs: [backend] }
`)
  await world.up()
  const view = await world.over(await world.detach())
  expect(view).toMatchObject({ state: 'done', tasks_done: 4 })
  expect(world.result(view, 'docs.txt')).toBe('api')
  expect(await world.ok('tree')).toMatch(/backend[\s\S]*api[\s\S]*store/)
})

test('a person answers the question of an agent, and another is left to it', async () => {
  const ask = 'if [ ! -e asked ]; then touch asked; parley ws block "Which floor?"; exit 0; fi; cat > mail.txt'
  team(`approval: none\nagents:\n${agent('ask', ask)}plan:
  - { id: a, agent: ask, prompt: x, paths: [asked, mail.txt] }
`)
  await world.up()
  const run = await world.detach()
  const question = await world.waiting(run, 'escalation')
  expect(question).toMatchObject({ kind: 'question', question: 'Which floor?', task: 'a' })
  await world.ok('reply', question.id, 'The upper one')
  expect(world.result(await world.over(run), 'mail.txt')).toContain('The upper one')
  const second = await world.detach()
  await world.waiting(second, 'escalation')
  await world.ok('reply', second, '--delegate')
  expect(world.result(await world.over(second), 'mail.txt')).toContain('Decide it yourself')
})

test('a budget that is used up stops the next task before it is dispatched', async () => {
  const spend = 'echo \'{"type":"usage","tokens_in":1200,"tokens_out":0}\'; echo x > a.txt'
  team(`approval: none
limits: { budget: { tokens: 2000 }, concurrency: 1 }
agents:
${agent('spend', spend, ', output: json-lines')}plan:
  - { id: a, agent: spend, prompt: x }
  - { id: b, agent: spend, prompt: x, needs: [a] }
  - { id: c, agent: spend, prompt: x, needs: [b] }
`)
  await world.up()
  const view = await world.over(await world.detach())
  expect(view.state).toBe('failed')
  expect(view.tasks.map(({ state, attempt }) => [state, attempt])).toEqual([
    ['done', 1],
    ['failed', 1],
    ['cancelled', 0],
  ])
  // What was left for the second was less than it used: it was ended, and nothing was started after it.
  expect(view.tasks[1]?.note).toContain('budget is used up: 1,200 of 800')
  expect(view.reason).toContain('budget')
})

test('a node is killed while gates and questions wait: they wait on, and late answers work', async () => {
  const ask = 'if [ ! -e asked ]; then touch asked; parley ws block "Which floor?"; exit 0; fi; cat > mail.txt'
  team(`agents:\n${agent('ask', ask)}${SWEEP}gates: { task_approval: { on: false }, integration: { timeout: never } }
plan:
  - { id: a, agent: ask, prompt: x }
  - { id: b, agent: sweep, prompt: x }
`)
  const node = await world.up()
  const run = await world.detach()
  await world.waiting(run, 'escalation')
  await world.waiting(run, 'integration')
  const before = await world.json<{ waiting: GateView[] }>('inbox')
  node.child.kill('SIGKILL')
  await node.ended
  await world.up()
  const after = await world.json<{ waiting: GateView[] }>('inbox')
  expect(after).toEqual(before)
  await world.ok('approve', before.waiting.find(({ type }) => type === 'integration')!.id)
  await world.ok('reply', before.waiting.find(({ type }) => type === 'escalation')!.id, 'The upper one')
  await world.ok('approve', (await world.waiting(run, 'integration')).id)
  const view = await world.over(run)
  expect(view.state).toBe('done')
  expect(world.result(view, 'mail.txt')).toContain('The upper one')
  expect((await world.parley('trail', 'verify', run)).code).toBe(0)
}, 60_000)
