// Who may do what in the library run: file records under their own name, and nothing else.
import { type Principal, type RunId, type RunRequest, unwrap, type WorkspaceId } from '@parley/core'
import { expect, test } from 'vitest'
import { alice, Fixture, refusal, solo } from '../testing/fixture.ts'

const bob: Principal = { id: 'bob', kind: 'user', scopes: ['solve'] }

async function withLibrary(): Promise<{ f: Fixture; run: RunId; root: WorkspaceId }> {
  const f = await Fixture.open({ one: () => 'done' })
  await f.finished(solo('one'))
  unwrap(await f.coordinator.library.append({ type: 'feedback.rating', by: bob, body: { n: 1 } }))
  const starts = await f.trail.starts((await f.trail.runs()).map(({ run }) => run))
  const start = starts.find(({ context }) => (context as { library?: true }).library)!
  return { f, run: start.run, root: start.entry.workspace as WorkspaceId }
}

test('somebody who does not own the profile files records, and is known for nothing but wishes', async () => {
  const { f } = await withLibrary()
  const { capabilities } = (await f.coordinator.users.list()).find(({ user }) => user === 'bob')!
  expect(capabilities).toEqual(['inject_directive'])
  expect(await f.coordinator.library.append({ type: 'settlement', by: bob, body: {} })).toMatchObject({ ok: true })
})

test.each(['suspend', 'block', 'deactivate'] as const)(
  'after %s nobody files records, and the attempt is on record',
  async act => {
    const { f, run } = await withLibrary()
    unwrap(await f.coordinator.users.change('bob', { act, reason: 'test', principal: alice }))
    const refused = await f.coordinator.library.append({ type: 'session.fork', by: bob, body: {} })
    expect(refused).toMatchObject(refusal('permission_denied'))
    const denials = await f.entries(run, 'capability_denied')
    expect(denials.map(({ actor, body }) => [actor, body])).toMatchObject([
      ['bob', { user_id: 'bob', action: 'file:session.fork', reason: 'user_not_active' }],
    ])
    expect(await f.entries(run, 'human_injection')).toHaveLength(1)
  },
)

test('without the capability to state wishes nobody files records', async () => {
  const { f } = await withLibrary()
  unwrap(await f.coordinator.users.change('bob', { act: 'revoke', capability: 'inject_directive', principal: alice }))
  const refused = await f.coordinator.library.append({ type: 'knowledge_block', by: bob, body: {} })
  expect(refused).toMatchObject(refusal('permission_denied'))
  const made = await f.coordinator.library.append({ type: 'knowledge_block', by: 'system', body: {} })
  expect(made).toMatchObject({ ok: true, value: { by: 'system' } })
})

test('nobody who is not a person files records: not the node by another name, not a role, not the protocol', async () => {
  const { f } = await withLibrary()
  for (const id of ['system', 'protocol', 'library_worker', 'coordinator', 'worker']) {
    const asked = { type: 'feedback.rating' as const, by: { ...bob, id }, body: {} }
    expect(await f.coordinator.library.append(asked), id).toMatchObject({ ok: false })
  }
  const read = []
  for await (const { by } of f.coordinator.library.read()) read.push(by)
  expect(read).toEqual(['bob'])
})

test('not even the owner of the profile directs, stops, takes over or changes the library run', async () => {
  const { f, run } = await withLibrary()
  const { interventions, budgets, migrations } = f.coordinator
  const principal = alice
  for (const attempt of [
    interventions.inject(run, { principal, text: 'Do something else.' }),
    interventions.suspend(run, { principal, reason: 'test' }),
    interventions.resume(run, { principal }),
    interventions.abort(run, { principal, reason: 'test' }),
    interventions.abandon(run, 'test'),
    budgets.raise(run, { principal, task: 'x', limits: {} } as never),
    migrations.migrate(run, { principal, task: 'x', to: 'one', reason: 'test' } as never),
  ])
    expect(await attempt).toMatchObject({ ok: false })
  await f.restart()
  const record = await f.coordinator.library.append({ type: 'feedback.rating', by: bob, body: { n: 2 } })
  expect(record).toMatchObject({ ok: true })
})

test('a request cannot have its run taken for the library', async () => {
  const { f, run } = await withLibrary()
  const forged = { library: true, previous: { run, seq: 5, hash: null }, base: 0 }
  const own = await f.finished(solo('one'), { context: forged, ...(forged as Partial<RunRequest>) })
  expect(own.state).toBe('done')
  await f.restart()
  expect((await f.coordinator.runs.list()).map(each => each.run)).toContain(own.run)
  const record = unwrap(await f.coordinator.library.append({ type: 'feedback.rating', by: bob, body: { n: 2 } }))
  const bodies = []
  for await (const { body } of f.coordinator.library.read()) bodies.push(body)
  expect(bodies).toEqual([{ n: 1 }, { n: 2 }])
  expect(record.at).toBeGreaterThan(0)
  expect((await f.entries(run, 'human_injection')).length).toBe(2)
})
