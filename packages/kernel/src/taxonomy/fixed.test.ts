// The vocabulary of a run is fixed when it starts and on record with it (W-TAX-06, -08).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

const taxonomy = {
  id: 't',
  version: '1.2.0',
  protocol_version: '0.1',
  roles: [{ name: 'scout', extends: 'worker', add: [], remove: [] }],
  envelope_types: [
    {
      name: 'sighting',
      description: '',
      permissions: [{ sender_role: 'scout', receiver_role: 'coordinator' }],
    },
  ],
  checkpoint_types: [],
}

test('WP-070 nothing is registered while a run goes on, and names that are no longer known are shown as they are', async () => {
  const f = await fixture({ run: { taxonomy } })
  const [first] = await f.run.entries()
  expect(first).toMatchObject({
    event_type: 'workspace_created',
    body: { parent: null, taxonomy_id: 't', taxonomy_version: '1.2.0' },
  })
  const scout = await f.worker('S', { role: 'scout' })
  await f.mark()
  const registration = { kind: 'envelope_type', name: 'report', permissions: [] }
  for (const agent of [f.root, scout])
    expect(refused(await agent.registerType(registration))).toBe('immutable(frozen)')
  await f.expectAdded([
    denial('R', 'system', 'set:taxonomy', 'frozen', undefined, 'register_type'),
    denial('S', 'scout', 'set:taxonomy', 'frozen', undefined, 'register_type'),
  ])
  expect(refused(await f.root.createWorkspace({ role: 'report' }))).toBe('rejected(unregistered_role)')

  unwrap(await scout.send(f.mail('R', 'sighting')))
  await f.settle()
  unwrap(await f.root.abort(f.id('S')))
  unwrap(await f.run.close())
  await f.restart()
  // The next run knows nothing of these words.
  const next = unwrap(await f.runtime.start({ owner: 'ux' }))
  unwrap(await next.coordinator.started())
  expect((await next.entries())[0]).toMatchObject({ body: { taxonomy_id: null, taxonomy_version: null } })
  expect(refused(await next.coordinator.createWorkspace({ role: 'scout' }))).toBe(
    'rejected(unregistered_role)',
  )
  const old = unwrap(await f.runtime.open(f.run.id)).coordinator
  const mail = unwrap(await old.query({ event_type: 'envelope_created', body: { type: 'sighting' } }))
  expect(mail.entries.map(({ actor, body }) => [actor, body])).toMatchObject([
    ['scout', { type: 'sighting' }],
  ])
  const roles = unwrap(await old.query({ event_type: 'workspace_created', body: { role: 'scout' } }))
  expect(roles.entries).toHaveLength(1)
  expect(unwrap(await old.look(f.id('S'))).role).toBe('scout')
})
