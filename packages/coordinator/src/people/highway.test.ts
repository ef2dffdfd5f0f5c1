// People in the way of a run: gates of every kind, questions, budgets, breakers, suspension; each survives a restart.
import { type GraphId, type RunId, type TaskId, type TurnInput, unwrap } from '@parley/core'
import { Runtime } from '@parley/kernel'
import { openTrail } from '@parley/trail'
import { type EventBody, GATE_TYPES } from '@parley/trail/events'
import { expect, test } from 'vitest'
import type { RunsHost } from '../run/runs-host.ts'
import { aborted, alice, Fixture, hanging, planned, put, refusal, writes } from '../testing/fixture.ts'
import type { GateView } from '../view/people-view.ts'
import { Interventions } from './interventions.ts'

const solo = (extra = '') => `version: 1\nname: solo\nagents:\n  one: { command: [scripted, one] }\n${extra}`

const pair = (extra = '') => `version: 1
name: pair
agents:
  one: { command: [scripted, one] }
  two: { command: [scripted, two] }
plan:
  - { id: a, agent: one, prompt: Write one. }
  - { id: b, agent: two, prompt: Write two., needs: [a] }
${extra}`

type Resolved = EventBody<'gate_resolved'>

/** While the node is down, the coordinator adds a task that the plan has not. */
async function planMore(fixture: Fixture, run: RunId): Promise<void> {
  const store = await openTrail(fixture.profile)
  const runtime = await Runtime.open({ trail: store, secret: Buffer.alloc(32, 7), users: 'house' })
  const { coordinator } = unwrap(await runtime.open(run))
  const [made] = unwrap(await store.run(run).query({ event_type: 'task_created', limit: 1 })).entries
  const { graph_id, task_id } = made!.body as EventBody<'task_created'>
  const more = { name: 'more', description: 'Delete everything.', parent_task: task_id as TaskId }
  unwrap(await coordinator.addTasks(graph_id as GraphId, [more]))
  await runtime.close()
  await store.close()
}

const gateOf = async (fixture: Fixture, run: RunId, type: GateView['type']): Promise<GateView> => {
  const view = await fixture.until(run, ({ gates }) => gates.some(each => each.type === type))
  const gate = view.gates.find(each => each.type === type)
  if (!gate) throw new Error(`${run} is ${view.state} and has no gate of type ${type}: ${view.reason}`)
  return gate
}

test('with an approval of its own each task is approved under the name of whoever asked', async () => {
  const fixture = await Fixture.open({ one: writes('1', 'x'), two: writes('2', 'x') })
  const run = await fixture.solve(pair())
  expect((await fixture.over(run)).state).toBe('done')
  const resolved = { actor: 'alice', body: { reason: 'approved with the request' } }
  expect(await fixture.entries(run, 'gate_resolved')).toMatchObject([resolved, resolved])
  const originators = ['system', 'alice', 'alice'].map(originator => ({ body: { originator } }))
  expect(await fixture.entries(run, 'workspace_created')).toMatchObject(originators)
})

test('W-HWY-13 what is planned later waits for the person, also where the request came with an approval', async () => {
  let planned = false
  const fixture = await Fixture.open({
    one: async input => {
      if (!planned) await aborted(input)
      return writes('1', 'x')(input)
    },
    two: aborted,
  })
  const run = await fixture.solve(pair())
  await fixture.until(run, ({ tasks }) => tasks.some(({ state }) => state === 'working'))
  await fixture.stop()
  await planMore(fixture, run)
  planned = true
  await fixture.start()
  // The rest of the plan goes on under alice’s name; what she never saw waits for her.
  const view = await fixture.until(run, ({ tasks }) => tasks[1]?.state === 'working')
  expect(view.gates).toMatchObject([{ type: 'task_approval', addressee: 'alice', waits_for: 'person' }])
  const approved = async () => (await fixture.entries(run, 'task_approved')).map(({ actor }) => actor)
  expect(await approved()).toEqual(['alice', 'alice'])
  await fixture.respond(view.gates[0]!.id, { decision: 'approve' })
  expect(await approved()).toEqual(['alice', 'alice', 'alice'])
  const reasons = (await fixture.entries(run, 'gate_resolved')).map(({ body }) => (body as Resolved).reason)
  const given = 'approved with the request'
  expect(reasons).toEqual([given, given, undefined])
  await fixture.abort(run, { reason: 'enough' })
})

