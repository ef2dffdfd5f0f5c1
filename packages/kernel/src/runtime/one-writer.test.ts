// One runtime per trail (§6.7, W-CONC-08): a second one is refused, and a trail that two have written is found.
import { asParleyError, type EntryId, formatTimestamp, unwrap } from '@parley/core'
import { stamp, Trail } from '@parley/trail'
import { openMemoryStore } from '@parley/trail/testing'
import { expect, test } from 'vitest'
import { type Fixture, fixture } from '../testing/fixture.ts'
import { Runtime } from './runtime.ts'

const codeOf = (opened: Promise<unknown>) =>
  opened.then(
    () => 'opened',
    cause => asParleyError(cause).code,
  )

test('W-CONC-08 a second runtime over a trail that a live one holds is refused and changes nothing', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.mark()
  const house = await f.trail.run(f.runtime.house.run).head()
  expect(await codeOf(Runtime.open({ trail: f.trail, clock: f.clock, level: 1 }))).toBe('trail_in_use')
  await f.expectAdded([])
  expect(await f.trail.run(f.runtime.house.run).head()).toEqual(house)
  // The first one goes on, and whoever comes after it may have the trail.
  unwrap(await f.agent('W').blocked('waiting'))
  await f.runtime.close()
  const next = await Runtime.open({ trail: f.trail, clock: f.clock, level: 1 })
  // Closing is safe to repeat: it takes nothing from the next one.
  await f.runtime.close()
  expect(await codeOf(Runtime.open({ trail: f.trail, clock: f.clock, level: 1 }))).toBe('trail_in_use')
  await next.close()
})

test('W-CONC-08 two trails before one store have one writer as well; what could not be opened holds nothing', async () => {
  const store = await openMemoryStore()
  const [one, other] = [new Trail({ store }), new Trail({ store })]
  expect(await codeOf(Runtime.open({ trail: one, deployment: 'zero-trust' }))).not.toBe('trail_in_use')
  const runtime = await Runtime.open({ trail: one, level: 1 })
  expect(await codeOf(Runtime.open({ trail: other, level: 1 }))).toBe('trail_in_use')
  await runtime.close()
  await one.close()
})

const violated = (f: Fixture) =>
  f.expectAmong([['integrity_violation', null, 'protocol', { subject_id: 'E', action_taken: 'quarantined' }]])

test('W-CONC-08 opening finds a second checkpoint on the same place of the chain', async () => {
  const f = await fixture()
  await f.worker('W')
  const first = unwrap(await f.checkpoint('W')).checkpoint
  const [object] = await objectsOf(f, first)
  await f.mark()
  const id = f.ids.next('cp')
  const again = { ...(object as { value: object }), id, value: { ...object!.value, id } }
  const entries = await f.run.entries()
  const made = entries.find(each => each.event_type === 'checkpoint_created')!
  const timestamp = formatTimestamp(f.runtime.clock.take())
  const body = { ...made.body, checkpoint_id: id, timestamp }
  const entry = { ...stamp({ ...made, body } as never, f.ids.next('e') as EntryId, timestamp) }
  unwrap(await f.trail.run(f.run.id).append({ entries: [entry], objects: [again as never] }))
  f.name(entry.id, 'E')
  await f.restart()
  await violated(f)
  expect(unwrap(await f.agent('W').look()).register.map(each => each.id)).toEqual([first])
})

async function objectsOf(f: Fixture, id: string) {
  const found: { id: string; value: object }[] = []
  for await (const record of f.trail.run(f.run.id).replay())
    if (!('event_type' in record) && record.id === id) found.push(record as never)
  return found
}
