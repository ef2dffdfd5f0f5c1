// What failed work left: judged by a person or by an agent, merged, in conflict with what came before, or let go.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { aborted, alice, Fixture, put, type Scripts } from '../testing/fixture.ts'

const team = (salvage: string, more = '') => `version: 1
name: savers
approval: none
agents:
  one: { command: [scripted, one] }
  two: { command: [scripted, two] }
  judge: { command: [scripted, judge] }
${more}
plan:
  - { id: a, title: The first, agent: one, prompt: First., attempts: 1${salvage} }
  - { id: b, title: The second, agent: two, prompt: Second., salvage: { by: judge } }
`

/** Keeps something and fails. */
const failing =
  (
    fixture: () => Fixture,
    file: string,
    words: string,
    after: () => Promise<unknown> = async () => undefined,
  ): Scripts[string] =>
  async input => {
    put(input.folder!, file, words)
    const door = unwrap(fixture().coordinator.verbs(input.token!))
    unwrap(await door.checkpoint('as far as it goes'))
    await after()
    throw new Error('it broke')
  }

/** What became of a salvage; its signal and gates are the kernel's to test. */
async function saved(fixture: Fixture, run: RunId) {
  const { entries } = unwrap(await fixture.trail.run(run).query({ limit: 1000 }))
  return entries
    .filter(({ event_type }) => !/^(signal|gate)_/.test(event_type))
    .filter(({ body }) => (body as { mode?: string }).mode === 'salvage')
    .map(({ event_type, body }) => {
      const { result, reason, outcome } = body as Readonly<Record<string, string>>
      return [event_type, result ?? reason ?? outcome].filter(each => each !== undefined).join(' ')
    })
}

test('without a word in the team file a run ends without waiting, and what was left is kept', async () => {
  const fixture = await Fixture.open({ one: failing(() => fixture, 'part', 'x\n'), two: () => 'done' })
  const view = await fixture.over(await fixture.solve(team('')))
  expect(view).toMatchObject({ state: 'failed', tasks: [{ state: 'failed' }, { state: 'done' }] })
  expect(view.tasks[0]?.salvage).toMatchObject({ state: 'kept', files: ['part'] })
  expect(fixture.result(view, 'part')).toBeUndefined()
})

test('W-INT-18 ask: a person looks at what was left and takes it over; the task stays failed', async () => {
  const fixture = await Fixture.open({ one: failing(() => fixture, 'part', 'x\n'), two: () => 'done' })
  const run = await fixture.solve(team(', salvage: ask'))
  const asked = await fixture.until(run, ({ gates }) => gates.length > 0)
  expect(asked).toMatchObject({
    state: 'working',
    tasks: [{ state: 'failed', salvage: { state: 'offered', agent: 'one#1', files: ['part'] } }, {}],
    gates: [{ kind: 'gate', type: 'integration', task: 'a', addressee: 'alice' }],
  })
  await fixture.restart()
  const left = unwrap(await fixture.coordinator.salvages.left(run, { task: 'a' }))
  expect(left).toMatchObject({
    task: 'a',
    final: false,
    files: ['part'],
    conflicts: [],
    text: 'as far as it goes',
  })
  expect(left.failure).toContain('it broke')
  expect(left.diff).toContain('+x')
  const taken = unwrap(await fixture.coordinator.salvages.decide(run, { principal: alice, task: 'a', take: true }))
  expect(taken).toMatchObject({ state: 'merged' })
  const view = await fixture.over(run)
  expect(view).toMatchObject({
    state: 'failed',
    tasks: [{ state: 'failed', salvage: { state: 'merged' } }, {}],
  })
  expect(fixture.result(view, 'part')).toBe('x\n')
  expect(fixture.git('log', '-1', '--format=%B', view.result!.branch!)).toContain('Salvaged: The first')
  expect(await saved(fixture, run)).toEqual(['integration_started', 'integration_completed success'])
})