test('gated: every transition waits for a person, in a restart too, and then the run is done', async () => {
  const fixture = await Fixture.open({ one: writes('1', 'x'), two: writes('2', 'x') })
  const run = await fixture.solve(pair('gates: { preset: gated }\n'), { approved: false })
  const seen = new Set<string>()
  for (let rounds = 0; rounds < 40; rounds++) {
    const view = await fixture.until(run, ({ gates }) => gates.length > 0)
    if (view.gates.length === 0) break
    for (const gate of view.gates) {
      expect(gate).toMatchObject({ kind: 'gate', addressee: 'alice', waits_for: 'person' })
      expect(gate).not.toHaveProperty('deadline')
      if (!seen.has(gate.type)) {
        seen.add(gate.type)
        await fixture.restart()
        expect((await fixture.coordinator.gates.list(run)).map(({ id }) => id)).toContain(gate.id)
      }
      await fixture.respond(gate.id, { decision: 'approve' })
    }
  }
  expect((await fixture.over(run)).state).toBe('done')
  // Nothing conflicted and nothing was aborted here.
  expect([...seen].toSorted()).toEqual(
    GATE_TYPES.filter(type => type !== 'conflict_resolution' && type !== 'workspace_abort').toSorted(),
  )
  expect(new Set((await fixture.entries(run, 'gate_resolved')).map(({ actor }) => actor))).toEqual(new Set(['alice']))
}, 60_000)

test('supervised: what nobody answers falls to the coordinator, which lets it go on', async () => {
  const fixture = await Fixture.open({ one: writes('1', 'x') })
  const gates = 'gates: { preset: supervised, task_approval: { timeout: 500ms }, integration: { timeout: 500ms } }\n'
  const run = await fixture.solve(solo(gates), { approved: false })
  expect((await fixture.over(run)).state).toBe('done')
  const ended = ['task_approval', 'integration'].map(gate_type => ({ actor: 'system', body: { gate_type } }))
  expect(await fixture.entries(run, 'gate_resolved')).toMatchObject(ended)
})

test('a plan that somebody is asked about at a terminal has no time after which it starts', async () => {
  const fixture = await Fixture.open({ one: writes('1', 'x') })
  const plan = async (gates: string, attended: boolean) => {
    const run = await fixture.solve(solo(`gates: ${gates}\n`), { approved: false, attended })
    const { deadline, fallback } = await gateOf(fixture, run, 'task_approval')
    return deadline === undefined ? 'waits' : fallback
  }
  for (const preset of ['supervised', 'autonomous']) {
    expect(await plan(`{ preset: ${preset} }`, true)).toBe('waits')
    expect(await plan(`{ preset: ${preset} }`, false)).toBe(
      preset === 'supervised' ? 'escalate_to_coordinator' : 'approve',
    )
  }
  expect(await plan('{ preset: supervised, task_approval: { timeout: 1h, fallback: approve } }', true)).toBe('waits')
  // Nothing starts by this one.
  expect(await plan('{ preset: supervised, task_approval: { timeout: 1h, fallback: reject } }', true)).toBe('reject')
})

test('supervised asks about the plan and about what is merged, and never about a check, a review or an answer without files', async () => {
  const verdicts = ['REVISE: say it better', 'ACCEPT']
  const fixture = await Fixture.open({
    one: writes('1', 'x'),
    two: () => verdicts.shift() ?? 'ACCEPT',
    three: () => 'The answer.',
  })
  const run = await fixture.solve(
    `version: 1
name: asked
agents:
  one: { command: [scripted, one] }
  two: { command: [scripted, two] }
  three: { command: [scripted, three] }
gates: { preset: supervised }
plan:
  - { id: a, agent: one, prompt: Write., check: ['true'], review: { by: two, prompt: Judge. }, attempts: 2 }
  - { id: b, agent: three, prompt: Answer., needs: [a] }
`,
    { approved: false },
  )
  const asked: string[] = []
  for (;;) {
    const view = await fixture.until(run, ({ gates }) => gates.length > 0)
    if (view.gates.length === 0) break
    for (const { id, type } of view.gates) {
      asked.push(type)
      await fixture.respond(id, { decision: 'approve' })
    }
  }
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ attempt: 2 }, { attempt: 1 }] })
  expect(asked).toEqual(['task_approval', 'task_approval', 'integration'])
})

