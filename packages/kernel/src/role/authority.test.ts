// What a role may create (W-CP-03), and the actions that an authority lists.

import { canonicalize, limits, unwrap } from '@parley/core'
import { bodyLimits } from '@parley/trail/events'
import { describe, expect, test } from 'vitest'
import { taxonomyLimits } from '../taxonomy/document.ts'
import { referenceTaxonomy } from '../taxonomy/reference.ts'
import { baseVocabulary, loadTaxonomy, type Taxonomy, type Vocabulary } from '../taxonomy/taxonomy.ts'
import { BASE_ROLES } from './base.ts'
import { actionsOf, mayCreate } from './matrix.ts'

const reference = unwrap(loadTaxonomy(referenceTaxonomy))

function withTypes(types: Taxonomy['envelope_types']): Vocabulary {
  const frame = { id: 't', version: '1', protocol_version: '0.1', checkpoint_types: [] }
  return unwrap(loadTaxonomy({ ...frame, roles: [], envelope_types: types }))
}

const type = (name: string, sender_role: string, receiver_role: string) => ({
  name,
  description: '',
  permissions: [{ sender_role, receiver_role }],
})

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
    const create = (name: string) => ({
      name,
      extends: 'worker',
      add: [{ action: 'create', target: 'plan' }],
      remove: [],
    })
    const planning = (...permitted_roles: string[]) =>
      unwrap(
        loadTaxonomy({
          ...referenceTaxonomy,
          roles: [create('planner'), create('helper')],
          envelope_types: [],
          checkpoint_types: [{ name: 'plan', description: '', permitted_roles }],
        }),
      )
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
  const role = (name: string, vocabulary = baseVocabulary) => vocabulary.roles.get(name)!

  test('of a worker and an observer are those of the role', () => {
    expect(actionsOf(role('worker'), false)).toEqual([
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
    const observing = actionsOf(role('observer'), false)
    expect(observing).toContain('create:observation')
    expect(observing.some(action => /^(send|operation):|own_memory/.test(action))).toBe(false)
  })

  test('of the coordinator include every operation that it has', () => {
    const actions = actionsOf(role('coordinator'), false)
    expect(actions).toEqual(expect.arrayContaining(['operation:create_workspace', 'operation:grant_delegation']))
    expect(actions).not.toContain('operation:revoke_visibility')
    expect(actions).not.toContain('access:own_memory')
  })

  test('of a delegate include its operations and what it sends as coordinator', () => {
    const actions = actionsOf(role('worker'), true)
    expect(actions).toEqual(
      expect.arrayContaining(['send:query', 'send:directive', 'send:feedback', 'operation:create_workspace']),
    )
    expect(actions).not.toContain('operation:grant_delegation')
    expect(actions).not.toContain('operation:revoke_right')
    const vocabulary = withTypes([type('notice', 'coordinator', 'worker'), type('note', 'worker', 'worker')])
    expect(actionsOf(role('worker', vocabulary), true, role('coordinator', vocabulary))).toEqual(
      expect.arrayContaining(['send:notice', 'send:note']),
    )
  })

  test('of the richest role that a taxonomy can define fit into a trail entry', () => {
    // Each control character takes six bytes in canonical form.
    const names = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${prefix}${index}`.padEnd(taxonomyLimits.nameLength, '\u0001'))
    const types = names('t', taxonomyLimits.envelopeTypes)
    const checkpoints = names('c', taxonomyLimits.checkpointTypes)
    const rich = unwrap(
      loadTaxonomy({
        id: 't',
        version: '1',
        protocol_version: '0.1',
        roles: [
          {
            name: 'rich',
            extends: 'worker',
            add: names('s', taxonomyLimits.capabilities).map(target => ({ action: 'read', target })),
            remove: [],
            override: { checkpoint_types: checkpoints },
          },
        ],
        envelope_types: types.map(name => type(name, 'rich', 'worker')),
        checkpoint_types: checkpoints.map(name => ({ name, description: '', permitted_roles: ['rich'] })),
      }),
    )
    const actions = actionsOf(role('rich', rich), true, role('coordinator', rich))
    expect(new Set(actions).size).toBe(actions.length)
    expect(actions.length).toBeLessThan(bodyLimits.listItems)
    expect(Math.max(...actions.map(action => action.length))).toBeLessThan(bodyLimits.nameLength)
    expect(Buffer.byteLength(canonicalize(actions))).toBeLessThan(limits.entryBytes * 0.75)
  })
})
