// The permission matrix (W-ROLE-05, -06, W-PORT-03): the base roles, derived ones, and any taxonomy.
import { unwrap } from '@parley/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { referenceTaxonomy } from '../taxonomy/reference.ts'
import { baseVocabulary, loadTaxonomy, type Vocabulary } from '../taxonomy/taxonomy.ts'
import { envelopeType, role, route, vocabularyOf } from '../testing/taxonomies.ts'
import { BASE_ENVELOPE_TYPES, BASE_ROLES } from './base.ts'
import { maySend, maySendAny, type Party, type Relation } from './matrix.ts'

const reference = unwrap(loadTaxonomy(referenceTaxonomy))

const party = (role: string, delegate = false): Party => ({ role, delegate })
const root = party('coordinator')
const worker = party('worker')
const observer = party('observer')
const delegate = party('worker', true)

/** What of the vocabulary may go from one to the other. */
function sendable(vocabulary: Vocabulary, from: Party, to: Party, relation: Relation): readonly string[] {
  return [...vocabulary.envelopeTypes].filter(type => maySend(vocabulary, from, type, to, relation))
}

describe('W-ROLE-05 the base matrix', () => {
  test('knows no unregistered role or type', () => {
    expect(maySend(baseVocabulary, party('stranger'), 'query', root, 'receiver_above')).toBe(false)
    expect(maySend(baseVocabulary, root, 'directive', party('stranger'), 'sender_above')).toBe(false)
    expect(maySend(baseVocabulary, root, 'rumour', worker, 'sender_above')).toBe(false)
    expect(maySend(baseVocabulary, party('stranger', true), 'query', root, 'receiver_above')).toBe(false)
  })
})

describe('W-ROLE-06 a delegate', () => {
  test('is coordinator towards its descendants', () => {
    expect(sendable(baseVocabulary, delegate, worker, 'sender_above')).toEqual(['directive', 'feedback'])
    expect(sendable(baseVocabulary, worker, delegate, 'receiver_above')).toEqual(['query'])
    expect(sendable(baseVocabulary, delegate, delegate, 'sender_above')).toEqual(['directive', 'feedback'])
    expect(sendable(baseVocabulary, delegate, delegate, 'receiver_above')).toEqual(['query'])
  })

  test('is what its role says towards everyone else', () => {
    expect(sendable(baseVocabulary, delegate, worker, 'apart')).toEqual([])
    expect(sendable(baseVocabulary, worker, delegate, 'apart')).toEqual([])
    expect(sendable(baseVocabulary, delegate, root, 'receiver_above')).toEqual(['query'])
    expect(sendable(baseVocabulary, root, delegate, 'sender_above')).toEqual(['directive', 'feedback'])
    expect(sendable(baseVocabulary, delegate, worker, 'receiver_above')).toEqual([])
    expect(sendable(baseVocabulary, worker, delegate, 'sender_above')).toEqual([])
  })

  test('exchanges no mail with an observer below it', () => {
    expect(sendable(baseVocabulary, delegate, observer, 'sender_above')).toEqual([])
    expect(sendable(baseVocabulary, observer, delegate, 'receiver_above')).toEqual([])
  })

  test('gets what a taxonomy sends to the coordinator, from its own subtree only (A-51)', () => {
    const reviewer = party('reviewer')
    expect(sendable(reference, reviewer, root, 'receiver_above')).toEqual(['report'])
    expect(sendable(reference, reviewer, delegate, 'receiver_above')).toEqual(['report'])
    expect(sendable(reference, reviewer, delegate, 'apart')).toEqual([])
  })

  test('sends what a taxonomy lets the coordinator send, into its own subtree only', () => {
    const vocabulary = vocabularyOf({ envelope_types: [envelopeType('notice', ['coordinator', 'worker'])] })
    const base = ['directive', 'feedback']
    expect(sendable(vocabulary, root, worker, 'sender_above')).toEqual([...base, 'notice'])
    expect(sendable(vocabulary, delegate, worker, 'sender_above')).toEqual([...base, 'notice'])
    expect(sendable(vocabulary, delegate, worker, 'apart')).toEqual([])
  })

  test('of a derived role keeps the sends of that role, and gains those of the coordinator', () => {
    const reviewing = party('reviewer', true)
    expect(sendable(reference, reviewing, worker, 'sender_above')).toEqual(['directive', 'feedback'])
    expect(sendable(reference, reviewing, root, 'receiver_above')).toEqual(['report'])
    expect(sendable(reference, reviewing, party('reviewer', true), 'receiver_above')).toEqual(['report'])
  })
})