test.each([
  ['approve', 'done'],
  ['reject', 'rejected'],
] as const)('a task that nobody looks at falls back to %s', async (fallback, state) => {
  const fixture = await Fixture.open({ one: writes('1', 'x') })
  const gates = `gates: { task_approval: { timeout: 50ms, fallback: ${fallback} } }\n`
  expect((await fixture.finished(solo(gates), { approved: false })).state).toBe(state)
})

test('a rejected merge is the end of the task, and says who and why', async () => {
  const fixture = await Fixture.open({ one: writes('1', 'x') })
  const run = await fixture.solve(solo('gates: { task_approval: { on: false }, integration: { on: true } }\n'))
  const gate = await gateOf(fixture, run, 'integration')
  expect(gate.question).toContain('(one file)')
  await fixture.respond(gate.id, { decision: 'reject', reason: 'Not this.' })
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'failed', tasks: [{ state: 'failed', attempt: 1 }] })
  expect(view.tasks[0]?.note).toBe('alice did not let it be merged: Not this.')
  expect(fixture.result(view, '1')).toBeUndefined()
})

test('work that a person sends back is done once more, with the comment, whatever attempts it has left', async () => {
  const told: string[] = []
  const fixture = await Fixture.open({
    one: async input => {
      told.push(input.context.map(({ text }) => text).join('\n'))
      put(input.folder!, '1', `${told.length}`)
      return 'done'
    },
  })
  const only = 'plan:\n  - { id: a, agent: one, prompt: Write., attempts: 1 }\n'
  const run = await fixture.solve(solo(`gates: { task_approval: { on: false }, integration: { on: true } }\n${only}`))
  const first = await gateOf(fixture, run, 'integration')
  const back = { decision: 'reject', again: true } as const
  expect(await fixture.coordinator.gates.respond(first.id, { ...back, principal: alice })).toMatchObject(
    refusal('invalid_argument'),
  )
  await fixture.respond(first.id, { ...back, reason: 'Not so long.' })
  await fixture.until(run, ({ gates, tasks }) => tasks[0]!.attempt === 2 && gates.length > 0)
  expect(told[1]).toContain('alice did not let it be merged: Not so long.')
  await fixture.respond(run, { decision: 'approve' })
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ attempt: 2 }] })
  expect(view.tasks[0]!.steps.map(({ outcome, people }) => [outcome, people])).toEqual([
    ['revise', [{ by: 'alice', did: 'sent_back', text: 'Not so long.' }]],
    ['complete', undefined],
  ])
  expect(fixture.result(view, '1')).toBe('2')
})

test('a plan that is cancelled by ending its run says who ended it, and nothing of the protocol', async () => {
  const fixture = await Fixture.open({ one: writes('1', 'x'), two: writes('2', 'x') })
  const run = await fixture.solve(pair(), { approved: false })
  await gateOf(fixture, run, 'task_approval')
  unwrap(await fixture.coordinator.interventions.abort(run, { principal: alice, reason: 'aborted at the terminal' }))
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'rejected', reason: 'alice ended it: aborted at the terminal' })
  expect(view.tasks.map(({ note }) => note)).toEqual([
    'Not done: alice ended the run.',
    'Not done: alice ended the run.',
  ])
})

test('withholding the message that work would begin with ends the work, without another question', async () => {
  const fixture = await Fixture.open({ one: writes('1', 'x') })
  const gates = '{ task_approval: { on: false }, envelope_delivery: { on: true }, workspace_abort: { on: true } }'
  const run = await fixture.solve(solo(`gates: ${gates}\n`))
  const gate = await gateOf(fixture, run, 'envelope_delivery')
  await fixture.respond(gate.id, { decision: 'reject', reason: 'Not this.' })
  const view = await fixture.over(run)
  expect(view.tasks).toMatchObject([{ state: 'failed', note: 'alice withheld its message: Not this.' }])
  expect(await fixture.entries(run, 'gate_triggered')).toHaveLength(1)
})