test('the question is answered like a gate, and no means that the run ends without it', async () => {
  const fixture = await Fixture.open({ one: failing(() => fixture, 'part', 'x\n'), two: () => 'done' })
  const run = await fixture.solve(team(', salvage: ask'))
  const { gates } = await fixture.until(run, view => view.gates.length > 0)
  const answer = { principal: alice, reason: 'No use' } as const
  expect(
    await fixture.coordinator.gates.respond(gates[0]!.id, { ...answer, decision: 'modify', changes: {} }),
  ).toMatchObject({
    error: { code: 'invalid_argument' },
  })
  unwrap(await fixture.coordinator.gates.respond(gates[0]!.id, { ...answer, decision: 'reject' }))
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'failed', tasks: [{ salvage: { state: 'discarded' } }, {}] })
  expect(fixture.result(view, 'part')).toBeUndefined()
  expect(await fixture.coordinator.salvages.decide(run, { principal: alice, task: 'a', take: true })).toMatchObject({
    error: { code: 'nothing_to_salvage' },
  })
})

const START = '1\n2\n3\n'

test.each([
  ['approve', undefined, 'left\n2\n3\n'],
  ['modify', 'existing', 'merged\n2\n3\n'],
  ['reject', undefined, 'merged\n2\n3\n'],
] as const)(
  'W-INT-20 what does not fit what was merged meanwhile is put to a person: %s %s',
  async (decision, resolution, expected) => {
    const merged = Promise.withResolvers<void>()
    const fixture = await Fixture.open({
      one: failing(
        () => fixture,
        'text',
        START.replace('1', 'left'),
        () => merged.promise,
      ),
      two: input => {
        put(input.folder!, 'text', START.replace('1', 'merged'))
        return 'done'
      },
    })
    fixture.write('text', START)
    fixture.commit('text')
    const run = await fixture.solve(team(', salvage: ask'))
    await fixture.until(run, ({ tasks }) => tasks[1]?.state === 'done')
    merged.resolve()
    await fixture.until(run, ({ gates }) => gates.length > 0)
    expect(unwrap(await fixture.coordinator.salvages.left(run, { task: 'a' })).conflicts).toEqual(['text'])
    const taken = unwrap(await fixture.coordinator.salvages.decide(run, { principal: alice, task: 'a', take: true }))
    expect(taken.state).toBe('open')
    const [gate] = await fixture.coordinator.gates.list(run)
    expect(gate).toMatchObject({ type: 'conflict_resolution', task: 'a' })
    expect(gate!.question).toContain('in: text')
    await fixture.restart()
    const answer = decision === 'modify' ? { decision, changes: { resolution: resolution! } } : ({ decision } as const)
    await fixture.respond(gate!.id, { ...answer })
    const view = await fixture.over(run)
    expect(fixture.result(view, 'text')).toBe(expected)
    expect(view.tasks[0]?.salvage?.state).toBe(decision === 'reject' ? 'discarded' : 'merged')
    expect(await saved(fixture, run)).toEqual([
      'integration_started',
      'conflict_detected',
      ...(decision === 'reject'
        ? ['conflict_resolved failed', 'integration_aborted gate_rejected_by_human']
        : ['conflict_resolved closed', 'integration_completed conflict_resolved']),
    ])
  },
)

test('an agent judges what was left, and what it makes of it is merged', async () => {
  const told: string[] = []
  const fixture = await Fixture.open({
    one: failing(() => fixture, 'part', 'good\nbad\n'),
    two: () => 'done',
    judge: input => {
      told.push(input.prompt)
      expect(readFileSync(join(input.folder!, 'part'), 'utf8')).toBe('good\nbad\n')
      put(input.folder!, 'part', 'good\n')
      return 'Half of it.'
    },
  })
  const view = await fixture.finished(team(', salvage: { by: judge, prompt: "Be strict about {intent}" }'), {
    intent: 'taste',
  })
  expect(told[0]).toContain('Be strict about taste')
  expect(told[0]).toContain('it broke')
  expect(fixture.result(view, 'part')).toBe('good\n')
  expect(view.tasks[0]).toMatchObject({ state: 'failed', salvage: { state: 'merged' } })
  expect(view.tasks[0]?.steps.map(({ kind, outcome }) => [kind, outcome])).toEqual([
    ['work', 'failed'],
    ['merge', 'complete'],
  ])
})