describe('W-ROLE-06 a derived receiver', () => {
  const remove = ['feedback', 'query', 'note'].map(name => route('receive', name, 'worker'))
  const vocabulary = vocabularyOf({
    roles: [role('calm', { remove }), role('plain')],
    envelope_types: [envelopeType('note', ['worker', 'worker']), envelopeType('whisper', ['worker', 'calm'])],
  })

  test('gets what its base gets', () => {
    expect(sendable(vocabulary, root, party('plain'), 'sender_above')).toEqual(['directive', 'feedback'])
    expect(sendable(vocabulary, worker, party('plain'), 'apart')).toEqual(['note'])
  })

  test('does not get what its definition removed, not even as a delegate', () => {
    expect(sendable(vocabulary, root, party('calm'), 'sender_above')).toEqual(['directive'])
    expect(sendable(vocabulary, delegate, party('calm'), 'sender_above')).toEqual(['directive', 'whisper'])
    expect(sendable(vocabulary, worker, party('calm'), 'apart')).toEqual(['whisper'])
    expect(sendable(vocabulary, worker, party('plain', true), 'receiver_above')).toEqual(['query', 'note'])
    expect(sendable(vocabulary, worker, party('calm', true), 'receiver_above')).toEqual(['whisper'])
  })

  test('alone gets what names it alone', () => {
    expect(sendable(vocabulary, worker, worker, 'apart')).toEqual(['note'])
    expect(sendable(vocabulary, party('plain'), party('plain'), 'apart')).toEqual(['note'])
  })
})

describe('W-PORT-03 default rights', () => {
  const mute = role('mute', { remove: [route('send', 'query', 'coordinator')] })
  const both = (vocabulary: Vocabulary, parent: Party, child: Party) => [
    maySendAny(vocabulary, parent, child, 'sender_above'),
    maySendAny(vocabulary, child, parent, 'receiver_above'),
  ]

  test('go both ways between a worker and its coordinator or delegate', () => {
    expect(both(baseVocabulary, root, worker)).toEqual([true, true])
    expect(both(baseVocabulary, delegate, worker)).toEqual([true, true])
    expect(both(reference, root, party('reviewer'))).toEqual([true, true])
  })

  test('go no way with an observer, and only down to a role that lost its sends', () => {
    expect(both(baseVocabulary, root, observer)).toEqual([false, false])
    expect(both(reference, delegate, party('auditor'))).toEqual([false, false])
    expect(both(vocabularyOf({ roles: [mute] }), root, party('mute'))).toEqual([true, false])
  })

  test('count registered types too', () => {
    const notes = vocabularyOf({ roles: [mute], envelope_types: [envelopeType('note', ['mute', 'coordinator'])] })
    expect(both(notes, root, party('mute'))).toEqual([true, true])
  })
})

const RELATIONS: readonly Relation[] = ['sender_above', 'receiver_above', 'apart']
describe('W-ROLE-06 for any taxonomy', () => {
  const roleName = fc.constantFrom('r1', 'r2', 'r3')
  const anyRole = fc.constantFrom('coordinator', 'worker', 'observer', 'r1', 'r2', 'r3')
  const anyType = fc.constantFrom('directive', 'feedback', 'query', 't1', 't2')
  const anyRoute = (action: 'send' | 'receive') =>
    fc.record({ type: anyType, role: anyRole }).map(target => ({ action, target }))
  const notTheCoordinators = (capability: { target: { type: string } }) =>
    !['directive', 'feedback'].includes(capability.target.type)
  const definition = (name: string) =>
    fc.constantFrom('worker', 'observer').chain(base =>
      fc.record({
        name: fc.constant(name),
        extends: fc.constant(base),
        add: fc.array(
          base === 'worker'
            ? fc.oneof(anyRoute('send').filter(notTheCoordinators), anyRoute('receive'))
            : anyRoute('receive'),
          { maxLength: 3 },
        ),
        remove: fc.array(fc.oneof(anyRoute('send'), anyRoute('receive')), { maxLength: 3 }),
      }),
    )
  const anyEnvelopeType = (name: string) =>
    fc
      .array(fc.record({ sender_role: anyRole, receiver_role: anyRole }), { minLength: 1, maxLength: 5 })
      .map(permissions => ({ name, description: '', permissions }))
  const anyDocument = fc.record({
    roles: fc.tuple(definition('r1'), definition('r2'), definition('r3')),
    envelope_types: fc.tuple(anyEnvelopeType('t1'), anyEnvelopeType('t2')),
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
          const vocabulary = vocabularyOf(drawn)
          expect(maySend(vocabulary, from, name, to, relation)).toBe(model(drawn)(from, name, to, relation))
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('W-ROLE-09 no taxonomy lets an observer send, or an agent write to one', () => {
    fc.assert(
      fc.property(anyTaxonomy, anyType, anyRole, fc.constantFrom(...RELATIONS), (drawn, name, other, relation) => {
        const vocabulary = vocabularyOf(drawn)
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
        const vocabulary = vocabularyOf(drawn)
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