test('work that a person does not let the coordinator end is not asked about again, and begins with another message', async () => {
  const fixture = await Fixture.open({ one: writes('1', 'x') })
  const delivery = '{ on: true, timeout: 20ms, fallback: reject }'
  const gates = `{ task_approval: { on: false }, envelope_delivery: ${delivery}, workspace_abort: { on: true } }`
  const run = await fixture.solve(solo(`gates: ${gates}\n`))
  const gate = await gateOf(fixture, run, 'workspace_abort')
  await fixture.respond(gate.id, { decision: 'reject' })
  unwrap(await fixture.coordinator.interventions.inject(run, { principal: alice, to: 'solve', text: 'Begin.' }))
  expect((await fixture.over(run)).state).toBe('done')
  const asked = await fixture.entries(run, 'gate_triggered')
  expect(asked.map(({ body }) => body)).toMatchObject([
    { gate_type: 'envelope_delivery' },
    { gate_type: 'workspace_abort' },
  ])
})

test('a rejected workspace is not asked for again', async () => {
  const fixture = await Fixture.open({ one: writes('1', 'x') })
  const run = await fixture.solve(solo('gates: { task_approval: { on: false }, workspace_create: { on: true } }\n'))
  const gate = await gateOf(fixture, run, 'workspace_create')
  expect(gate.facts).toEqual([
    { label: 'agent', text: 'one' },
    { label: 'runs', text: 'scripted one' },
    { label: 'prompt', text: 'Do it.' },
    { label: 'files', text: 'any may be changed' },
    { label: 'attempt', text: '1 of 2' },
  ])
  await fixture.respond(gate.id, { decision: 'reject', reason: 'No room.' })
  const view = await fixture.over(run)
  expect(view.tasks).toMatchObject([{ state: 'cancelled', note: 'Not done: alice did not approve it: No room.' }])
  expect(await fixture.entries(run, 'gate_triggered')).toHaveLength(1)
})

/** Only keeps what it is asked to do. */
const noting = (told: string[]) => (input: TurnInput) => {
  told.push(input.prompt)
  return 'done'
}

test('what a person changes at the gate of a task is what the agent is told', async () => {
  const told: string[] = []
  const fixture = await Fixture.open({ one: noting(told) })
  const run = await fixture.solve(solo(), { approved: false, intent: 'Paint it red.' })
  const gate = await gateOf(fixture, run, 'task_approval')
  expect(gate.changes).toContain('description')
  expect(gate.subject).toMatchObject({ description: 'Paint it red.' })
  const wrong = { decision: 'modify', changes: { depends_on: [] }, principal: alice } as const
  const bad = await fixture.coordinator.gates.respond(gate.id, wrong)
  expect(bad).toMatchObject({ ok: false, error: { details: { reason: 'modification_not_allowed' } } })
  const changes = { description: 'Paint it blue.', name: 'Painting' }
  await fixture.respond(gate.id, { decision: 'modify', changes })
  const view = await fixture.over(run)
  expect(told).toEqual(['Paint it blue.'])
  expect(view).toMatchObject({ state: 'done', tasks: [{ title: 'Painting' }] })
})

test('a review judges the task as a person changed it', async () => {
  const told: string[] = []
  const fixture = await Fixture.open({
    one: writes('blue.txt'),
    judge: input => {
      told.push(input.prompt, ...input.context.flatMap(({ kind, text }) => (kind === 'directive' ? [text] : [])))
      return 'ACCEPT'
    },
  })
  const run = await fixture.solve(
    planned('{ id: a, agent: one, title: Paint, prompt: Paint it red., review: { by: judge } }'),
    { approved: false },
  )
  const gate = await gateOf(fixture, run, 'task_approval')
  await fixture.respond(gate.id, {
    decision: 'modify',
    changes: { description: 'Paint it blue.', name: 'Painting' },
  })
  expect((await fixture.over(run)).state).toBe('done')
  expect(told).toEqual([expect.stringContaining('"Painting"'), 'Paint it blue.'])
})

