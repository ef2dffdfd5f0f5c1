// Who is who: names that nobody may bear, agents that speak for another, a second coordinator, people at a gate
// (wacp-mechanisms 4).
import { deepStrictEqual } from 'node:assert'
import { denied, deniedUser } from '../../entry-rows.ts'
import { ANY } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WM-003 nobody bears a name that the trail keeps for itself',
  { level: 2, rules: ['W-TRAIL-02', 'W-SEC-06'] },
  async kit => {
    for (const user of ['protocol', 'system', 'fallback', 'coordinator', 'worker', 'observer']) {
      await kit.refuses('PERMISSION_DENIED', 'outsider', 'authenticate', { user, proven: true })
      await kit.expectAdded([['authentication_failed', null, 'protocol', { entity: user, reason: 'unknown_identity' }]])
      await kit.refuses('NOT_FOUND', 'runtime', 'get_user', { user })
    }
  },
)

scenario(
  'WM-052 an agent that emits in the name of another workspace is refused, and that is an attack on record',
  { level: 2, rules: ['W-SEC-01', 'W-SEC-03', 'W-SEC-08'] },
  async kit => {
    await kit.worker('W1')
    await kit.worker('W2')
    await kit.final('W2')
    await kit.mark()
    const before = await kit.picture()
    await kit.refuses('PERMISSION_DENIED', 'W1', 'emit_signal', { type: 'complete', from: 'W2' })
    await kit.expectAdded([
      ['authentication_failed', null, 'protocol', { entity: ANY, context: ANY, reason: ANY, source: ANY }],
      [
        'integrity_violation',
        null,
        'protocol',
        { subject_type: 'signal', violation: 'signature_invalid', action_taken: 'rejected' },
      ],
    ])
    deepStrictEqual(await kit.picture(), before)
    deepStrictEqual(
      (await kit.notices('security')).some(({ to }) => to === 'R'),
      true,
    )
    // The agent of W1 at the door of W2 is no better off.
    const { agent } = await kit.look('W1')
    const caller = { kind: 'agent', run: kit.run, workspace: kit.id('W2'), identity: String(agent) } as const
    await kit.refuses('PERMISSION_DENIED', caller, 'emit_signal', { type: 'complete' })
    const added = await kit.expectNone('signal_emitted', 'workspace_state_changed')
    deepStrictEqual(added[0]?.event_type, 'authentication_failed')
    deepStrictEqual(await kit.picture(), before)
  },
)

scenario(
  'WM-053 there is one coordinator: a second one is not let in and cannot be created',
  { level: 2, rules: ['W-SEC-04'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    const { agent } = await kit.look('W')
    for (const identity of ['impostor', String(agent)]) {
      await kit.refuses('PERMISSION_DENIED', 'outsider', 'attach', { workspace: 'R', identity })
      await kit.expectAdded([['authentication_failed', null, 'protocol', { entity: identity }]])
    }
    await kit.refuses('PERMISSION_DENIED', 'R', 'create_workspace', { role: 'coordinator' })
    await kit.expectAdded([denied('R', 'system', 'operation:create_workspace')])
    const roles = (await kit.entries())
      .filter(({ event_type }) => event_type === 'workspace_created')
      .map(({ body }) => body.role)
    deepStrictEqual(roles, ['coordinator', 'worker'])
    // The one there is goes on.
    await kit.workspace('V')
    await kit.expectAmong([['workspace_created', 'V', 'system', { workspace_id: 'V' }]])
  },
)

scenario(
  'WM-054 a gate is answered by somebody who is known, who is there, and who may, in that order',
  {
    level: 2,
    rules: ['W-SEC-05', 'W-SEC-06'],
    run: { highway: { gates: { task_approval: true }, gate_defaults: { timeout: null } } },
  },
  async kit => {
    await kit.user('away', ['create_workspace_any'])
    await kit.user('bob')
    await kit.do('runtime', 'suspend_user', { user: 'away', reason: 'holiday' })
    await kit.graph({ T: {} })
    const [gate] = await kit.gates()
    await kit.mark()
    await kit.refuses('PERMISSION_DENIED', 'outsider', 'authenticate', { user: 'ux', proven: false })
    await kit.expectAdded([['authentication_failed', null, 'protocol', { entity: 'ux', context: 'highway_access' }]])
    const answer = { gate, action: 'approve' }
    await kit.refuses('PERMISSION_DENIED', 'away', 'answer_gate', answer, 'user_not_active')
    await kit.expectAdded([deniedUser('away', ANY, 'user_not_active')])
    await kit.refuses('PERMISSION_DENIED', 'bob', 'answer_gate', answer, 'missing_capability')
    await kit.expectAdded([deniedUser('bob', ANY, 'missing_capability')])
    deepStrictEqual(await kit.gates(), [gate])
    deepStrictEqual((await kit.task('T')).status, 'draft')
  },
)
