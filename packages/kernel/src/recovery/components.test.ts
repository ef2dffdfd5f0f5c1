// Every component of a workspace after a crash (W-REC-15, -25): what it was is what it is, from the trail and the content store alone.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture } from '../testing/fixture.ts'
import { withNotes } from '../testing/mail.ts'
import { grant, rightsBetween } from '../testing/rights.ts'
import { graphOf } from '../testing/tasks.ts'

const S = 1000

/** W with everything that can happen to a workspace behind it: below P now, owned by uz, half of its tokens spent. */
async function lived(f: Fixture): Promise<void> {
  const { id } = await graphOf(f, { T: { priority: 'elevated' } })
  await f.worker('D', { delegate: true, owner: 'ux' })
  await f.worker('P', { delegate: true, owner: 'uy' })
  await f.worker('V')
  await f.worker('X')
  // It outlives its parent, since somebody else owns it, and is given another one.
  const directive = { format: 'markdown', content: 'go' }
  const draft = { owner: 'uy', group: 'g', budget: { compute_budget: { token_limit: 1000 } } }
  await f.worker('W', { ...draft, directive }, f.agent('D'))
  await f.worker('B', { task: id('T'), directive: null })
  unwrap(await f.root.abort(f.id('D')))
  unwrap(await f.root.reparent(f.id('W'), f.id('P')))
  for (const name of ['P', 'W']) unwrap(await f.root.grantVisibility(f.id(name), f.id('V'), 'to compare'))
  unwrap(await f.root.changePriority(f.id('W'), 'critical'))
  unwrap(await f.root.transferOwnership(f.id('W'), 'uz'))
  unwrap(await f.run.meter(f.id('W'), { tokens: 500, cost: 0.25, context: 40 }))
  await f.advance(3 * S)

  // Rights: one moved, one used, one revoked, one left.
  const once = await grant(f, 'once', 'send_once', 'W', 'V')
  const gone = await grant(f, 'gone', 'send', 'W', 'X')
  await grant(f, 'kept', 'send', 'X', 'W')
  await grant(f, 'moved', 'send', 'P', 'V')
  unwrap(await f.agent('W').send(f.mail('V', 'note')))
  unwrap(await f.root.revokeRight(gone, 'enough'))
  unwrap(await f.agent('P').send(f.mail('W', 'feedback', { rights: [{ type: 'send', target: f.id('V') }] })))
  await f.settle()
  expect(await rightsBetween(f, 'W', 'V')).not.toContain(once)

  // Two more letters, of which one is read; three checkpoints; some memory.
  unwrap(await f.agent('W').consume())
  f.name(unwrap(await f.agent('P').send(f.mail('W', 'feedback'))).envelope, 'E1')
  f.name(unwrap(await f.agent('P').send(f.mail('W', 'feedback', { priority: 'urgent' }))).envelope, 'E2')
  await f.settle()
  unwrap(await f.agent('W').consume())
  unwrap(await f.checkpoint('W'))
  unwrap(await f.final('W'))
  unwrap(await f.checkpoint('W'))
  unwrap(await f.agent('W').writeMemory('plan', { step: 3 }))
  unwrap(await f.agent('W').writeMemory('old', 1))
  unwrap(await f.agent('W').deleteMemory('old'))
  unwrap(await f.root.raiseBudget(f.id('W'), { compute_budget: { token_limit: 1200 } }))
  await f.settle()
}

test('WM-042 every component of a workspace is there again after a crash', async () => {
  const f = await fixture({ run: withNotes })
  await lived(f)
  const before = await f.picture()
  const look = unwrap(await f.root.look(f.id('W')))
  await f.restart()
  expect(await f.picture()).toEqual(before)

  const view = unwrap(await f.root.look(f.id('W')))
  expect(view).toEqual(look)
  expect(view).toMatchObject({
    parent: f.id('P'),
    owner: 'uz',
    priority: 'critical',
    group: 'g',
    memory: ['plan'],
    visibility: [f.id('W'), f.id('V')],
    meter: { tokens: 500, cost: 0.25, context: 40 },
    limits: { token_limit: { limit: 1200, consumed: 500 } },
  })
  expect(view.register.map(({ status }) => status)).toEqual(['provisional', 'final', 'provisional'])
  expect(unwrap(await f.agent('W').readMemory('plan'))).toEqual({ step: 3 })
  const held = unwrap(await f.run.topology.rightsHeldBy(f.id('W')))
  expect(held.filter(each => each.target === f.id('X'))).toEqual([])
  expect(held.filter(each => each.target === f.id('V')).map(each => each.type)).toEqual(['send'])

  // The inbox offers what was not read, once.
  const [next, none] = [await f.agent('W').consume(), await f.agent('W').consume()]
  expect(f.nameOf(unwrap(next)!.id)).toBe('E1')
  expect(unwrap(none)).toBeUndefined()
})

test('WM-042 consumption resumes where it stood: the second half of the tokens is all that is left', async () => {
  const f = await fixture()
  await f.worker('W', { budget: { compute_budget: { token_limit: 1000 } } })
  unwrap(await f.run.meter(f.id('W'), { tokens: 500 }))
  await f.restart()
  await f.mark()
  unwrap(await f.run.meter(f.id('W'), { tokens: 499 }))
  await f.settle()
  expect(await f.state('W')).toBe('active')
  unwrap(await f.run.meter(f.id('W'), { tokens: 1 }))
  await f.settle()
  expect(await f.state('W')).toBe('failed')
  await f.expectAmong([
    ['budget_warning', 'W', 'protocol', { consumed: 999 }],
    ['budget_exceeded', 'W', 'protocol', { consumed: 1000, limit: 1000 }],
  ])
})