test('a letter is changed on its way', async () => {
  const told: string[] = []
  const fixture = await Fixture.open({ one: noting(told) })
  const run = await fixture.solve(solo('gates: { task_approval: { on: false }, envelope_delivery: { on: true } }\n'))
  const gate = await gateOf(fixture, run, 'envelope_delivery')
  expect(unwrap(await fixture.coordinator.views.view(run)).asks_before).toEqual(['envelope_delivery'])
  expect(unwrap(await fixture.coordinator.views.view(run)).tasks[0]?.state).toBe('gated')
  expect(gate.facts).toMatchObject([
    { label: 'from', text: 'the coordinator' },
    { label: 'to', text: 'one' },
    { label: 'kind', text: 'directive' },
    { label: 'text', text: 'Do it.' },
  ])
  const payload = { format: 'text', content: 'Something else.', attachments: [] }
  await fixture.respond(gate.id, { decision: 'modify', changes: { payload } })
  expect((await fixture.over(run)).state).toBe('done')
  expect(told).toEqual(['Something else.'])
})

test('somebody without the right cannot answer, and the gate goes on waiting', async () => {
  const fixture = await Fixture.open({ one: writes('1', 'x') })
  const run = await fixture.solve(solo(), { approved: false })
  const gate = await gateOf(fixture, run, 'task_approval')
  const bob = { id: 'bob', kind: 'user', scopes: [] } as const
  unwrap(await fixture.coordinator.users.accept(bob, 'test'))
  expect(await fixture.coordinator.gates.respond(gate.id, { decision: 'approve', principal: bob })).toMatchObject(
    refusal('permission_denied'),
  )
  expect(await fixture.coordinator.gates.list(run)).toHaveLength(1)
  await fixture.respond(run, { decision: 'approve' })
  expect((await fixture.over(run)).state).toBe('done')
  expect(await fixture.entries(run, 'capability_denied')).toMatchObject([{ actor: 'bob' }])
})

/** A run whose agent asks in its first turn, what it is told in each, and the question. */
async function asked(gates = '') {
  const told: string[] = []
  const fixture = await Fixture.open({
    one: async input => {
      told.push(input.context.map(({ text }) => text).join('\n'))
      if (told.length === 1) unwrap(await unwrap(fixture.coordinator.verbs(input.token!)).block('Which colour?'))
      put(input.folder!, 'colour.txt', `${told.length}\n`)
      return 'done'
    },
  })
  return { told, fixture, run: await fixture.solve(solo(gates)) }
}

test.each([
  ['delegate', 'done'],
  ['abort', 'failed'],
] as const)('a question is answered with %s', async (answer, state) => {
  const { told, fixture, run } = await asked()
  const gate = await gateOf(fixture, run, 'escalation')
  expect(gate).toMatchObject({ kind: 'question', question: 'Which colour?', addressee: 'alice', task: 'solve' })
  unwrap(await fixture.coordinator.gates.reply(gate.id.slice(0, 12), { answer, principal: alice }))
  const view = await fixture.over(run)
  expect(view.state).toBe(state)
  if (state === 'done') expect(told[1]).toContain('Nobody could answer')
  else expect(view.tasks[0]?.note).toContain('alice ended it')
})

test.each([
  ['approve', 'done'],
  ['reject', 'failed'],
  ['delegate_to_coordinator', 'done'],
] as const)('a question that nobody answers falls back to %s', async (fallback, state) => {
  const gates = `gates: { task_approval: { on: false }, escalation: { timeout: 50ms, fallback: ${fallback} } }\n`
  const { fixture, run } = await asked(gates)
  expect((await fixture.over(run)).state).toBe(state)
  expect(await fixture.entries(run, 'escalation_timeout')).toHaveLength(1)
})

