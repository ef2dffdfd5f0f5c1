// A taxonomy at work in a run: what its roles and types allow, and that a faulty one starts nothing (W-TAX-05, W-LIFE-12).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import type { Fault } from './checks.ts'
import { referenceTaxonomy } from './reference.ts'

/** What one accepted envelope leaves behind, and its receiver's receipt. */
function delivered(envelope: string, from: string, to: string, type: string, actor: string): readonly Row[] {
  const created = { priority: 'normal', in_reply_to: null, originator: 'system', origin: 'agent' }
  return [
    ['envelope_created', from, actor, { envelope_id: envelope, from, to, type, ...created }],
    ['envelope_delivered', to, 'protocol', { envelope_id: envelope, from, to }],
    [
      'signal_emitted',
      to,
      'protocol',
      expect.objectContaining({ from: to, type: 'acknowledged', ref: envelope }),
    ],
    ['signal_delivered', from, 'protocol', expect.objectContaining({ from: to, delivered_to: from })],
  ]
}

async function checkpointBy(f: Fixture, name: string, type: string): Promise<string> {
  return refused(await f.checkpoint(name, { type }))
}

test('WP-067 a reviewer sends reports instead of queries and creates reviews instead of artifacts', async () => {
  const f = await fixture({ run: { taxonomy: referenceTaxonomy } })
  const reviewer = await f.worker('V', { role: 'reviewer' })
  await f.worker('W')
  await f.mark()

  f.name(unwrap(await f.root.send(f.mail('V', 'directive'))).envelope, 'E1')
  await f.expectAdded(delivered('E1', 'R', 'V', 'directive', 'system'))
  f.name(unwrap(await reviewer.send(f.mail('R', 'report'))).envelope, 'E2')
  await f.expectAdded(delivered('E2', 'V', 'R', 'report', 'reviewer'))

  expect(refused(await reviewer.send(f.mail('R', 'query')))).toBe('rejected(permission_denied)')
  const refusedMail = { envelope_id: 'env1', from: 'V', to: 'R', type: 'query', reason: 'permission_denied' }
  await f.expectAdded([['envelope_rejected', 'V', 'protocol', refusedMail]])

  expect(await checkpointBy(f, 'V', 'review')).toBe('ok')
  const review = { workspace: 'V', type: 'review', status: 'provisional', confidence: 'medium', parent: null }
  await f.expectAdded([
    [
      'checkpoint_created',
      'V',
      'reviewer',
      { checkpoint_id: 'cp1', ...review, integrity: expect.anything() },
    ],
    ['signal_emitted', 'V', 'protocol', expect.objectContaining({ type: 'checkpoint', ref: 'cp1' })],
    ['signal_delivered', 'R', 'protocol', expect.objectContaining({ from: 'V', delivered_to: 'R' })],
  ])
  for (const [name, type] of [
    ['V', 'artifact'],
    ['W', 'review'],
  ] as const) {
    expect(await checkpointBy(f, name, type)).toBe('rejected(permission_denied)')
    const body = { workspace: name, type, reason: 'permission_denied' }
    await f.expectAdded([['checkpoint_rejected', name, 'protocol', body]])
  }
})

test('WP-067 the vocabulary of a run is on record with its first entry, and is the same after a restart', async () => {
  const f = await fixture({ run: { taxonomy: referenceTaxonomy } })
  await f.worker('V', { role: 'reviewer' })
  await f.restart()
  await f.mark()
  expect(refused(await f.agent('V').send(f.mail('R', 'report')))).toBe('ok')
  expect(refused(await f.agent('V').send(f.mail('R', 'query')))).toBe('rejected(permission_denied)')
  const [first] = await f.run.entries()
  expect(first).toMatchObject({
    event_type: 'workspace_created',
    body: { taxonomy_id: 'wacp-reference', taxonomy_version: '0.1.0', protocol_version: '0.1' },
  })
})

const role = { name: 'helper', extends: 'worker', add: [], remove: [] }
const note = {
  name: 'note',
  description: '',
  permissions: [{ sender_role: 'helper', receiver_role: 'worker' }],
}
const plan = { name: 'plan', description: '', permitted_roles: ['helper'] }
const valid = {
  id: 't',
  version: '1.2.0',
  protocol_version: '0.1',
  roles: [role],
  envelope_types: [note],
  checkpoint_types: [plan],
}
const sending = { action: 'send', target: { type: 'memo', role: 'coordinator' } }

const FAULTY: readonly (readonly [fault: string, document: object, checks: readonly number[]])[] = [
  ['a wrong protocol version', { ...valid, protocol_version: '9.9' }, [1]],
  ['a `signal_types` key', { ...valid, signal_types: ['paused'] }, [2]],
  ['the same role twice', { ...valid, roles: [role, role] }, [3]],
  ['a role named worker', { ...valid, roles: [role, { ...role, name: 'worker' }] }, [3]],
  ['a type named directive', { ...valid, envelope_types: [note, { ...note, name: 'directive' }] }, [4]],
  [
    'an override with an unknown type',
    { ...valid, roles: [{ ...role, override: { checkpoint_types: ['unknown'] } }] },
    [8],
  ],
  ['a role that adds sending an unknown type', { ...valid, roles: [{ ...role, add: [sending] }] }, [9]],
  [
    'a row with an unknown role',
    { ...valid, envelope_types: [{ ...note, permissions: [{ sender_role: 'x', receiver_role: 'worker' }] }] },
    [10],
  ],
  ['a type without rows', { ...valid, envelope_types: [{ ...note, permissions: [] }] }, [11]],
  [
    'a type without permitted roles',
    { ...valid, checkpoint_types: [{ ...plan, permitted_roles: [] }] },
    [13],
  ],
  [
    'several of these at once',
    {
      ...valid,
      protocol_version: '9.9',
      signal_types: [],
      roles: [role, { ...role, name: 'worker', add: [sending] }],
      envelope_types: [{ ...note, permissions: [] }],
      checkpoint_types: [{ ...plan, permitted_roles: [] }],
    },
    [1, 2, 3, 9, 11, 13],
  ],
]

test.each(FAULTY)(
  'WP-069 a taxonomy with %s starts no run and leaves no trace',
  async (_fault, taxonomy, checks) => {
    const bound: string[] = []
    const f = await fixture({ bind: agent => void bound.push(agent.workspace) })
    const runs = await f.trail.runs()
    const active = f.runtime.active
    const known = bound.length

    const started = await f.runtime.start({ owner: 'ux', taxonomy })
    expect(refused(started)).toBe('invalid_taxonomy')
    const faults = started.ok ? [] : (started.error.details.faults as readonly Fault[])
    expect(faults.map(({ check }) => check)).toEqual(checks)
    expect(await f.trail.runs()).toEqual(runs)
    expect(f.runtime.active).toEqual(active)
    expect(bound).toHaveLength(known)
    await f.expectAdded([])

    // Nothing of the document is known to the runs that follow, and they do start.
    const next = unwrap(await f.runtime.start({ owner: 'ux' }))
    unwrap(await next.coordinator.started())
    expect(refused(await next.coordinator.createWorkspace({ role: 'helper' }))).toBe(
      'rejected(unregistered_role)',
    )
    await f.restart()
    expect((await f.trail.runs()).map(({ run }) => run)).toEqual(
      expect.arrayContaining([...active, f.runtime.house.run, next.id]),
    )
    expect(await f.trail.runs()).toHaveLength(runs.length + 1)
  },
)
