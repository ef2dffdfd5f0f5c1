// Delegates: what they lead, what they cannot, and that they are workers to everybody else (wacp-primitives 9).
import { deepStrictEqual } from 'node:assert'
import { arrived, created, delivered, denied, failure, receipt, rejected, right, SC } from '../../entry-rows.ts'
import type { OperationName } from '../../operations.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WP-071 a delegate leads its own children and is a worker to everybody else',
  { level: 2, rules: ['W-ROLE-10', 'W-ROLE-11', 'W-PORT-03', 'W-ROLE-06'] },
  async kit => {
    await kit.delegate('D')
    await kit.worker('W')
    await kit.mark()
    await kit.workspace('C', {}, 'D')
    const by = { actor: 'worker', created_by: 'D' }
    const added = await kit.expectAmong([
      ['workspace_created', 'C', 'worker', { workspace_id: 'C', parent: 'D', role: 'worker' }],
      right('receive', 'C', 'C', by),
      right('send', 'D', 'C', by),
      right('send', 'C', 'D', by),
      ['signal_delivered', 'D', 'protocol', { from: 'C', delivered_to: 'D' }],
    ])
    deepStrictEqual(added.filter(({ event_type }) => event_type === 'port_right_created').length, 3)
    await kit.send('E1', 'D', 'C', 'directive')
    await kit.expectAdded([
      created('E1', 'D', 'C', 'directive'),
      delivered('E1', 'D', 'C'),
      SC('C', 'idle', 'active', 'first_envelope'),
      ...receipt('E1', 'D', 'C'),
    ])
    await kit.send('E2', 'C', 'D', 'query')
    await kit.expectAdded(arrived('E2', 'C', 'D', 'query'))
    for (const [from, to, type, reason] of [
      ['C', 'R', 'query', 'no_send_right'],
      ['D', 'W', 'feedback', 'permission_denied'],
    ] as const) {
      await kit.refuses('REJECTED', from, 'send_envelope', { ...kit.mail(to, type) }, reason)
      await kit.expectAdded([rejected(from, reason, { from, to, type })])
    }
  },
)

scenario(
  'WP-072 a delegate creates beneath itself only and makes no delegates; the coordinator may, below it',
  { level: 2, rules: ['W-ROLE-12', 'W-ROLE-10', 'W-WS-05'] },
  async kit => {
    await kit.delegate('D')
    await kit.mark()
    const before = await kit.picture()
    for (const [by, draft, capability] of [
      ['D', { role: 'worker', parent: 'R' }, 'operation:create_workspace'],
      ['D', { role: 'worker', delegate: true }, 'operation:grant_delegation'],
      ['R', { role: 'observer', delegate: true }, 'operation:grant_delegation'],
    ] as const) {
      await kit.refuses('PERMISSION_DENIED', by, 'create_workspace', draft)
      await kit.expectAdded([denied(by, by === 'R' ? 'system' : 'worker', capability)])
    }
    deepStrictEqual(await kit.picture(), before)
    await kit.delegate('G', { parent: 'D' })
    await kit.expectAmong([['workspace_created', 'G', 'system', { workspace_id: 'G', parent: 'D', delegate: true }]])
    await kit.workspace('H', {}, 'G')
    deepStrictEqual((await kit.look('H')).parent, kit.id('G'))
  },
)

scenario(
  'WP-073 a delegate suspends, resumes, aborts and connects its own, and nobody else',
  { level: 2, rules: ['W-ROLE-04', 'W-MIG-01', 'W-WS-09'] },
  async kit => {
    await kit.delegate('D')
    await kit.worker('W')
    for (const name of ['C', 'C2', 'C3']) await kit.worker(name, {}, 'D')
    await kit.mark()
    const by = { actor: 'worker', initiator: 'worker' }
    await kit.do('D', 'suspend', { workspace: 'C', reason: 'pause' })
    await kit.expectAmong([
      ['signal_emitted', 'D', 'worker', { type: 'suspend', from: 'D', ref: 'C' }],
      ['suspension_started', 'C', 'worker', { workspace_id: 'C', pre_suspension_state: 'active' }],
      SC('C', 'active', 'suspended', 'suspended_by_coordinator', by),
    ])
    await kit.do('D', 'resume', { workspace: 'C' })
    await kit.expectAdded([
      ['suspension_resumed', 'C', 'worker', { workspace_id: 'C', resumed_to_state: 'active' }],
      SC('C', 'suspended', 'active', 'resumed_by_coordinator', by),
    ])
    await kit.do('D', 'abort', { workspace: 'C' })
    const [signal, change, delivery] = failure('C', 'active', 'aborted_by_coordinator', {
      actor: 'worker',
      signal: '*',
      parent: 'D',
    })
    await kit.expectAdded([signal, change, delivery])
    const connect = { type: 'send', holder: 'C2', target: 'C3' }
    kit.name((await kit.do('D', 'grant_right', connect)).right, 'X')
    await kit.expectAdded([right('send', 'C2', 'C3', { right_id: 'X', actor: 'worker', created_by: 'D' })])

    const [held] = await kit.rights('C2', 'C3')
    const before = await kit.picture()
    const operation = (capability: unknown) => String(capability).startsWith('operation:')
    const attempts: readonly (readonly [OperationName, object])[] = [
      ['suspend', { workspace: 'W', reason: 'pause' }],
      ['revoke_right', { right: held!.id, reason: 'no more' }],
      ['transfer_ownership', { workspace: 'C2', owner: 'uy', reason: 'move' }],
      ['grant_right', { type: 'send', holder: 'C2', target: 'W' }],
    ]
    for (const [name, params] of attempts) {
      await kit.refuses('PERMISSION_DENIED', 'D', name, { ...params })
      await kit.expectAdded([
        ['capability_denied', 'D', 'worker', { capability: operation, reason: 'permission_denied' }],
      ])
    }
    deepStrictEqual(await kit.picture(), before)
  },
)