test('an agent that only asks is stopped by a breaker', async () => {
  let turns = 0
  const fixture: Fixture = await Fixture.open({
    one: async input => {
      turns++
      unwrap(await unwrap(fixture.coordinator.verbs(input.token!)).block('And now?'))
      return 'asked'
    },
  })
  const gates =
    'gates: { task_approval: { on: false }, escalation: { timeout: 20ms, fallback: delegate_to_coordinator } }\n'
  const view = await fixture.finished(solo(`limits: { attempts: 1 }\n${gates}`))
  expect(view.state).toBe('failed')
  expect(turns).toBe(3)
  expect(view.reason).toContain('Breaker: 3 turns in a row changed nothing')
})

test('attempts that come to the same are not repeated for ever', async () => {
  let turns = 0
  const fixture = await Fixture.open({
    one: () => {
      turns++
      throw new Error('no network')
    },
  })
  const view = await fixture.finished(solo('limits: { attempts: 9 }\n'))
  expect(view.state).toBe('failed')
  expect(turns).toBe(3)
  expect(view.tasks[0]?.note).toContain('Breaker: 3 attempts in a row came to the same.')
})

const spending = (tokens: number) => (input: TurnInput, emit: (event: never) => void) => {
  emit({ type: 'usage', usage: { tokensIn: tokens, tokensOut: 0 } } as never)
  put(input.folder!, `${input.agent.replace('#', '')}.txt`, 'x')
  return 'done'
}

test('a budget of the run that is used up stops the next task before it is dispatched', async () => {
  const second: string[] = []
  const fixture = await Fixture.open({ one: spending(1000), two: noting(second) })
  const run = await fixture.solve(pair('limits: { budget: { tokens: 1000 } }\n'))
  const view = await fixture.over(run)
  expect(view.state).toBe('failed')
  expect(second).toEqual([])
  await fixture.restart()
  expect(unwrap(await fixture.coordinator.budgets.list(run))).toMatchObject([{ task: 'run', limit: 1000, used: 1000 }])
  expect(view.tasks[1]).toMatchObject({ state: 'cancelled', note: 'The budget of the run is used up: tokens.' })
  expect(await fixture.entries(run, 'workspace_created')).toHaveLength(2)
})

test.each([
  ['while it works', aborted],
  ['with its last words', () => Promise.resolve('done')],
])(
  'a turn that goes over its budget %s is ended, its work kept, and attempts share what the task has',
  async (_when, end) => {
    let turns = 0
    const fixture = await Fixture.open({
      one: async (input, emit) => {
        turns++
        put(input.folder!, 'part.txt', 'a part')
        emit({ type: 'usage', usage: { tokensIn: 5000, tokensOut: 0 } } as never)
        return end(input)
      },
    })
    const run = await fixture.solve(
      `${planned('{ id: a, agent: one, prompt: Work., budget: { tokens: 3000 } }')}limits: { attempts: 5 }\n`,
    )
    const view = await fixture.over(run)
    expect(view.state).toBe('failed')
    expect(turns).toBe(1)
    expect(view.tasks[0]?.note).toContain('Its budget is used up: 5,000 of 3,000 tokens.')
    expect(view.usage).toMatchObject({ turns: 1, tokens_in: 5000 })
    expect(view.tasks[0]?.salvage).toMatchObject({ files: ['part.txt'] })
    expect(await fixture.entries(run, 'budget_exceeded')).toHaveLength(1)
    expect(await fixture.entries(run, 'budget_warning')).toHaveLength(1)
  },
)

test('work that a person or its time ends shows its turn and what that used', async () => {
  const fixture = await Fixture.open({
    one: (input, emit) => {
      emit({ type: 'usage', usage: { tokensIn: 700, tokensOut: 20, usd: 0.5 } } as never)
      return aborted(input)
    },
  })
  const task = '{ id: a, agent: one, prompt: Work. }'
  for (const ended of [{ task: 'a' }, {}, undefined]) {
    const limits = `limits: { attempts: 1${ended ? '' : ', timeout: 3s'} }\n`
    const run = await fixture.solve(`${planned(task)}${limits}`)
    await fixture.until(run, ({ usage }) => usage.tokens_in === 700)
    if (ended) await fixture.abort(run, { ...ended, reason: 'enough' })
    const { usage } = await fixture.over(run)
    expect(usage).toMatchObject({ turns: 1, tokens_in: 700, tokens_out: 20, usd: 0.5 })
  }
})

