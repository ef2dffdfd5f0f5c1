// Two agents change one file: every strategy, and every way of settling what does not fit together.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunId, type TurnInput, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { alice, Fixture, planned, put, type Scripts, writes } from '../testing/fixture.ts'

const START = '1\n2\n3\n4\n5\n6\n7\n8\n9\n'

/** Both start from the same state; the first is merged before the second. */
async function rivals(
  team: string,
  { first, second, more = {} }: { readonly first: string; readonly second: string; readonly more?: Scripts },
): Promise<{ fixture: Fixture; run: RunId; told: string[] }> {
  const started = Promise.withResolvers<void>()
  const merged = Promise.withResolvers<void>()
  const told: string[] = []
  const fixture = await Fixture.open({
    one: async input => {
      await started.promise
      put(input.folder!, 'text', first)
      return 'first'
    },
    two: async input => {
      started.resolve()
      told.push(input.context.map(({ text }) => text).join('\n'))
      await merged.promise
      const now = readFileSync(join(input.folder!, 'text'), 'utf8')
      put(input.folder!, 'text', now === START ? second : `${now}second\n`)
      return 'second'
    },
    ...more,
  })
  fixture.write('text', START)
  fixture.commit('text')
  const run = await fixture.solve(`version: 1
name: rivals
agents:
  one: { command: [scripted, one] }
  two: { command: [scripted, two] }
  three: { command: [scripted, three] }
${team}
plan:
  - { id: a, agent: one, prompt: First. }
  - { id: b, agent: two, prompt: Second. }
  - { id: c, agent: three, prompt: Third., needs: [a, b] }
`)
  await fixture.until(run, ({ tasks }) => tasks[0]?.state === 'done')
  merged.resolve()
  return { fixture, run, told }
}

const third = { three: () => 'third' }

async function trail(fixture: Fixture, run: RunId) {
  const page = unwrap(await fixture.trail.run(run).query({ limit: 1000 }))
  return page.entries.map(({ event_type, actor, body }) => ({ event_type, actor, body }))
}

async function resolutions(fixture: Fixture, run: RunId) {
  return (await trail(fixture, run)).filter(({ event_type }) => event_type === 'conflict_resolved')
}

const apart = { first: START.replace('1', 'first'), second: START.replace('9', 'second') }
const together = { first: START.replace('5', 'first'), second: START.replace('5', 'second') }

test('layered: changes that fit together are joined, and the conflict is on record', async () => {
  const { fixture, run } = await rivals('', { ...apart, more: third })
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ attempt: 1 }, { attempt: 1 }, { attempt: 1 }] })
  expect(fixture.result(view, 'text')).toBe(START.replace('1', 'first').replace('9', 'second'))
  expect(await resolutions(fixture, run)).toMatchObject([
    {
      actor: 'system',
      body: {
        resolution_strategy: 'coordinator_resolve',
        resolution: 'clean three-way merge of text',
        outcome: 'closed',
      },
    },
  ])
})

test('layered, rework: the work is done again, and its author knows what stood against it', async () => {
  const { fixture, run, told } = await rivals('', { ...together, more: third })
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ attempt: 1 }, { attempt: 2 }, { attempt: 1 }] })
  expect(fixture.result(view, 'text')).toBe(`${together.first}second\n`)
  expect(told[1]).toContain('conflicts with what was merged meanwhile, in: text')
  expect(told[1]).toContain('<<<<<<<')
  expect(await resolutions(fixture, run)).toMatchObject([
    { body: { resolution_strategy: 'agent_rework', outcome: 'failed' } },
  ])
})

async function asked(fixture: Fixture, run: RunId) {
  const view = await fixture.until(run, ({ gates }) => gates.length > 0)
  expect(view.gates).toMatchObject([{ type: 'conflict_resolution', task: 'b', addressee: 'alice' }])
  expect(JSON.stringify(view.gates[0]?.subject)).toContain('<<<<<<<')
  expect(view.gates[0]!.question).toBe(
    '"b": It does not fit the work on "a", which is merged, in text. Shall the version of "b" replace what was merged? To keep what was merged, change the resolution to existing.',
  )
  expect(view.tasks[1]!.note).toBe('It does not fit the work on "a", which is merged, in text.')
  return view.gates[0]!
}

test.each([
  ['approve', undefined, together.second],
  ['modify', 'existing', together.first],
  ['modify', 'incoming', together.second],
] as const)('layered, ask: a person answers with %s %s', async (decision, resolution, text) => {
  const { fixture, run } = await rivals('merge: { conflicts: ask }', { ...together, more: third })
  await asked(fixture, run)
  await fixture.restart()
  const [gate] = await fixture.coordinator.gates.list(run)
  const vague = { decision: 'modify', changes: { resolution: 'existing, please' }, principal: alice } as const
  expect(await fixture.coordinator.gates.respond(gate!.id, vague)).toMatchObject({
    error: { code: 'invalid_argument' },
  })
  const answer = decision === 'approve' ? { decision } : ({ decision, changes: { resolution: resolution! } } as const)
  await fixture.respond(gate!.id, { ...answer })
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ attempt: 1 }, { attempt: 1 }, { attempt: 1 }] })
  expect(fixture.result(view, 'text')).toBe(text)
  expect(await resolutions(fixture, run)).toMatchObject([
    { actor: 'alice', body: { resolution_strategy: 'escalate', outcome: 'closed' } },
  ])
})

