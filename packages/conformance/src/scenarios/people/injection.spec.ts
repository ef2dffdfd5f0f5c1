// Injection: what people write to workspaces, and what becomes of it (wacp-mechanisms 5.3).
import { deepStrictEqual } from 'node:assert'
import { arrived, delivered, deniedUser, rejected } from '../../entry-rows.ts'
import type { Kit } from '../../kit.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

/** A highway without gates. */
const OPEN = { gates: { task_approval: false } }

async function inject(kit: Kit, user: string, name: string, to: string): Promise<void> {
  const { envelope } = await kit.do(user, 'inject', { ...kit.mail(to, 'directive') })
  kit.name(envelope, name)
}

function injection(
  envelope: string,
  user: string,
  to: string,
  more: Readonly<Record<string, unknown>> = {},
  under: string | null = to,
): Row {
  const body = { envelope_id: envelope, actor: user, to, type: 'directive', status: 'delivered', ...more }
  return ['human_injection', under, user, body]
}

/** What an injected envelope that arrives at once leaves on the trail. */
function injected(envelope: string, user: string, to: string): readonly Row[] {
  const human = { actor: user, originator: user, origin: 'human' }
  return [injection(envelope, user, to), ...arrived(envelope, 'R', to, 'directive', human)]
}

scenario(
  'WM-072 a person writes to her worker, and to the coordinator, which makes work of it in her name',
  { level: 2, rules: ['W-HWY-17', 'W-HWY-19'], run: { highway: OPEN }, users: ['ux'] },
  async kit => {
    await kit.user('alice', ['inject_directive'])
    await kit.worker('W', { owner: 'alice' })
    await kit.mark()
    await inject(kit, 'alice', 'E1', 'W')
    await kit.expectAdded(injected('E1', 'alice', 'W'))
    await inject(kit, 'alice', 'E2', 'R')
    await kit.expectAmong(injected('E2', 'alice', 'R').slice(0, 3))
    for (const [name, to] of [
      ['E1', 'W'],
      ['E2', 'R'],
    ] as const) {
      const got = await kit.do(to, 'consume_envelope')
      deepStrictEqual(
        [got?.id, got?.origin, got?.originator, got?.from, got?.to],
        [kit.id(name), 'human', 'alice', kit.id('R'), kit.id(to)],
      )
    }
    await kit.workspace('W3', { caused_by: 'E2' })
    await kit.expectAmong([
      ['workspace_created', 'W3', 'system', { workspace_id: 'W3', originator: 'alice', caused_by: 'E2' }],
    ])
    deepStrictEqual((await kit.look('W3')).originator, 'alice')
  },
)

scenario(
  'WM-073 who is away, whose it is not, and what nobody registered',
  { level: 2, rules: ['W-HWY-17'], run: { highway: OPEN }, users: ['ux'] },
  async kit => {
    await kit.user('alice', ['inject_directive_any'])
    await kit.user('bob', ['inject_directive'])
    await kit.user('carol', ['inject_directive_any'])
    await kit.worker('W', { owner: 'ux' })
    await kit.do('runtime', 'suspend_user', { user: 'alice' })
    await kit.mark()
    const letter = { ...kit.mail('W', 'directive') }
    for (const [user, reason] of [
      ['alice', 'user_not_active'],
      ['bob', 'wrong_scope'],
    ] as const) {
      await kit.refuses('PERMISSION_DENIED', user, 'inject', letter, reason)
      await kit.expectAdded([deniedUser(user, 'inject_directive', reason)])
    }
    await kit.refuses('REJECTED', 'carol', 'inject', { ...letter, type: 'haiku' }, 'invalid_type')
    await kit.expectAdded([
      injection('?X', 'carol', 'W', { type: 'haiku', status: 'rejected', reason: 'invalid_type' }),
      rejected('R', 'invalid_type', { envelope_id: '?X' }),
    ])
    deepStrictEqual(await kit.inbox('W'), [])
  },
)

scenario(
  'WM-074 what is written to a workspace arrives now, later or never, as its state says',
  { level: 2, rules: ['W-HWY-18'], run: { highway: OPEN } },
  async kit => {
    await kit.user('ux', ['inject_directive'])
    // The one in conflict holds its target, so it comes last.
    const states = kit.states.toSorted((one, other) => Number(one === 'conflicted') - Number(other === 'conflicted'))
    for (const state of states) {
      const [to, envelope] = [`in ${state}`, `to ${state}`]
      await kit.inState(to, state)
      if (state === 'closed' || state === 'failed' || state === 'integrating' || state === 'conflicted') {
        const ended = state === 'closed' || state === 'failed'
        const reason = ended ? 'workspace_terminal' : 'workspace_sealed'
        await kit.refuses('REJECTED', 'ux', 'inject', { ...kit.mail(to, 'directive') }, 'target_terminal')
        await kit.expectAdded([
          injection(`?${state}`, 'ux', to, { status: 'rejected', reason }, ended ? null : to),
          rejected('R', 'target_terminal', { envelope_id: `?${state}` }),
        ])
        continue
      }
      await inject(kit, 'ux', envelope, to)
      if (state === 'suspended' || state === 'migrating') {
        await kit.expectAdded(injected(envelope, 'ux', to).slice(0, 2))
        if (state === 'suspended') await kit.do('R', 'resume', { workspace: to })
        else kit.faults.binder('work')
        await kit.expectAmong([delivered(envelope, 'R', to)])
      } else await kit.expectAmong(injected(envelope, 'ux', to))
      deepStrictEqual(await kit.inbox(to), [envelope], state)
    }
  },
)
