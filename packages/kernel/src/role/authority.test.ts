// What a role may do: actions and operations of the base roles, derived roles (W-ROLE-08), and what is denied.
import { canonicalize, limits, unwrap } from '@parley/core'
import { bodyLimits } from '@parley/trail/events'
import { describe, expect, test } from 'vitest'
import { type RoleDefinition, taxonomyLimits } from '../taxonomy/document.ts'
import { referenceTaxonomy } from '../taxonomy/reference.ts'
import { baseVocabulary, loadTaxonomy } from '../taxonomy/taxonomy.ts'
import { fixture, refused, withWorker } from '../testing/fixture.ts'
import { checkpointType, envelopeType, role, route, vocabularyOf } from '../testing/taxonomies.ts'
import { denial } from '../testing/topology.ts'
import { BASE_ROLES, type DelegateReach, OPERATION_NAMES, OPERATIONS } from './base.ts'
import { actionsOf, mayCreate } from './matrix.ts'
import type { Role } from './resolve.ts'

const reference = unwrap(loadTaxonomy(referenceTaxonomy))

const send = (type: string, to: string) => route('send', type, to)
const receive = (type: string, from: string) => route('receive', type, from)
const create = (target: string) => ({ action: 'create', target })
const read = (target: string) => ({ action: 'read', target })

describe('W-CP-03 a checkpoint is created', () => {
  test('by the base roles as the sheet says', () => {
    const created = BASE_ROLES.map(role =>
      [...baseVocabulary.checkpointTypes.keys()].filter(name => mayCreate(baseVocabulary, role, name)),
    )
    expect(created).toEqual([[], ['artifact'], ['observation']])
  })

  test('by a derived role only if its Create set holds the type', () => {
    expect(mayCreate(reference, 'reviewer', 'review')).toBe(true)
    expect(mayCreate(reference, 'reviewer', 'artifact')).toBe(false)
    expect(mayCreate(reference, 'worker', 'review')).toBe(false)
    expect(mayCreate(reference, 'senior_worker', 'artifact')).toBe(true)
    expect(mayCreate(reference, 'auditor', 'observation')).toBe(true)
  })

  test('by a derived role only if the type lists that very role', () => {
    const add = [create('plan')]
    const planning = (...permitted: string[]) =>
      vocabularyOf({
        roles: [role('planner', { add }), role('helper', { add })],
        checkpoint_types: [checkpointType('plan', ...permitted)],
      })
    expect(mayCreate(planning('planner'), 'planner', 'plan')).toBe(true)
    expect(mayCreate(planning('planner'), 'helper', 'plan')).toBe(false)
    expect(mayCreate(planning('worker'), 'planner', 'plan')).toBe(false)
    expect(mayCreate(planning('planner', 'worker'), 'worker', 'plan')).toBe(false)
  })

  test('by nobody if role or type is not registered', () => {
    expect(mayCreate(baseVocabulary, 'stranger', 'artifact')).toBe(false)
    expect(mayCreate(baseVocabulary, 'worker', 'review')).toBe(false)
  })
})

