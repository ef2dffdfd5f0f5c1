// What a person reads at a gate, in words, on a real run.
import { expect, test } from 'vitest'
import { Fixture, planned, writes } from '../testing/fixture.ts'

test('a gate says which agent it is about, what it is told, what it may change and what it may use', async () => {
  const fixture = await Fixture.open({ one: writes('made') })
  const task =
    '{ id: a, agent: one, prompt: Make it., paths: [made], check: [test, -f, made], budget: { cost: 5, working_time: 30m } }'
  const run = await fixture.solve(
    `${planned(task)}gates: { workspace_create: { on: true }, envelope_delivery: { on: true } }\n`,
  )
  const gate = async (type: string) =>
    (await fixture.until(run, view => view.gates.some(each => each.type === type))).gates.find(
      each => each.type === type,
    )!
  const create = await gate('workspace_create')
  expect(Object.fromEntries(create.facts!.map(({ label, text }) => [label, text]))).toEqual({
    agent: 'one',
    runs: 'scripted one',
    prompt: 'Make it.',
    files: 'made',
    check: 'test -f made',
    attempt: '1 of 2',
    limits: 'working time 30 min, cost $5.00',
  })
  await fixture.respond(create.id, { decision: 'approve' })
  const { facts } = await gate('envelope_delivery')
  expect(facts).toContainEqual({ label: 'to', text: 'one' })
  expect(facts).toContainEqual({ label: 'text', text: expect.stringContaining('Make it.') })
})
