import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { completedOn } from '../testing/conflicts.ts'
import { fixture, refused } from '../testing/fixture.ts'
import { ended, expired, gateOf, only } from '../testing/gates.ts'
import { graphOf } from '../testing/tasks.ts'

/** Stamps run a little ahead of the clock, which stands still while a test writes. */
const PERIOD = 100
const PASSED = PERIOD + 1

test('W-HWY-09 a rejection by fallback has the same reason strings as one by a human', async () => {
  const highway = only('integration', { timeout: PERIOD, fallback: 'reject' })
  const f = await fixture({ run: { owner: 'ux', highway } })
  await completedOn(f, { I: ['f'] })
  gateOf(f, await f.root.accept(f.id('I')))
  await f.mark()
  await f.advance(PASSED)
  await f.expectAdded([
    expired('G1', 'integration', 'I', 'reject', PERIOD),
    ended('G1', 'integration', 'I', 'reject', 'fallback'),
    ['signal_emitted', 'I', 'protocol'],
    ['workspace_state_changed', 'I', 'protocol'],
    ['signal_delivered', 'R', 'protocol'],
  ])
  expect((await f.run.entries()).at(-2)?.body).toMatchObject({
    reason: 'gate_rejected_by_human',
    initiator: 'protocol',
  })
})

test('W-HWY-10 a human who answers late is still in time while the coordinator is silent', async () => {
  const highway = only('workspace_abort', { timeout: PERIOD, fallback: 'escalate_to_coordinator' })
  const f = await fixture({ run: { owner: 'ux', highway } })
  await f.worker('W')
  const gate = gateOf(f, await f.root.abort(f.id('W')))
  await f.advance(PASSED)
  await f.mark()
  unwrap(await f.runtime.user('ux').reject(f.run.id, gate))
  await f.expectAdded([ended('G1', 'workspace_abort', 'W', 'reject', 'ux')])
  await f.advance(3 * PERIOD)
  await f.expectAdded([])
})

test('W-HWY-11 a creation for the same attempt of a task that a fallback rejected stays rejected', async () => {
  const highway = only('workspace_create', { timeout: PERIOD, fallback: 'reject' })
  const f = await fixture({ run: { owner: 'ux', highway } })
  const graph = await graphOf(f, { T: {} })
  const create = () => f.root.createWorkspace({ role: 'worker', task: graph.id('T') })
  gateOf(f, await create())
  await f.advance(PASSED)
  await f.mark()
  expect(refused(await create())).toBe('rejected(gate_rejected_by_human)')
  await f.expectAdded([
    ['gate_reentry_blocked', 'R', 'protocol'],
    ['workspace_rejected', 'R', 'protocol', { reason: 'gate_rejected_by_human', capacity_details: {} }],
  ])
})