test.each([
  ['UNUSABLE: all of it is wrong', 'not usable'],
  ['CONFLICT semantic_contradiction: it drops what the other reads', 'agent rework'],
])('an agent that finds nothing of use lets it go: %s', async (answer, reason) => {
  const fixture = await Fixture.open({
    one: failing(() => fixture, 'part', 'x\n'),
    two: () => 'done',
    judge: () => `I looked.\n${answer}`,
  })
  const view = await fixture.over(await fixture.solve(team(', salvage: { by: judge }')))
  expect(view.tasks[0]?.salvage).toMatchObject({ state: 'discarded', reason })
  expect(fixture.result(view, 'part')).toBeUndefined()
})

test('a person who asked for the end and waited in vain is asked about what was left', async () => {
  const kept = Promise.withResolvers<void>()
  const fixture = await Fixture.open({
    one: failing(
      () => fixture,
      'part',
      'x\n',
      () => {
        kept.resolve()
        return new Promise(() => undefined)
      },
    ),
    two: () => 'done',
  })
  const run = await fixture.solve(team('').replace('attempts: 1', 'attempts: 3'))
  await kept.promise
  await fixture.abort(run, { reason: 'Enough', task: 'a', grace: 300 })
  const view = await fixture.until(run, ({ gates }) => gates.length > 0)
  expect(view.tasks[0]).toMatchObject({ state: 'failed', attempt: 1, salvage: { state: 'offered' } })
  expect(view.tasks[0]?.note).toContain('alice asked for that: Enough')
  await fixture.respond(run, { decision: 'approve' })
  const over = await fixture.over(run)
  expect(fixture.result(over, 'part')).toBe('x\n')
})

test.each([
  ['approve', 'merged'],
  ['reject', 'discarded'],
] as const)('W-INT-20 with the gate on, the salvage itself waits for a person: %s', async (decision, state) => {
  const fixture = await Fixture.open({
    one: failing(() => fixture, 'part', 'x\n'),
    two: () => 'done',
    judge: () => 'All of it.',
  })
  const gated = team(', salvage: { by: judge }', 'gates: { task_approval: { on: false }, integration: { on: true } }')
  const run = await fixture.solve(gated.replace('approval: none\n', ''))
  let question = ''
  for (;;) {
    const { gates, state: now } = await fixture.until(run, view => view.gates.length > 0)
    if (now !== 'working') break
    const [gate] = gates
    if (gate!.task === 'a') question ||= gate!.question
    const answer = gate!.task === 'a' ? decision : 'approve'
    await fixture.respond(gate!.id, { decision: answer })
  }
  expect(question).toBe('May what is left of "The first" be taken over?')
  const view = await fixture.over(run)
  expect(view.tasks[0]?.salvage?.state).toBe(state)
  expect(fixture.result(view, 'part')).toBe(state === 'merged' ? 'x\n' : undefined)
})

test('a part of a team inside the team is saved into the line of that team, and that line with the team', async () => {
  const fixture = await Fixture.open({ one: failing(() => fixture, 'part', 'x\n'), two: () => 'done' })
  const run = await fixture.solve(`version: 1
name: nested
approval: none
agents:
  one: { command: [scripted, one] }
  two: { command: [scripted, two] }
plan:
  - id: t
    attempts: 1
    salvage: ask
    plan:
      - { id: a, agent: one, prompt: First., attempts: 1, salvage: ask }
  - { id: b, agent: two, prompt: Second. }
`)
  const { gates } = await fixture.until(run, view => view.gates.length > 0)
  expect(gates).toMatchObject([{ type: 'integration', task: 'a' }])
  await fixture.respond(gates[0]!.id, { decision: 'approve' })
  const whole = await fixture.until(run, view => view.gates[0]?.task === 't')
  await fixture.respond(whole.gates[0]!.id, { decision: 'approve' })
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'failed' })
  expect(fixture.result(view, 'part')).toBe('x\n')
  expect(view.tasks.find(({ id }) => id === 'a')?.salvage).toMatchObject({ state: 'merged' })
  const merged = ['integration_started', 'integration_completed success']
  expect(await saved(fixture, run)).toEqual([...merged, ...merged])
})

test('two evaluated merges one after the other: neither waits for the other in a circle', async () => {
  const both = Promise.withResolvers<void>()
  let ready = 0
  const work =
    (file: string): Scripts[string] =>
    async input => {
      put(input.folder!, file, 'x\n')
      if (++ready === 2) both.resolve()
      await both.promise
      return 'done'
    }
  const fixture = await Fixture.open({ one: work('a'), two: work('b'), judge: () => 'Both.' })
  const view = await fixture.finished(team('', 'merge: { strategy: evaluated, by: judge }'))
  expect(view).toMatchObject({ state: 'done', tasks_done: 2 })
  expect(fixture.result(view, 'a')).toBe('x\n')
  expect(fixture.result(view, 'b')).toBe('x\n')
})

