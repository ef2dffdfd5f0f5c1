// Vocabularies of applications: a derived role at work, documents that are refused, and that a run's words are fixed
// (wacp-primitives 9, 11).
import { deepStrictEqual } from 'node:assert'
import { arrived, deliver, denied, emit, noCheckpoint, notCreated, rejected } from '../../entry-rows.ts'
import { scenario } from '../../scenario.ts'
import { must, refused } from '../../stage.ts'

const route = (action: string, type: string, role: string) => ({ action, target: { type, role } })

/** The reviewer of W-TAX-10, with the types that it needs. */
const REVIEWS = {
  id: 'reviews',
  version: '1.0.0',
  protocol_version: '0.1',
  roles: [
    {
      name: 'reviewer',
      extends: 'worker',
      add: [route('send', 'report', 'coordinator'), { action: 'read', target: 'assigned_workspace' }],
      remove: [route('send', 'query', 'coordinator'), { action: 'create', target: 'artifact' }],
      override: { checkpoint_types: ['review'] },
    },
  ],
  envelope_types: [
    {
      name: 'report',
      description: '',
      permissions: [{ sender_role: 'reviewer', receiver_role: 'coordinator' }],
    },
  ],
  checkpoint_types: [{ name: 'review', description: '', permitted_roles: ['reviewer'] }],
} as const

scenario(
  'WP-067 a reviewer sends reports instead of queries and creates reviews instead of artifacts',
  {
    level: 1,
    rules: ['W-ROLE-07', 'W-ROLE-08', 'W-TAX-02', 'W-TAX-03', 'W-TAX-04', 'W-TAX-10', 'W-CP-03'],
    run: { taxonomy: REVIEWS },
  },
  async kit => {
    await kit.worker('V', { role: 'reviewer' })
    await kit.worker('W')
    await kit.mark()
    await kit.send('E1', 'R', 'V', 'directive')
    await kit.expectAdded(arrived('E1', 'R', 'V', 'directive'))
    await kit.send('E2', 'V', 'R', 'report')
    await kit.expectAdded(arrived('E2', 'V', 'R', 'report', { actor: 'reviewer' }))
    for (const [from, type] of [
      ['V', 'query'],
      ['W', 'report'],
    ] as const) {
      await kit.refuses('REJECTED', from, 'send_envelope', { ...kit.mail('R', type) }, 'permission_denied')
      await kit.expectAdded([rejected(from, 'permission_denied', { type })])
    }
    await kit.checkpoint('K', 'V', { type: 'review' })
    await kit.expectAdded([
      ['checkpoint_created', 'V', 'reviewer', { checkpoint_id: 'K', type: 'review' }],
      emit('checkpoint', 'V', 'protocol', { signal_id: '?s', ref: 'K' }),
      deliver('V', 'R', { signal_id: '?s' }),
    ])
    for (const [by, type] of [
      ['V', 'artifact'],
      ['W', 'review'],
    ] as const) {
      const draft = await kit.checkpointDraft(by, { type })
      await kit.refuses('REJECTED', by, 'create_checkpoint', { ...draft }, 'permission_denied')
      await kit.expectAdded([noCheckpoint(by, 'permission_denied', { type })])
    }
  },
)

const helper = { name: 'helper', extends: 'worker', add: [], remove: [] }
const memo = (sender_role?: string) => ({
  name: 'memo',
  description: '',
  permissions: sender_role === undefined ? [] : [{ sender_role, receiver_role: 'worker' }],
})

interface Parts {
  readonly protocol_version?: string
  readonly signal_types?: readonly string[]
  readonly roles?: readonly object[]
  readonly envelope_types?: readonly object[]
  readonly checkpoint_types?: readonly object[]
}

/** One fault each. */
const FAULTS: Readonly<Record<string, Parts>> = {
  'another protocol_version': { protocol_version: '9.9' },
  'a signal_types key': { signal_types: ['paused'] },
  'a duplicate role': { roles: [helper] },
  'a role named worker': { roles: [{ ...helper, name: 'worker' }] },
  'a type named directive': { envelope_types: [{ ...memo('helper'), name: 'directive' }] },
  'a row with an unknown role': { envelope_types: [{ ...memo('nobody'), name: 'memo-1' }] },
  'a type without rows': { envelope_types: [{ ...memo(), name: 'memo-2' }] },
  'a type without permitted roles': {
    checkpoint_types: [{ name: 'plan', description: '', permitted_roles: [] }],
  },
  'an override with an unknown type': {
    roles: [{ ...helper, name: 'odd-1', override: { checkpoint_types: ['unknown'] } }],
  },
  'a role that adds sending an unknown type': {
    roles: [{ ...helper, name: 'odd-2', add: [route('send', 'unknown', 'coordinator')] }],
  },
}

