// Resolution of derived roles (W-ROLE-08), through the taxonomies that define them.

import { unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import type { Capability, RoleDefinition } from '../taxonomy/document.ts'
import { loadTaxonomy, type Taxonomy } from '../taxonomy/taxonomy.ts'
import type { Role } from './resolve.ts'

const send = (type: string, role: string): Capability => ({ action: 'send', target: { type, role } })
const receive = (type: string, role: string): Capability => ({ action: 'receive', target: { type, role } })
const create = (target: string): Capability => ({ action: 'create', target })
const read = (target: string): Capability => ({ action: 'read', target })

const document: Taxonomy = {
  id: 't',
  version: '1',
  protocol_version: '0.1',
  roles: [],
  envelope_types: [
    {
      name: 'note',
      description: '',
      permissions: [
        { sender_role: 'worker', receiver_role: 'worker' },
        { sender_role: 'helper', receiver_role: 'coordinator' },
      ],
    },
  ],
  checkpoint_types: [
    { name: 'x', description: '', permitted_roles: ['worker'] },
    { name: 'y', description: '', permitted_roles: ['worker'] },
  ],
}

/** The role `helper`, so defined, next to the row that names it. */
function resolve(definition: Partial<RoleDefinition>): Role {
  const helper = { name: 'helper', extends: 'worker', add: [], remove: [], ...definition }
  return unwrap(loadTaxonomy({ ...document, roles: [helper] })).roles.get('helper')!
}

const sends = (role: Role) =>
  [...role.send].flatMap(([type, targets]) => [...targets].map(target => `${type} → ${target}`))

describe('W-ROLE-08 a derived role', () => {
  test('starts from its base, with the rows that name the base and those that name the role', () => {
    const helper = resolve({})
    expect(helper).toMatchObject({ name: 'helper', base: 'worker', writesMemory: true })
    expect(sends(helper)).toEqual(['query → coordinator', 'note → worker', 'note → coordinator'])
    expect([...helper.create]).toEqual(['artifact'])
    expect(helper.read).toContain('own_workspace')
  })

  test('replaces the default checkpoint types by those of override', () => {
    expect([...resolve({ override: { checkpoint_types: ['x', 'y'] } }).create]).toEqual(['x', 'y'])
    expect([...resolve({ override: { checkpoint_types: [] } }).create]).toEqual([])
  })

  test('overrides before it removes, and removes before it adds (A-52)', () => {
    const override = { checkpoint_types: ['x'] }
    expect([...resolve({ override, remove: [create('x')] }).create]).toEqual([])
    expect([...resolve({ override, remove: [create('x')], add: [create('x')] }).create]).toEqual(['x'])
    expect([...resolve({ override, remove: [create('artifact')], add: [create('y')] }).create]).toEqual(['x', 'y'])
  })

  test('loses what it removes, rows included, and no type is left without a target', () => {
    const helper = resolve({
      remove: [send('query', 'coordinator'), send('note', 'worker'), read('own_workspace')],
    })
    expect(sends(helper)).toEqual(['note → coordinator'])
    expect(helper.send.has('query')).toBe(false)
    expect(helper.read).not.toContain('own_workspace')
    expect(helper.read).toContain('own_directive')
  })

  test('may remove what is not there, known or not', () => {
    const remove = [send('query', 'observer'), send('unheard', 'of'), create('unheard'), read('unheard')]
    expect(resolve({ remove })).toEqual(resolve({}))
  })

  test('keeps what it removes and adds again', () => {
    const both = [send('query', 'coordinator'), read('own_workspace'), receive('feedback', 'coordinator')]
    const helper = resolve({ remove: both, add: both })
    expect(sends(helper)).toContain('query → coordinator')
    expect(helper.read).toContain('own_workspace')
    expect(helper.removedReceive.size).toBe(0)
  })

  test('does not receive the types whose Receive entry it removes', () => {
    const helper = resolve({ remove: [receive('feedback', 'coordinator')] })
    expect([...helper.removedReceive]).toEqual(['feedback'])
  })

  test('emits and writes as its base does', () => {
    const roles = [{ name: 'watcher', extends: 'observer', add: [read('designated_group')], remove: [] }]
    const loaded = unwrap(loadTaxonomy({ ...document, roles, envelope_types: [] }))
    const observer = loaded.roles.get('watcher')!
    expect(observer.writesMemory).toBe(false)
    expect([...observer.emit]).toEqual(['ready', 'started', 'complete', 'failed', 'escalation'])
  })

  test('leaves its base and its siblings as they are', () => {
    const thief = {
      name: 'thief',
      extends: 'worker',
      add: [read('everything')],
      remove: [send('query', 'coordinator')],
    }
    const helper = { name: 'helper', extends: 'worker', add: [], remove: [] }
    const { roles } = unwrap(loadTaxonomy({ ...document, roles: [thief, helper] }))
    for (const name of ['worker', 'helper']) {
      expect(sends(roles.get(name)!)).toContain('query → coordinator')
      expect(roles.get(name)!.read).not.toContain('everything')
    }
  })
})

test('W-ROLE-08 rows that name a base role as sender belong to the base role itself', () => {
  const { roles } = unwrap(
    loadTaxonomy({ ...document, roles: [{ name: 'helper', extends: 'worker', add: [], remove: [] }] }),
  )
  expect(sends(roles.get('worker')!)).toEqual(['query → coordinator', 'note → worker'])
  expect(sends(roles.get('coordinator')!)).toEqual(['directive → worker', 'feedback → worker'])
  expect(sends(roles.get('observer')!)).toEqual([])
})
