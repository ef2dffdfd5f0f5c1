// Loading a faulty taxonomy: what is refused, under which check of W-TAX-05, and that nothing hides.
import { unwrap } from '@parley/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkpointType, envelopeType, helperTaxonomy, role, route } from '../testing/taxonomies.ts'
import { CEILING_NAMES, type Fault } from './checks.ts'
import { type RoleDefinition, taxonomyLimits } from './document.ts'
import { loadTaxonomy, recordedVocabulary } from './taxonomy.ts'

/** Entries to add to the registries of the valid document. */
interface More {
  readonly roles?: readonly unknown[]
  readonly envelope_types?: readonly unknown[]
  readonly checkpoint_types?: readonly unknown[]
}

function withMore(more: More): unknown {
  return {
    ...helperTaxonomy,
    roles: [...helperTaxonomy.roles, ...(more.roles ?? [])],
    envelope_types: [...helperTaxonomy.envelope_types, ...(more.envelope_types ?? [])],
    checkpoint_types: [...helperTaxonomy.checkpoint_types, ...(more.checkpoint_types ?? [])],
  }
}

function faultsOf(document: unknown): readonly Fault[] {
  const loaded = loadTaxonomy(document)
  if (loaded.ok) return []
  expect(loaded.error.code).toBe('invalid_taxonomy')
  return loaded.error.details.faults as readonly Fault[]
}

const checksOf = (document: unknown) => faultsOf(document).map(fault => fault.check)

describe('W-ROLE-09 a definition above the ceiling refuses the whole taxonomy', () => {
  const refused: [string, number, Partial<RoleDefinition>][] = [
    ['that extends nothing known', 6, { extends: 'manager' }],
    ['that adds feedback', 7, { add: [route('send', 'feedback', 'helper')] }],
    ['that adds emission', 7, { add: [{ action: 'emit', target: 'integrate' }] }],
    ['that adds reading of the whole record', 7, { add: [{ action: 'read', target: 'global_trail' }] }],
    [
      'of an observer that reads every workspace',
      7,
      { extends: 'observer', add: [{ action: 'read', target: 'all_workspaces' }] },
    ],
    ['that removes emission', 7, { remove: [{ action: 'emit', target: 'failed' }] }],
    ['of an observer that sends a registered type', 7, { extends: 'observer', add: [route('send', 'note', 'worker')] }],
    ['of an observer that adds artifact', 7, { extends: 'observer', add: [{ action: 'create', target: 'artifact' }] }],
    [
      'of an observer that overrides to artifact',
      7,
      { extends: 'observer', override: { checkpoint_types: ['artifact'] } },
    ],
  ]
  test.each(refused)('W-ROLE-09 a definition %s refuses the whole taxonomy', (_, check, definition) => {
    expect(checksOf(withMore({ roles: [role('climber', { ...definition })] }))).toEqual([check])
  })

  test('W-ROLE-09 a run that began with such a row keeps the vocabulary that it began with', () => {
    const document = withMore({ envelope_types: [envelopeType('word', ['observer', 'worker'])] })
    const { roles } = unwrap(recordedVocabulary(document))
    expect(roles.get('observer')?.send.get('word')).toEqual(new Set(['worker']))
    expect(recordedVocabulary({ ...helperTaxonomy, protocol_version: '9' }).ok).toBe(false)
  })

  test.each(CEILING_NAMES)('W-ROLE-09 %s is out of reach as an action and as a target', name => {
    const climber = (definition: Partial<RoleDefinition>) =>
      checksOf(
        withMore({ roles: [role('climber', { ...definition })], checkpoint_types: [checkpointType(name, 'helper')] }),
      )
    expect(climber({ add: [{ action: name, target: 'any' }] })).toEqual([7])
    expect(climber({ remove: [{ action: name, target: 'any' }] })).toEqual([7])
    expect(climber({ add: [{ action: 'read', target: name }] })).toEqual([7])
    expect(climber({ override: { checkpoint_types: [name] } })).toEqual([7])
  })

  test('W-ROLE-09 what lies below it is loaded', () => {
    const below: Partial<RoleDefinition>[] = [
      { remove: [route('send', 'directive', 'worker')] },
      { add: [route('send', 'note', 'worker'), route('send', 'query', 'coordinator')] },
      { add: [route('receive', 'directive', 'coordinator')] },
      { add: [{ action: 'create', target: 'observation' }] },
      { extends: 'observer', remove: [{ action: 'create', target: 'artifact' }] },
      { extends: 'observer', remove: [route('send', 'query', 'coordinator')] },
    ]
    for (const definition of below)
      expect(faultsOf(withMore({ roles: [role('modest', { ...definition })] }))).toEqual([])
  })
})

