// Mail for observers: no role may write to one, but people may write to any workspace (§8.1), and what reaches it can be read.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { Observer } from '../runtime/roles.ts'
import { refused } from '../testing/fixture.ts'
import { person, withUsers } from '../testing/people.ts'

test('WX-038 an observer consumes what a person writes to it, each envelope once', async () => {
  const f = await withUsers()
  const ux = await person(f, 'ux', 'inject_directive_any')
  // As its role sees it: what the types leave out cannot be called here.
  const observer: Observer = await f.workspace('O', { role: 'observer' })
  await f.mark()
  f.name(unwrap(await ux.inject(f.run.id, f.mail('O', 'directive'))).envelope, 'E1')
  await f.expectAmong([
    ['human_injection', 'O', 'ux', { envelope_id: 'E1', status: 'delivered' }],
    ['envelope_delivered', 'O', 'protocol', { envelope_id: 'E1' }],
    ['workspace_state_changed', 'O', 'protocol', { from_state: 'idle', to_state: 'active' }],
    ['signal_emitted', 'O', 'protocol', { type: 'acknowledged', ref: 'E1' }],
  ])
  const first = unwrap(await observer.consume())
  expect(first).toMatchObject({ origin: 'human', to: observer.workspace, type: 'directive' })
  expect(unwrap(await observer.consume())).toBeUndefined()

  const waiting = observer.receive()
  const { envelope } = unwrap(await ux.inject(f.run.id, f.mail('O', 'feedback')))
  expect(unwrap(await waiting)).toMatchObject({ id: envelope, type: 'feedback' })

  // Its role still neither sends nor receives anything of other agents.
  expect(refused(await f.agent('O').send(f.mail('R', 'query')))).toBe('rejected(permission_denied)')
  expect(refused(await f.root.send(f.mail('O', 'directive')))).toBe('rejected(permission_denied)')
})