/** A document with one valid role, and with these parts. */
function documentOf(...faulty: readonly Parts[]): object {
  const [base, rest] = [{ id: 't', version: '1.2.0', protocol_version: '0.1' }, Object.assign({}, ...faulty)]
  const all = (key: 'roles' | 'envelope_types' | 'checkpoint_types') => faulty.flatMap(each => each[key] ?? [])
  return {
    ...base,
    ...rest,
    roles: [helper, ...all('roles')],
    envelope_types: all('envelope_types'),
    checkpoint_types: all('checkpoint_types'),
  }
}

scenario(
  'WP-069 a document with a fault starts nothing, and all of its faults are reported',
  { level: 1, rules: ['W-TAX-05', 'W-TAX-09', 'W-LIFE-12', 'W-SIG-01'], opened: false },
  async kit => {
    must(await kit.open())
    if (kit.level >= 2) await kit.user('ux')
    const standing = async () => (await kit.system.standing?.()) ?? []
    const before = await standing()
    const faultsOf = async (document: object, what: string) => {
      const outcome = await kit.start({ taxonomy: document })
      const { about } = refused(outcome, 'INVALID_ARGUMENT', undefined, what)
      deepStrictEqual(kit.run, '', `${what}: no run was started`)
      return (about?.faults as readonly unknown[] | undefined)?.length ?? 0
    }
    for (const [what, parts] of Object.entries(FAULTS))
      deepStrictEqual((await faultsOf(documentOf(parts), what)) >= 1, true, what)
    const together = Object.values(FAULTS)
    const reported = await faultsOf(documentOf(...together), 'all of them at once')
    deepStrictEqual(reported >= together.length, true, `of ${together.length} faults ${reported} are reported`)
    deepStrictEqual(await standing(), before)

    must(await kit.start())
    const [first] = await kit.entries()
    deepStrictEqual([first?.seq, first?.event_type], [1, 'workspace_created'])
    await kit.emit('R', 'started')
    await kit.mark()
    await kit.refuses('REJECTED', 'R', 'create_workspace', { role: 'helper' }, 'unregistered_role')
    await kit.expectAdded([notCreated('R', 'unregistered_role')])
    must(await kit.start({ taxonomy: documentOf() }), 'The document without a fault')
  },
)

const SCOUTS = {
  id: 't',
  version: '1.2.0',
  protocol_version: '0.1',
  roles: [{ ...helper, name: 'scout' }],
  envelope_types: [
    {
      name: 'sighting',
      description: '',
      permissions: [{ sender_role: 'scout', receiver_role: 'coordinator' }],
    },
  ],
  checkpoint_types: [],
}

scenario(
  'WP-070 a run keeps the words that it began with, and words that nobody knows any more are shown as they are',
  { level: 2, rules: ['W-TAX-06', 'W-TAX-08'], run: { taxonomy: SCOUTS } },
  async kit => {
    const [first] = await kit.entries()
    const { taxonomy_id, taxonomy_version } = first!.body
    deepStrictEqual([first!.event_type, taxonomy_id, taxonomy_version], ['workspace_created', 't', '1.2.0'])
    await kit.worker('S', { role: 'scout' })
    await kit.mark()
    const registration = { kind: 'envelope_type', ...memo('worker') }
    await kit.refuses('IMMUTABLE', 'R', 'register_type', { registration })
    await kit.expectAdded([denied('R', 'system', 'set:taxonomy', 'frozen')])
    await kit.refuses('REJECTED', 'R', 'send_envelope', { ...kit.mail('S', 'memo') }, 'invalid_type')

    await kit.send('E', 'S', 'R', 'sighting')
    await kit.settle()
    await kit.bring('S', 'failed')
    await kit.do('runtime', 'close_run')
    const old = { kind: 'runtime', run: kit.run } as const
    await kit.restart()
    must(await kit.start({ taxonomy: undefined }), 'A run without these words')
    await kit.emit('R', 'started')
    deepStrictEqual((await kit.entries())[0]!.body.taxonomy_id, null)
    await kit.refuses('REJECTED', 'R', 'create_workspace', { role: 'scout' }, 'unregistered_role')
    const mail = { event_type: 'envelope_created', body: { type: 'sighting' } }
    deepStrictEqual(
      (await kit.do(old, 'query_trail', mail)).entries.map(({ actor, body }) => [actor, body.type]),
      [['scout', 'sighting']],
    )
    const roles = { event_type: 'workspace_created', body: { role: 'scout' } }
    deepStrictEqual((await kit.do(old, 'query_trail', roles)).entries.length, 1)
    deepStrictEqual((await kit.do(old, 'get_workspace', { workspace: 'S' })).role, 'scout')
  },
)