describe('W-TAX-05 a faulty document is refused with every fault', () => {
  const odd = (definition: object): More => ({ roles: [{ ...role('odd'), ...definition }] })
  const mail = (name: string, ...rows: [string, string][]): More => ({ envelope_types: [envelopeType(name, ...rows)] })
  const record = (name: string, ...roles: string[]): More => ({ checkpoint_types: [checkpointType(name, ...roles)] })

  const documents: [string, number, unknown][] = [
    ['another protocol_version', 1, { ...helperTaxonomy, protocol_version: '0.2' }],
    ['a protocol_version that is a number', 1, { ...helperTaxonomy, protocol_version: 0.1 }],
    ['no protocol_version', 1, { ...helperTaxonomy, protocol_version: undefined }],
    ['a signal_types key', 2, { ...helperTaxonomy, signal_types: [] }],
    ['no id', 2, { ...helperTaxonomy, id: undefined }],
    ['a registry missing', 2, { ...helperTaxonomy, checkpoint_types: undefined }],
  ]
  const additions: [string, number, More][] = [
    ['a role without a name', 2, { roles: [{ extends: 'worker', add: [], remove: [] }] }],
    ['a role with another field', 2, odd({ emit: ['ready'] })],
    ['an override of something else', 2, odd({ override: { checkpoint_types: [], emit: [] } })],
    ['a capability without a target', 2, odd({ add: [{ action: 'read' }] })],
    ['send of a name', 2, odd({ add: [{ action: 'send', target: 'query' }] })],
    ['create of a route', 2, odd({ remove: [route('create', 'x', 'y')] })],
    ['half a surrogate pair', 2, odd({ name: 'x\ud800' })],
    ['a duplicate role', 3, { roles: [role('helper')] }],
    ['a role named worker', 3, odd({ name: 'worker' })],
    ['a role named like an actor of the trail', 3, odd({ name: 'system' })],
    ['a type named directive', 4, mail('directive', ['worker', 'worker'])],
    ['a duplicate envelope type', 4, mail('note', ['worker', 'worker'])],
    ['a type named artifact', 5, record('artifact', 'helper')],
    ['a duplicate checkpoint type', 5, record('plan', 'helper')],
    ['a role that extends a derived one', 6, odd({ extends: 'helper' })],
    ['a role above the ceiling', 7, odd({ add: [route('send', 'directive', 'worker')] })],
    ['an override with an unknown type', 8, odd({ override: { checkpoint_types: ['x'] } })],
    ['add create of an unknown type', 8, odd({ add: [{ action: 'create', target: 'x' }] })],
    ['add send of an unknown type', 9, odd({ add: [route('send', 'x', 'worker')] })],
    ['add receive of an unknown type', 9, odd({ add: [route('receive', 'x', 'worker')] })],
    ['add send to an unknown role', 9, odd({ add: [route('send', 'note', 'x')] })],
    ['a row with an unknown sender', 10, mail('memo', ['x', 'worker'])],
    ['a row with an unknown receiver', 10, mail('memo', ['worker', 'x'])],
    ['an envelope type without rows', 11, mail('memo')],
    ['an unknown permitted role', 12, record('draft', 'helper', 'x')],
    ['a checkpoint type without permitted roles', 13, record('draft')],
  ]

  test.each(documents)('W-TAX-05 %s', (_, check, document) => {
    expect(checksOf(document)).toEqual([check])
  })

  test.each(additions)('W-TAX-05 %s', (_, check, more) => {
    expect(checksOf(withMore(more))).toEqual([check])
  })

  test('W-TAX-05 all faults are reported in the order of the checks', () => {
    const faults = faultsOf({
      id: 't',
      version: '1',
      protocol_version: '9',
      signal_types: ['hurry'],
      roles: [
        role('worker'),
        role('climber', { extends: 'boss', add: [route('send', 'directive', 'nobody')] }),
        role('odd', { override: { checkpoint_types: ['x'] } }),
        { name: 'shapeless' },
      ],
      envelope_types: [envelopeType('query'), envelopeType('memo', ['shapeless', 'nobody'])],
      checkpoint_types: [checkpointType('observation', 'nobody'), checkpointType('draft')],
    })
    expect(faults.map(fault => fault.check)).toEqual([1, 2, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
    expect(faults.map(fault => fault.message)).toMatchInlineSnapshot(`
      [
        "protocol_version is not "0.1", which this runtime speaks",
        "taxonomy.signal_types: expected no such member, got an array of 1",
        "roles[3]: extends: expected string, got nothing",
        "roles[3]: add: expected array, got nothing",
        "roles[3]: remove: expected array, got nothing",
        "role "worker" has a name of the protocol",
        "envelope type "query" has a name of the protocol",
        "checkpoint type "observation" has a name of the protocol",
        "role "climber" extends "boss"; a role extends worker or observer",
        "role "climber" adds sending of directive, which is the coordinator's",
        "role "odd" names the unknown checkpoint type "x"",
        "role "climber" names the unknown role "nobody"",
        "envelope type "memo" names the unknown role "nobody"",
        "envelope type "query" has no permissions; nobody could send it",
        "checkpoint type "observation" names the unknown role "nobody"",
        "checkpoint type "draft" has no permitted_roles; nobody could create it",
      ]
    `)
  })

  test('the message names the first fault and counts the others', () => {
    const loaded = loadTaxonomy({ ...helperTaxonomy, protocol_version: '9', signal_types: [] })
    expect(loaded.ok || loaded.error.message).toMatchInlineSnapshot(
      `"The taxonomy was not loaded: protocol_version is not "0.1", which this runtime speaks (and 1 more); correct it and start again"`,
    )
  })

  test('what is no object is not of the right shape', () => {
    for (const document of ['', 'taxonomy', 7, true, () => helperTaxonomy, Symbol('t')])
      expect(checksOf(document)).toEqual([2])
    expect(checksOf([])).toContain(2)
    expect(checksOf({})).toContain(2)
  })

  test('a document beyond the limits is not of the right shape, and costs no more for it', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => role(`r${index}`))
    expect(
      faultsOf({ ...helperTaxonomy, roles: [...helperTaxonomy.roles, ...many(taxonomyLimits.roles - 1)] }),
    ).toEqual([])
    expect(checksOf({ ...helperTaxonomy, roles: [...helperTaxonomy.roles, ...many(taxonomyLimits.roles)] })).toContain(
      2,
    )
    const shapeless = Array.from({ length: taxonomyLimits.envelopeTypes + 1 }, () => ({}))
    expect(checksOf({ ...helperTaxonomy, envelope_types: shapeless })).toEqual([2])
    const name = 'x'.repeat(taxonomyLimits.nameLength)
    expect(faultsOf(withMore({ roles: [role(name)] }))).toEqual([])
    expect(checksOf(withMore({ roles: [role(`${name}x`)] }))).toEqual([2])
  })

  test('faults do not hide one another, whichever meet', () => {
    fc.assert(
      fc.property(fc.subarray(additions), chosen => {
        const all = (registry: keyof More) => chosen.flatMap(([, , more]) => more[registry] ?? [])
        const document = withMore({
          roles: all('roles'),
          envelope_types: all('envelope_types'),
          checkpoint_types: all('checkpoint_types'),
        })
        const found = checksOf(document)
        expect(found).toEqual(found.toSorted((a, b) => a - b))
        expect(found).toEqual(expect.arrayContaining(chosen.map(([, check]) => check)))
      }),
    )
  })

  test('any value is loaded or refused, and never throws', () => {
    const registry = fc.array(fc.jsonValue(), { maxLength: 3 })
    const taken = fc.record({ roles: registry, envelope_types: registry, checkpoint_types: registry })
    fc.assert(
      fc.property(fc.jsonValue(), taken, (value, more) => {
        faultsOf(value)
        faultsOf(withMore(more))
      }),
    )
  })
})
