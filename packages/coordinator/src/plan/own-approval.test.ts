// `approve: true`: a task that a person is asked about, whatever was approved with the request for its run.
import { type Principal, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { alice, Fixture, planned, put } from '../testing/fixture.ts'

const PLAN = planned(
  '{ id: first, agent: one, prompt: One. }',
  '{ id: second, agent: two, prompt: Two., approve: true }',
  '{ id: third, agent: three, prompt: Three., needs: [second] }',
)

const program: Principal = { id: 'program', kind: 'user', scopes: [] }

async function opened(done: string[]) {
  const script = (name: string) => () => {
    done.push(name)
    return name
  }
  return Fixture.open({ one: script('one'), two: script('two'), three: script('three') })
}

/** The gates, once everything that needs no answer is done. */
async function waiting(f: Fixture, run: string) {
  const view = await f.until(run as never, ({ tasks, gates }) => tasks[0]!.state === 'done' && gates.length > 0)
  return view.gates
}

test('a task with approve waits in a run that was approved, and only that one and what needs it', async () => {
  const done: string[] = []
  const f = await opened(done)
  const run = await f.solve(PLAN, { approved: true })
  const gates = await waiting(f, run)
  expect(gates).toMatchObject([{ type: 'task_approval', task: 'second' }])
  expect(gates[0]).not.toHaveProperty('deadline')
  expect(done).toEqual(['one'])
  const view = unwrap(await f.coordinator.views.view(run))
  expect(view.tasks.map(({ approve }) => approve)).toEqual([undefined, true, undefined])
  await f.respond(gates[0]!.id, { decision: 'approve' })
  expect((await f.over(run)).state).toBe('done')
  expect(done).toEqual(['one', 'two', 'three'])
})

test('a rejection cancels it and what needs it', async () => {
  const done: string[] = []
  const f = await opened(done)
  const run = await f.solve(PLAN, { approved: true })
  const [gate] = await waiting(f, run)
  await f.respond(gate!.id, { decision: 'reject', reason: 'not today' })
  const view = await f.over(run)
  expect(view.state).toBe('failed')
  expect(view.tasks.map(({ state, note }) => [state, note])).toEqual([
    ['done', undefined],
    ['cancelled', 'Not done: alice did not approve it: not today.'],
    ['cancelled', 'Not done: it needs second, which was not done.'],
  ])
  expect(done).toEqual(['one'])
})

test('the gate of the setup waits its time and then rejects', async () => {
  const f = await opened([])
  const view = await f.finished(PLAN, { approved: true, approvalMs: 400 })
  expect(view.tasks.map(({ state }) => state)).toEqual(['done', 'cancelled', 'cancelled'])
  expect(view.tasks[1]!.note).toBe('Not done: nobody approved it in time.')
})

test('silence approves nothing, whatever the preset says', async () => {
  const f = await opened([])
  const run = await f.solve(`${PLAN}gates: { preset: autonomous }\n`, { approved: true })
  const [gate] = await waiting(f, run)
  expect(gate).not.toHaveProperty('deadline')
})

test('a team without approval asks about this task all the same', async () => {
  const done: string[] = []
  const f = await opened(done)
  const run = await f.solve(`${PLAN}approval: none\n`, { approved: false })
  expect(await waiting(f, run)).toMatchObject([{ task: 'second' }])
})

test('where the principal may approve nothing, the others are answered under the name of the owner', async () => {
  const f = await opened([])
  await f.finished(PLAN.replace(', approve: true', ''), { approved: true })
  const run = await f.solve(PLAN, { principal: program, owner: alice, approved: true })
  const [gate] = await waiting(f, run)
  expect(gate).toMatchObject({ task: 'second', addressee: 'alice' })
  const resolved = (await f.entries(run, 'gate_resolved')).map(({ body }) => body)
  expect(resolved).toMatchObject([
    { actor: 'alice', action: 'approve' },
    { actor: 'alice', action: 'approve' },
  ])
  const refused = await f.coordinator.gates.respond(gate!.id, { decision: 'approve', principal: program })
  expect(refused).toMatchObject({ ok: false, error: { code: 'permission_denied' } })
  await f.respond(gate!.id, { decision: 'approve' })
  expect((await f.over(run)).state).toBe('done')
})

test('a task of a team within the team can have such a gate', async () => {
  const f = await Fixture.open({ one: input => void put(input.folder!, 'one', '1') })
  const run = await f.solve(
    planned('{ id: outer, prompt: All., plan: [{ id: inner, agent: one, prompt: One., approve: true }] }'),
    { approved: true },
  )
  const { gates } = await f.until(run, view => view.gates.length > 0)
  expect(gates).toMatchObject([{ type: 'task_approval', task: 'inner' }])
  await f.respond(gates[0]!.id, { decision: 'approve' })
  expect((await f.over(run)).state).toBe('done')
})
