// The permission matrix against a second reading of W-ROLE-06 and W-ROLE-08, for any taxonomy.

import { unwrap } from '@parley/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { baseVocabulary, loadTaxonomy, type Taxonomy, type Vocabulary } from '../taxonomy/taxonomy.ts'
import { BASE_ENVELOPE_TYPES, BASE_ROLES } from './base.ts'
import { maySend, type Party, type Relation } from './matrix.ts'

const RELATIONS: readonly Relation[] = ['sender_above', 'receiver_above', 'apart']
const party = (role: string): Party => ({ role, delegate: false })

function withTypes(types: Taxonomy['envelope_types'], roles: Taxonomy['roles'] = []): Vocabulary {
  const frame = { id: 't', version: '1', protocol_version: '0.1', checkpoint_types: [] }
  return unwrap(loadTaxonomy({ ...frame, roles, envelope_types: types }))
}

describe('W-ROLE-06 for any taxonomy', () => {
  const roleName = fc.constantFrom('r1', 'r2', 'r3')
  const anyRole = fc.constantFrom('coordinator', 'worker', 'observer', 'r1', 'r2', 'r3')
  const anyType = fc.constantFrom('directive', 'feedback', 'query', 't1', 't2')
  const route = (action: 'send' | 'receive') =>
    fc.record({ type: anyType, role: anyRole }).map(target => ({ action, target }))
  const notTheCoordinators = (capability: { target: { type: string } }) =>
    !['directive', 'feedback'].includes(capability.target.type)
  const definition = (name: string) =>
    fc.constantFrom('worker', 'observer').chain(base =>
      fc.record({
        name: fc.constant(name),
        extends: fc.constant(base),
        add: fc.array(
          base === 'worker' ? fc.oneof(route('send').filter(notTheCoordinators), route('receive')) : route('receive'),
          { maxLength: 3 },
        ),
        remove: fc.array(fc.oneof(route('send'), route('receive')), { maxLength: 3 }),
      }),
    )
  const envelopeType = (name: string) =>
    fc
      .array(fc.record({ sender_role: anyRole, receiver_role: anyRole }), { minLength: 1, maxLength: 5 })
      .map(permissions => ({ name, description: '', permissions }))
  const anyDocument = fc.record({
    roles: fc.tuple(definition('r1'), definition('r2'), definition('r3')),
    envelope_types: fc.tuple(envelopeType('t1'), envelopeType('t2')),
  })
  type Document = typeof anyDocument extends fc.Arbitrary<infer T> ? T : never
  const isObserver = ({ roles }: Document, name: string) =>
    name === 'observer' || roles.some(role => role.name === name && role.extends === 'observer')
  /** Without what is refused since it names observers (W-ROLE-09). */
  const anyTaxonomy = anyDocument.map(document => ({
    roles: document.roles.map(role => ({
      ...role,
      add: role.add.filter(({ target }) => ![role.name, target.role].some(name => isObserver(document, name))),
    })),
    envelope_types: document.envelope_types.map(type => ({
      ...type,
      permissions: [
        { sender_role: 'coordinator', receiver_role: 'worker' },
        ...type.permissions.filter(
          row => !isObserver(document, row.sender_role) && !isObserver(document, row.receiver_role),
        ),
      ],
    })),
  }))
  const anyParty = fc.record({ role: anyRole, delegate: fc.boolean() })

  type Drawn = typeof anyTaxonomy extends fc.Arbitrary<infer T> ? T : never

  /** W-ROLE-08 and W-ROLE-06 once more, as plainly as the sheet puts them. */
  function model({ roles, envelope_types }: Drawn) {
    const base = (name: string) => roles.find(role => role.name === name)?.extends ?? name
    const effectiveSend = (name: string): string[] => {
      const definition = roles.find(role => role.name === name)
      const own = envelope_types.flatMap(({ name: type, permissions }) =>
        permissions.filter(row => row.sender_role === name).map(row => `${type} → ${row.receiver_role}`),
      )
      if (definition === undefined) {
        if (name === 'coordinator') return [...own, 'directive → worker', 'feedback → worker']
        return name === 'worker' ? [...own, 'query → coordinator'] : own
      }
      const of = (list: Drawn['roles'][0]['add']) =>
        list.filter(({ action }) => action === 'send').map(({ target }) => `${target.type} → ${target.role}`)
      const removed = of(definition.remove)
      const kept = [...effectiveSend(definition.extends), ...own].filter(entry => !removed.includes(entry))
      return [...kept, ...of(definition.add)]
    }
    const removedReceive = (name: string): string[] => {
      const definition = roles.find(role => role.name === name)
      const of = (list: Drawn['roles'][0]['add']) =>
        list.filter(({ action }) => action === 'receive').map(({ target }) => target.type)
      const added = of(definition?.add ?? [])
      return of(definition?.remove ?? []).filter(type => !added.includes(type))
    }
    const facets = (x: Party, above: boolean) => [x.role, ...(x.delegate && above ? ['coordinator'] : [])]
    return (sender: Party, type: string, receiver: Party, relation: Relation) =>
      facets(sender, relation === 'sender_above').some(s =>
        facets(receiver, relation === 'receiver_above').some(
          r =>
            [r, base(r)].some(target => effectiveSend(s).includes(`${type} → ${target}`)) &&
            !removedReceive(receiver.role).includes(type),
        ),
      )
  }

  test('the matrix says what the formula says', () => {
    fc.assert(
      fc.property(
        anyTaxonomy,
        anyParty,
        anyType,
        anyParty,
        fc.constantFrom(...RELATIONS),
        (drawn, from, name, to, relation) => {
          const vocabulary = withTypes(drawn.envelope_types, drawn.roles)
          expect(maySend(vocabulary, from, name, to, relation)).toBe(model(drawn)(from, name, to, relation))
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('W-ROLE-09 no taxonomy lets an observer send, or an agent write to one', () => {
    fc.assert(
      fc.property(anyTaxonomy, anyType, anyRole, fc.constantFrom(...RELATIONS), (drawn, name, other, relation) => {
        const vocabulary = withTypes(drawn.envelope_types, drawn.roles)
        for (const { name: role, base } of vocabulary.roles.values()) {
          if (base !== 'observer') continue
          expect(maySend(vocabulary, party(role), name, party(other), relation)).toBe(false)
          expect(maySend(vocabulary, party(other), name, party(role), relation)).toBe(false)
        }
      }),
    )
  })

  test("a taxonomy takes nothing from the base rows and adds none of the coordinator's types to a role", () => {
    fc.assert(
      fc.property(anyTaxonomy, roleName, anyRole, (drawn, derived, other) => {
        const vocabulary = withTypes(drawn.envelope_types, drawn.roles)
        for (const from of BASE_ROLES)
          for (const to of BASE_ROLES)
            for (const name of BASE_ENVELOPE_TYPES)
              expect(maySend(vocabulary, party(from), name, party(to), 'apart')).toBe(
                maySend(baseVocabulary, party(from), name, party(to), 'apart'),
              )
        for (const name of ['directive', 'feedback'])
          expect(maySend(vocabulary, party(derived), name, party(other), 'sender_above')).toBe(false)
      }),
      { numRuns: 500 },
    )
  })
})