test.each(['kept by the agent', 'waiting for its merge'])(
  'a run that is aborted keeps work that was %s, and it can be taken over after the end',
  async how => {
    const held = Promise.withResolvers<void>()
    const fixture = await Fixture.open({
      one: async input => {
        put(input.folder!, 'part', 'x\n')
        if (how === 'waiting for its merge') return 'all of it'
        unwrap(await unwrap(fixture.coordinator.verbs(input.token!)).checkpoint('half of it'))
        held.resolve()
        return aborted(input)
      },
      two: () => 'done',
    })
    const gates = 'gates: { integration: { on: true } }\n'
    const yaml = how === 'waiting for its merge' ? team('', gates) : team('')
    const run = await fixture.solve(yaml)
    if (how === 'waiting for its merge') await fixture.until(run, view => view.gates.some(({ task }) => task === 'a'))
    else await held.promise
    await fixture.abort(run, { reason: 'enough' })
    const ended = await fixture.over(run)
    const kept = { state: 'kept', agent: 'one#1', files: ['part'] }
    expect(ended).toMatchObject({ state: 'aborted', tasks: [{ salvage: kept }, {}] })
    const { commit } = ended.tasks[0]!.salvage!
    await fixture.restart()
    fixture.git('gc', '--quiet', '--prune=now')
    expect(fixture.git('show', `${commit}:part`)).toBe('x\n')
    const which = { task: 'a' }
    expect(unwrap(await fixture.coordinator.works.show(run, which))).toMatchObject({
      commit,
      files: [{ path: 'part' }],
    })
    expect(unwrap(await fixture.coordinator.salvages.left(run, which))).toMatchObject({
      files: ['part'],
      conflicts: [],
    })
    const decided = await fixture.coordinator.salvages.decide(run, { principal: alice, ...which, take: true })
    expect(unwrap(decided)).toMatchObject({ state: 'merged', commit })
    for (const again of [1, 2]) {
      const view = unwrap(await fixture.coordinator.views.view(run))
      expect(view, `${again}`).toMatchObject({ state: 'aborted', tasks: [{ salvage: { state: 'merged' } }, {}] })
      expect(fixture.result(view, 'part')).toBe('x\n')
      await fixture.restart()
    }
    const twice = await fixture.coordinator.salvages.decide(run, { principal: alice, ...which, take: true })
    // Nobody is asked about it again.
    expect(await fixture.coordinator.salvages.left(run, which)).toEqual(twice)
    expect(twice).toMatchObject({ error: { code: 'invalid_state' } })
    expect(fixture.git('for-each-ref', 'refs/parley')).toBe('')
  },
)

test('kept work that does not fit the result is refused, and can be let go', async () => {
  const merged = Promise.withResolvers<void>()
  const fixture = await Fixture.open({
    one: failing(
      () => fixture,
      'text',
      'left\n',
      () => merged.promise,
    ),
    two: input => {
      put(input.folder!, 'text', 'merged\n')
      return 'done'
    },
  })
  const run = await fixture.solve(team(''))
  await fixture.until(run, ({ tasks }) => tasks[1]?.state === 'done')
  merged.resolve()
  const view = await fixture.over(run)
  const by = { principal: alice, task: 'a' }
  expect(await fixture.coordinator.salvages.decide(run, { ...by, take: true })).toMatchObject({
    error: { code: 'merge_conflict', details: { files: ['text'], commit: view.tasks[0]!.salvage!.commit } },
  })
  unwrap(await fixture.coordinator.salvages.decide(run, { ...by, take: false }))
  expect(unwrap(await fixture.coordinator.views.view(run)).tasks[0]?.salvage).toMatchObject({ state: 'discarded' })
  expect(await fixture.coordinator.salvages.decide(run, { ...by, take: true })).toMatchObject({
    error: { code: 'nothing_to_salvage' },
  })
  expect(fixture.result(view, 'text')).toBe('merged\n')
})