test('a run that goes over its budget shows what all its turns used, that of the last one too', async () => {
  const fixture = await Fixture.open({
    one: async (_input, emit) => {
      emit({ type: 'usage', usage: { usd: 1.23 } } as never)
      return 'done'
    },
  })
  const tasks = ['{ id: a, agent: one, prompt: x }', '{ id: b, agent: one, prompt: x, needs: [a] }']
  const run = await fixture.solve(`${planned(...tasks)}limits: { attempts: 1, budget: { cost: 2 } }\n`)
  const { state, usage, tasks: done } = await fixture.over(run)
  expect([state, usage.turns, usage.usd]).toEqual(['failed', 2, 2.46])
  expect(done.map(task => task.usage.usd)).toEqual([1.23, 1.23])
})

test('a higher budget lets the work go on, under the name of whoever gave it', async () => {
  const fixture: Fixture = await Fixture.open({
    one: async (input, emit) => {
      if (input.epoch === 1) unwrap(await unwrap(fixture.coordinator.verbs(input.token!)).block('More?'))
      return spending(900)(input, emit)
    },
  })
  const run = await fixture.solve(planned('{ id: a, agent: one, prompt: Work., budget: { tokens: 1000 } }'))
  await gateOf(fixture, run, 'escalation')
  expect(unwrap(await fixture.coordinator.budgets.list(run))).toMatchObject([
    { task: 'a', dimension: 'token_limit', limit: 1000, used: 900, warned: true },
  ])
  const raise = { principal: alice, task: 'a', dimension: 'token_limit' }
  expect(await fixture.coordinator.budgets.raise(run, { ...raise, limit: 900 })).toMatchObject({ ok: false })
  unwrap(await fixture.coordinator.budgets.raise(run, { ...raise, limit: 5000 }))
  await fixture.reply(run, { answer: 'envelope', text: 'Yes.' })
  expect((await fixture.over(run)).state).toBe('done')
  const modified = { actor: 'alice', body: { new_limit: 5000 } }
  expect(await fixture.entries(run, 'budget_modified')).toMatchObject([modified])
})

test('suspended work stands still, over a restart as well, and goes on when it is resumed', async () => {
  const signals: AbortSignal[] = []
  const fixture = await Fixture.open({
    one: async (input, emit) => {
      signals.push(input.signal)
      emit({ type: 'usage', usage: { usd: 0.5 } } as never)
      if (signals.length < 3) await aborted(input)
      put(input.folder!, 'a.txt', 'x')
      return 'done'
    },
  })
  const run = await fixture.solve(solo())
  const suspend = async (turns: number) => {
    await fixture.until(run, ({ usage }) => usage.usd === turns / 2)
    // By its title as well, which is what the tree shows.
    unwrap(await fixture.coordinator.interventions.suspend(run, { principal: alice, reason: 'lunch', task: 'Do it.' }))
    const { usage } = await fixture.until(run, ({ tasks }) => tasks[0]?.state === 'suspended')
    expect(usage).toMatchObject({ turns, usd: turns / 2 })
  }
  await suspend(1)
  unwrap(await fixture.coordinator.interventions.resume(run, { principal: alice }))
  await suspend(2)
  expect(signals[0]?.aborted).toBe(true)
  await fixture.restart()
  expect(unwrap(await fixture.coordinator.views.view(run)).tasks).toMatchObject([
    { state: 'suspended', note: 'Suspended by alice.' },
  ])
  expect(signals).toHaveLength(2)
  unwrap(await fixture.coordinator.interventions.resume(run, { principal: alice }))
  expect((await fixture.over(run)).state).toBe('done')
  expect(signals).toHaveLength(3)
})

test('work that waits for an answer is suspended, resumed and answered', async () => {
  const { told, fixture, run } = await asked()
  await gateOf(fixture, run, 'escalation')
  unwrap(await fixture.coordinator.interventions.suspend(run, { principal: alice, reason: 'lunch' }))
  await fixture.reply(run, { answer: 'envelope', text: 'Blue.' })
  await fixture.until(run, ({ tasks }) => tasks[0]?.state === 'suspended')
  expect(told).toHaveLength(1)
  unwrap(await fixture.coordinator.interventions.resume(run, { principal: alice, task: 'solve' }))
  expect((await fixture.over(run)).state).toBe('done')
  expect(told[1]).toContain('Blue.')
  expect(fixture.logged.filter(line => line.startsWith('error'))).toEqual([])
})

