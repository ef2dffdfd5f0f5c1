// People: their states, what those who are away can do, whose work is whose, and who caused it (wacp-primitives 8).
import { deepStrictEqual } from 'node:assert'
import { denied, deniedUser, notCreated } from '../../entry-rows.ts'
import type { Kit } from '../../kit.ts'
import type { OperationName } from '../../operations.ts'
import { ANY, type Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

const USER_STATES = ['active', 'suspended', 'blocked', 'deactivated'] as const
type UserState = (typeof USER_STATES)[number]

/** What is asked for to get into a state, and back to work from one, with the event that records it. */
const INTO = {
  suspended: ['suspend_user', 'user_suspended', 'suspended_by'],
  blocked: ['block_user', 'user_blocked', 'blocked_by'],
  deactivated: ['deactivate_user', 'user_deactivated', 'deactivated_by'],
} as const satisfies { readonly [S in UserState]?: readonly [OperationName, string, string] }
const BACK = {
  suspended: ['resume_user', 'user_resumed', 'resumed_by'],
  blocked: ['unblock_user', 'user_unblocked', 'resolved_condition'],
  deactivated: ['reactivate_user', 'user_reactivated', 'reactivated_by'],
} as const satisfies { readonly [S in UserState]?: readonly [OperationName, string, string] }

function change(from: UserState, to: UserState) {
  if (to !== 'active') return INTO[to]
  return from === 'active' ? undefined : BACK[from]
}

/** What the coordinator was told of a user, in order. */
async function told(kit: Kit, user: string): Promise<readonly unknown[]> {
  const notices = await kit.notices('user')
  return notices.filter(({ to, subject }) => to === 'R' && subject === user).map(({ detail }) => detail)
}

scenario(
  'WP-081 of twelve changes of state ten are legal; the coordinator hears of each, and a suspension outlasts a block',
  { level: 2, rules: ['W-USER-03', 'W-USER-06'] },
  async kit => {
    let legal = 0
    for (const from of USER_STATES)
      for (const to of USER_STATES) {
        const asked = change(from, to)
        if (from === to || asked === undefined) continue
        const [operation, event, by] = asked
        const user = `${from}-${to}`
        await kit.user(user)
        if (from !== 'active') await kit.do('runtime', INTO[from][0], { user, reason: 'before' })
        await kit.mark()
        const heard = (await told(kit, user)).length
        const outcome = await kit.call('runtime', operation, { user, reason: 'because' })
        const { state } = await kit.do('runtime', 'get_user', { user })
        if (from === 'deactivated' && to !== 'active') {
          deepStrictEqual([outcome.ok || outcome.refused, state], ['INVALID_STATE', from], user)
          await kit.expectAdded([])
          continue
        }
        legal++
        deepStrictEqual([outcome.ok, state], [true, to], user)
        const prior = to === 'deactivated' ? { prior_state: from } : {}
        const more = by === 'resolved_condition' ? { [by]: ANY } : { [by]: 'system' }
        await kit.expectAdded([[event, null, '*', { user_id: user, ...more, ...prior }]])
        deepStrictEqual((await told(kit, user)).slice(heard), [event], user)
      }
    deepStrictEqual(legal, 10)

    const user = 'away'
    await kit.user(user)
    await kit.do('runtime', 'suspend_user', { user, reason: 'holiday' })
    await kit.do('runtime', 'block_user', { user, reason: 'password lost' })
    await kit.mark()
    await kit.do('runtime', 'unblock_user', { user, reason: 'new password' })
    await kit.expectAdded([
      ['user_unblocked', null, '*', { user_id: user }],
      ['user_suspended', null, '*', { user_id: user }],
    ])
    deepStrictEqual((await kit.do('runtime', 'get_user', { user })).state, 'suspended')
    deepStrictEqual((await told(kit, user)).slice(-2), ['user_unblocked', 'user_suspended'])
  },
)

/** No gates, escalations that wait. */
const OPEN = {
  gates: { task_approval: false },
  escalation: { timeout: 60_000, fallback: 'delegate_to_coordinator' },
}

scenario(
  'WP-083 a suspended user can do nothing, their work goes on, and what was queued comes in order',
  { level: 2, rules: ['W-USER-05', 'W-USER-02', 'W-USER-13'], run: { highway: OPEN } },
  async kit => {
    await kit.user('ux', ['inject_directive', 'abort_own', 'create_workspace'])
    for (const name of ['W1', 'W2', 'W3']) await kit.worker(name, { owner: 'ux' })
    const escalate = async (name: string, signal: string) => {
      await kit.emit(name, 'blocked', { reason: 'stuck' })
      const made = await kit.do(name, 'emit_signal', { type: 'escalation', reason: 'help' })
      kit.name(made.signal!, signal)
    }
    await escalate('W1', 'S1')
    await kit.do('runtime', 'suspend_user', { user: 'ux', reason: 'holiday' })
    await kit.mark()
    const away = 'user_not_active'
    await kit.refuses('PERMISSION_DENIED', 'ux', 'inject', { ...kit.mail('W1', 'directive') }, away)
    await kit.expectAdded([deniedUser('ux', 'inject_directive', away)])
    // Work for a user is asked of the coordinator, who names the user as owner.
    await kit.refuses('PERMISSION_DENIED', 'R', 'create_workspace', { role: 'worker', owner: 'ux' }, away)
    await kit.expectAdded([denied('R', 'system', 'operation:create_workspace', away)])
    const payload = { format: 'markdown', content: 'go left' }
    const answer = { signal: 'S1', answer: { type: 'envelope', payload } }
    await kit.refuses('PERMISSION_DENIED', 'ux', 'answer_escalation', answer, away)
    await kit.expectAdded([deniedUser('ux', ANY, away)])

    deepStrictEqual(await kit.state('W2'), 'active')
    await kit.checkpoint('K', 'W2')
    await kit.expectAmong([['checkpoint_created', 'W2', 'worker', { checkpoint_id: 'K' }]])
    await escalate('W3', 'S3')
    await escalate('W2', 'S2')
    const delivered = async () =>
      (await kit.notices('escalation'))
        .filter(({ detail, user }) => detail === 'delivered' && user === 'ux')
        .map(({ subject }) => subject)
    const before = await delivered()
    await kit.do('runtime', 'resume_user', { user: 'ux', reason: 'back' })
    // The first one had reached the user before; whether it is shown again is not said.
    deepStrictEqual(
      (await delivered()).slice(before.length).filter(signal => signal !== 'S1'),
      ['S3', 'S2'],
    )
    deepStrictEqual(
      (await kit.do('runtime', 'list_escalations')).map(({ queued }) => queued),
      [false, false, false],
    )
    await kit.do('ux', 'answer_escalation', answer)
    await kit.expectAmong([['escalation_resolved', 'W1', 'ux', { signal_id: 'S1' }]])
  },
)

scenario(
  'WP-084 an owner is inherited or named, and moves by transfer, one workspace at a time',
  { level: 2, rules: ['W-USER-07', 'W-USER-08', 'W-USER-09', 'W-USER-11'] },
  async kit => {
    await kit.delegate('D', { owner: 'ux' })
    await kit.worker('C', {}, 'D')
    await kit.worker('C2', { owner: 'uy' }, 'D')
    await kit.inState('F', 'closed', { owner: 'ux' })
    const owner = async (name: string) => (await kit.look(name)).owner
    deepStrictEqual([await owner('C'), await owner('C2')], ['ux', 'uy'])
    const names = ['R', 'D', 'C', 'C2', 'F']
    const originators = async () => {
      const found: string[] = []
      for (const name of names) found.push((await kit.look(name)).originator)
      return found
    }
    const before = await originators()
    const transferred = (workspace: string, filed: string | null, reason: string): Row => [
      'workspace_ownership_transferred',
      filed,
      'system',
      { workspace_id: workspace, from_user: 'ux', to_user: 'uy', reason, transferred_by: 'system' },
    ]
    await kit.do('R', 'transfer_ownership', { workspace: 'D', owner: 'uy', reason: 'handed over' })
    await kit.expectAdded([transferred('D', 'D', 'handed over')])
    deepStrictEqual([await owner('D'), await owner('C')], ['uy', 'ux'])
    const unknown = { workspace: 'D', owner: 'nobody', reason: 'who?' }
    await kit.refuses('NOT_FOUND', 'R', 'transfer_ownership', unknown)
    await kit.expectAdded([])
    await kit.do('R', 'transfer_ownership', { workspace: 'F', owner: 'uy', reason: 'an heir' })
    await kit.expectAdded([transferred('F', null, 'an heir')])
    deepStrictEqual([await owner('F'), await kit.state('F')], ['uy', 'closed'])
    deepStrictEqual(await originators(), before)

    const asked = async (question: string, about: string) =>
      (await kit.do('runtime', 'topology', { question, about })).map(id => kit.names.of(id)).toSorted()
    deepStrictEqual(await asked('owned_by', 'uy'), ['C2', 'D', 'F'])
    deepStrictEqual(await asked('owned_by', 'ux'), ['C', 'R'])
    deepStrictEqual(await asked('originated_by', 'system'), names.toSorted())
    deepStrictEqual(await asked('originated_by', 'ux'), [])
    // What is made now belongs to the new owner.
    await kit.worker('C3', {}, 'D')
    deepStrictEqual(await owner('C3'), 'uy')
  },
)

scenario(
  'WP-085 an originator follows an injection, never a caller, and outlasts transfer and reparenting',
  { level: 2, rules: ['W-USER-10', 'W-USER-11'], run: { highway: OPEN } },
  async kit => {
    for (const user of ['ux', 'uy']) await kit.user(user, ['inject_directive_any'])
    const inject = async (name: string, user: string, to: string) => {
      kit.name((await kit.do(user, 'inject', { ...kit.mail(to, 'directive') })).envelope, name)
      await kit.settle()
    }
    await kit.delegate('S', { owner: 'uy' })
    await inject('E', 'ux', 'R')
    await kit.delegate('X', { caused_by: 'E', owner: 'ux' })
    await kit.workspace('Y', { owner: 'uy' }, 'X')
    await inject('EV', 'uy', 'X')
    await kit.workspace('V', { caused_by: 'EV' }, 'X')
    await inject('EU', 'uy', 'S')
    await kit.workspace('U', { caused_by: 'EU' }, 'S')
    await kit.workspace('Z')
    const expected = { S: 'system', X: 'ux', Y: 'ux', V: 'uy', U: 'uy', Z: 'system' }
    const originators = async () => {
      const found: Record<string, string> = {}
      for (const name of Object.keys(expected)) found[name] = (await kit.look(name)).originator
      return found
    }
    deepStrictEqual(await originators(), expected)
    const made = (await kit.entries()).filter(({ event_type }) => event_type === 'workspace_created')
    for (const [name, originator] of Object.entries(expected)) {
      const entry = made.find(({ body }) => body.workspace_id === kit.id(name))
      deepStrictEqual(entry?.body.originator, originator, `${name} on record`)
    }

    await kit.send('Q', 'X', 'R', 'query')
    await kit.mark()
    await kit.refuses('PERMISSION_DENIED', 'R', 'create_workspace', { role: 'worker', originator: 'ux' })
    await kit.expectAdded([denied('R', 'system', 'set:originator')])
    const caused = { role: 'worker', caused_by: 'Q' }
    await kit.refuses('REJECTED', 'R', 'create_workspace', caused, 'invalid_parameters')
    await kit.expectAdded([notCreated('R', 'invalid_parameters')])

    await kit.do('R', 'transfer_ownership', { workspace: 'V', owner: 'uy', reason: 'move' })
    await kit.do('R', 'abort', { workspace: 'X' })
    await kit.expectAmong([['workspace_reparented', 'Y', 'protocol', { old_parent: 'X', new_parent: 'R' }]])
    deepStrictEqual(await originators(), expected)
    await kit.restart()
    deepStrictEqual(await originators(), expected)
  },
)