describe('A-07 the actions of an authority', () => {
  const known = (name: string, vocabulary = baseVocabulary) => vocabulary.roles.get(name)!

  test('of a worker and an observer are those of the role', () => {
    expect(actionsOf(known('worker'), false)).toEqual([
      'send:query',
      'emit:ready',
      'emit:started',
      'emit:blocked',
      'emit:checkpoint',
      'emit:complete',
      'emit:failed',
      'emit:escalation',
      'create:artifact',
      'access:read:own_workspace',
      'access:read:own_directive',
      'access:read:own_local_trail',
      'access:read:granted_workspaces',
      'access:own_memory',
    ])
    const observing = actionsOf(known('observer'), false)
    expect(observing).toContain('create:observation')
    expect(observing.some(action => /^(send|operation):|own_memory/.test(action))).toBe(false)
  })

  test('of the coordinator include every operation that it has', () => {
    const actions = actionsOf(known('coordinator'), false)
    expect(actions).toEqual(expect.arrayContaining(['operation:create_workspace', 'operation:grant_delegation']))
    expect(actions).not.toContain('operation:revoke_visibility')
    expect(actions).not.toContain('access:own_memory')
  })

  test('of a delegate include its operations and what it sends as coordinator', () => {
    const actions = actionsOf(known('worker'), true)
    expect(actions).toEqual(
      expect.arrayContaining(['send:query', 'send:directive', 'send:feedback', 'operation:create_workspace']),
    )
    expect(actions).not.toContain('operation:grant_delegation')
    expect(actions).not.toContain('operation:revoke_right')
    const vocabulary = vocabularyOf({
      envelope_types: [envelopeType('notice', ['coordinator', 'worker']), envelopeType('note', ['worker', 'worker'])],
    })
    expect(actionsOf(known('worker', vocabulary), true, known('coordinator', vocabulary))).toEqual(
      expect.arrayContaining(['send:notice', 'send:note']),
    )
  })

  test('of the richest role that a taxonomy can define fit into a trail entry', () => {
    // Each control character takes six bytes in canonical form.
    const names = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${prefix}${index}`.padEnd(taxonomyLimits.nameLength, '\u0001'))
    const types = names('t', taxonomyLimits.envelopeTypes)
    const checkpoints = names('c', taxonomyLimits.checkpointTypes)
    const rich = vocabularyOf({
      roles: [
        role('rich', {
          add: names('s', taxonomyLimits.capabilities).map(read),
          override: { checkpoint_types: checkpoints },
        }),
      ],
      envelope_types: types.map(name => envelopeType(name, ['rich', 'worker'])),
      checkpoint_types: checkpoints.map(name => checkpointType(name, 'rich')),
    })
    const actions = actionsOf(known('rich', rich), true, known('coordinator', rich))
    expect(new Set(actions).size).toBe(actions.length)
    expect(actions.length).toBeLessThan(bodyLimits.listItems)
    expect(Math.max(...actions.map(action => action.length))).toBeLessThan(bodyLimits.nameLength)
    expect(Buffer.byteLength(canonicalize(actions))).toBeLessThan(limits.entryBytes * 0.75)
  })
})

test.each([
  ['suspended', 'frozen'],
  ['migrating', 'frozen'],
  ['integrating', 'permission_denied'],
])('W-WS-21 an agent that reaches for its mail while it is %s is on record', async (state, reason) => {
  const f = await fixture()
  const agent = await f.worker('W')
  unwrap(await f.root.feedback(f.id('W'), { format: 'text', content: 'more' }))
  await f.bring('W', state)
  await f.mark()
  const bound = state === 'migrating' ? agent : f.agent('W')
  expect(refused(await bound.consume())).toBe(`invalid_state(${reason})`)
  await f.expectAdded([denial('W', 'worker', 'access:read', reason, 'W', 'consume')])
})

test('W-WS-21 who is paused while it waits for mail reached for nothing', async () => {
  const f = await withWorker()
  const waiting = f.agent('W').receive()
  await f.settle()
  unwrap(await f.root.suspend(f.id('W'), 'pause'))
  expect(refused(await waiting)).toBe('invalid_state')
  expect((await f.added()).map(({ event_type }) => event_type)).not.toContain('capability_denied')
})

const reaching = (reach: DelegateReach) => OPERATION_NAMES.filter(name => OPERATIONS[name].delegate === reach)

test('W-ROLE-04 the root coordinator has every operation but the withdrawal of visibility', () => {
  expect(OPERATION_NAMES.filter(name => !OPERATIONS[name].root)).toEqual(['revoke_visibility'])
})

test('W-ROLE-04 a delegate creates and integrates its children, and rules its descendants', () => {
  expect(reaching('children')).toEqual(['create_workspace', 'assign_role', 'integrate'])
  expect(reaching('descendants')).toEqual([
    'abort',
    'suspend',
    'resume',
    'migrate',
    'graceful_termination',
    'raise_budget',
    'change_priority',
    'grant_visibility',
  ])
  expect(reaching('subtree')).toEqual(['create_right'])
  expect(reaching('own_subtasks')).toEqual(['task'])
})

test('W-ROLE-12 a delegate grants no delegation, and has none of what concerns the whole run', () => {
  expect(reaching('no')).toEqual([
    'grant_delegation',
    'batch_abort',
    'batch_priority',
    'revoke_right',
    'transfer_ownership',
    'configure_highway',
    'consult',
    'reparent',
    'revoke_visibility',
  ])
})

test('W-MIG-04 W-TERM-01 migration and graceful termination come with level 3', () => {
  expect(OPERATION_NAMES.filter(name => OPERATIONS[name].level === 3)).toEqual(['migrate', 'graceful_termination'])
})

/** These roles, next to the row that names `helper`. */
const rolesOf = (...roles: RoleDefinition[]) =>
  vocabularyOf({
    roles,
    envelope_types: [envelopeType('note', ['worker', 'worker'], ['helper', 'coordinator'])],
    checkpoint_types: [checkpointType('x', 'worker'), checkpointType('y', 'worker')],
  }).roles

const resolve = (definition: Partial<RoleDefinition>): Role => rolesOf(role('helper', definition)).get('helper')!

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
    const helper = resolve({ remove: [send('query', 'coordinator'), send('note', 'worker'), read('own_workspace')] })
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
    const watcher = role('watcher', { extends: 'observer', add: [read('designated_group')] })
    const observer = vocabularyOf({ roles: [watcher] }).roles.get('watcher')!
    expect(observer.writesMemory).toBe(false)
    expect([...observer.emit]).toEqual(['ready', 'started', 'complete', 'failed', 'escalation'])
  })

  test('leaves its base and its siblings as they are', () => {
    const thief = role('thief', { add: [read('everything')], remove: [send('query', 'coordinator')] })
    const roles = rolesOf(thief, role('helper'))
    for (const name of ['worker', 'helper']) {
      expect(sends(roles.get(name)!)).toContain('query → coordinator')
      expect(roles.get(name)!.read).not.toContain('everything')
    }
  })
})

test('W-ROLE-08 rows that name a base role as sender belong to the base role itself', () => {
  const roles = rolesOf(role('helper'))
  expect(sends(roles.get('worker')!)).toEqual(['query → coordinator', 'note → worker'])
  expect(sends(roles.get('coordinator')!)).toEqual(['directive → worker', 'feedback → worker'])
  expect(sends(roles.get('observer')!)).toEqual([])
})