test('words of a person reach the agent at work, and words to all reach whoever starts later', async () => {
  const told: string[] = []
  const working = Promise.withResolvers<void>()
  const spoken = Promise.withResolvers<void>()
  const fixture: Fixture = await Fixture.open({
    one: async input => {
      working.resolve()
      await spoken.promise
      const mail = unwrap(await unwrap(fixture.coordinator.verbs(input.token!)).inbox())
      told.push(...mail.map(({ text }) => text))
      return 'done'
    },
    two: input => {
      told.push(input.context.map(({ text }) => text).join('\n'))
      return 'done'
    },
  })
  const run = await fixture.solve(pair())
  await working.promise
  unwrap(await fixture.coordinator.interventions.inject(run, { to: 'a', text: 'Hurry.', principal: alice }))
  unwrap(await fixture.coordinator.interventions.inject(run, { text: 'Keep it short.', principal: alice }))
  spoken.resolve()
  expect((await fixture.over(run)).state).toBe('done')
  expect(told[0]).toBe('Hurry.')
  expect(told[1]).toContain('Keep it short.')
  const injected = await fixture.entries(run, 'human_injection')
  expect(injected.map(({ actor }) => actor)).toEqual(['alice', 'alice', 'alice'])
})

test('a word for a run that cannot be read yet is refused with a code, and may be said again', async () => {
  const run = 'run_unread' as RunId
  const drivers = new Map([[run, { projection: {} }]])
  const interventions = new Interventions({ drivers } as unknown as RunsHost)
  const refused = { ok: false, error: { code: 'trail_unavailable', retryable: true } }
  expect(await interventions.inject(run, { text: 'Go on.', principal: alice })).toMatchObject(refused)
})

test('who ended a run, and why, is on the trail', async () => {
  const one = hanging()
  const fixture = await Fixture.open({ one: one.script })
  const run = await fixture.solve(solo())
  await one.begun
  await fixture.abort(run, { reason: 'too slow' })
  expect(await fixture.over(run)).toMatchObject({ state: 'aborted', reason: 'alice ended it: too slow' })
})

test('agents of a run start no endless chain of runs, and nothing starts the same again and again', async () => {
  const fixture = await Fixture.open({ one: () => 'done' })
  const first = await fixture.solve(solo())
  await fixture.over(first)
  const child = await fixture.solve(solo(), { parent: first, intent: 'child' })
  await fixture.over(child)
  const refused = { ok: false, error: { code: 'breaker_open' } }
  expect(await fixture.trySolve(solo(), { parent: child, intent: 'grandchild' })).toMatchObject(refused)
  for (let starts = 1; starts < 12; starts++) await fixture.over(await fixture.solve(solo()))
  expect(await fixture.trySolve(solo(), {})).toMatchObject(refused)
  expect(await fixture.trySolve(solo(), { force: true })).toMatchObject({ ok: true })
}, 60_000)

test('the last who can let others in cannot be shut out', async () => {
  const fixture = await Fixture.open({})
  unwrap(await fixture.coordinator.users.accept(alice, 'test'))
  expect(await fixture.coordinator.users.list()).toMatchObject([{ user: 'alice', state: 'active', waiting: 0 }])
  expect((await fixture.coordinator.users.list())[0]?.capabilities).toHaveLength(16)
  const act = { act: 'suspend', reason: 'holiday', principal: alice } as const
  expect(await fixture.coordinator.users.change('alice', act)).toMatchObject(refusal('invalid_state'))
  unwrap(await fixture.coordinator.users.accept({ id: 'bob', kind: 'user', scopes: ['owner'] }, 'test'))
  unwrap(await fixture.coordinator.users.change('bob', act))
  expect((await fixture.coordinator.users.list())[1]).toMatchObject({ user: 'bob', state: 'suspended' })
})