test('layered, ask: a person rejects, and the work is done again', async () => {
  const { fixture, run } = await rivals('merge: { conflicts: ask }', { ...together, more: third })
  const gate = await asked(fixture, run)
  await fixture.respond(gate.id, { decision: 'reject' })
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ attempt: 1 }, { attempt: 2 }, { attempt: 1 }] })
  expect(fixture.result(view, 'text')).toBe(`${together.first}second\n`)
})

test('a proposal that a person turns down is followed by another', async () => {
  const { fixture, run } = await rivals('gates: { task_approval: { on: false }, conflict_resolution: { on: true } }', {
    ...apart,
    more: third,
  })
  const proposals: string[] = []
  for (;;) {
    const view = await fixture.until(run, ({ gates }) => gates.length > 0)
    const [gate] = view.gates
    if (!gate) break
    proposals.push(/Shall .*$/.exec(gate.question)![0])
    const decision = proposals.length < 2 ? 'reject' : 'approve'
    await fixture.respond(gate.id, { decision })
  }
  expect(proposals).toEqual([
    'Shall it be settled so? clean three-way merge of text',
    'Shall "b" be done again on the present state?',
  ])
  expect(await fixture.over(run)).toMatchObject({ state: 'done', tasks: [{}, { attempt: 2 }, {}] })
})

test('direct: the later work replaces the earlier without a word', async () => {
  const { fixture, run } = await rivals('merge: { strategy: direct }', { ...together, more: third })
  const view = await fixture.over(run)
  expect(view.state).toBe('done')
  expect(fixture.result(view, 'text')).toBe(together.second)
  expect((await trail(fixture, run)).map(({ event_type }) => event_type)).not.toContain('conflict_detected')
})

const evaluated = 'merge: { strategy: evaluated, by: three, conflicts: ask }'

/** The integrator and, for the last task, an agent. */
function integrator(merges: (input: TurnInput) => string): Scripts {
  return { three: input => (input.prompt.includes('merged before') ? merges(input) : 'third') }
}

test('evaluated: an agent makes one of both, and that is the result', async () => {
  const seen: string[] = []
  const { fixture, run } = await rivals(evaluated, {
    ...together,
    more: integrator(input => {
      const text = readFileSync(join(input.folder!, 'text'), 'utf8')
      seen.push(text)
      if (text.includes('<<<<<<<')) put(input.folder!, 'text', 'first and second\n')
      return 'joined'
    }),
  })
  const view = await fixture.over(run)
  expect(view.state).toBe('done')
  expect(fixture.result(view, 'text')).toBe('first and second\n')
  expect(seen.filter(text => text.includes('<<<<<<<'))).toHaveLength(1)
  // W-INT-07: the record says that both changed the file, and that the integrator's result settled it.
  expect((await trail(fixture, run)).filter(each => each.event_type === 'conflict_detected')).toMatchObject([
    { actor: 'protocol', body: { conflict_type: 'content_overlap', resources: ['text'] } },
  ])
  expect(await resolutions(fixture, run)).toMatchObject([
    { actor: 'system', body: { resolution_strategy: 'coordinator_resolve', outcome: 'closed' } },
  ])
  expect(view.tasks[1]?.steps.map(({ kind, outcome }) => [kind, outcome])).toEqual([
    ['work', 'complete'],
    ['merge', 'complete'],
  ])
})

test('evaluated: what the integrator finds against it goes to a person', async () => {
  const { fixture, run } = await rivals(evaluated, {
    ...apart,
    more: integrator(input => {
      const about = input.prompt.includes('"b"')
      const text = readFileSync(join(input.folder!, 'text'), 'utf8')
      put(input.folder!, 'text', about ? `${text}joined\n` : text)
      return about ? 'CONFLICT semantic_contradiction: both cannot be true' : 'fine'
    }),
  })
  const view = await fixture.until(run, ({ gates }) => gates.length > 0)
  expect(view.gates).toMatchObject([{ type: 'conflict_resolution', task: 'b' }])
  expect(JSON.stringify(view.gates[0]?.subject)).toContain('both cannot be true')
  await fixture.respond(view.gates[0]!.id, { decision: 'approve' })
  const done = await fixture.over(run)
  expect(done.state).toBe('done')
  // What she was asked to take in spite of it: the integrator's result.
  expect(fixture.result(done, 'text')).toBe(`${START.replace('1', 'first').replace('9', 'second')}joined\n`)
})

test('a restart right after a merge was decided finishes it in the folders', async () => {
  const { fixture, run } = await rivals('', {
    ...apart,
    more: { three: () => new Promise<string>(() => {}) },
  })
  await fixture.until(run, ({ tasks }) => tasks[1]?.state === 'done')
  await fixture.restart()
  fixture.scripts = { ...fixture.scripts, three: input => readFileSync(join(input.folder!, 'text'), 'utf8') }
  const view = await fixture.over(run)
  expect(fixture.result(view, 'text')).toBe(START.replace('1', 'first').replace('9', 'second'))
})

test('a reviewer that gives no verdict is asked once more, and told what was missing', async () => {
  const asked: string[] = []
  const fixture = await Fixture.open({
    one: writes('made'),
    critic: input => {
      asked.push(input.context.map(({ text }) => text).join('\n'))
      return asked.length === 1 ? 'Looks fine.' : 'Looks fine.\nACCEPT'
    },
  })
  const view = await fixture.finished(planned('{ id: a, agent: one, prompt: x, review: { by: critic } }'))
  expect(view).toMatchObject({ state: 'done', tasks: [{ attempt: 1 }] })
  expect(asked.map(text => text.includes('It gave no verdict'))).toEqual([false, true])
})
