// The permission matrix by example; for any taxonomy in matrix.property.test.ts.

import { unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { referenceTaxonomy } from '../taxonomy/reference.ts'
import { baseVocabulary, loadTaxonomy, type Taxonomy, type Vocabulary } from '../taxonomy/taxonomy.ts'
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

function withTypes(types: Taxonomy['envelope_types'], roles: Taxonomy['roles'] = []): Vocabulary {
  const frame = { id: 't', version: '1', protocol_version: '0.1', checkpoint_types: [] }
  return unwrap(loadTaxonomy({ ...frame, roles, envelope_types: types }))
}

const type = (name: string, sender_role: string, receiver_role: string) => ({
  name,
  description: '',
  permissions: [{ sender_role, receiver_role }],
})

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
    const vocabulary = withTypes([type('notice', 'coordinator', 'worker')])
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
  const calm = {
    name: 'calm',
    extends: 'worker',
    add: [],
    remove: ['feedback', 'query', 'note'].map(name => ({
      action: 'receive',
      target: { type: name, role: 'worker' },
    })),
  }
  const plain = { name: 'plain', extends: 'worker', add: [], remove: [] }
  const vocabulary = withTypes([type('note', 'worker', 'worker'), type('whisper', 'worker', 'calm')], [calm, plain])

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
    const remove = [{ action: 'send', target: { type: 'query', role: 'coordinator' } }]
    const mute = withTypes([], [{ name: 'mute', extends: 'worker', add: [], remove }])
    expect(both(mute, root, party('mute'))).toEqual([true, false])
  })

  test('count registered types too', () => {
    const remove = [{ action: 'send', target: { type: 'query', role: 'coordinator' } }]
    const mute = [{ name: 'mute', extends: 'worker', add: [], remove }]
    const notes = withTypes([type('note', 'mute', 'coordinator')], mute)
    expect(both(notes, root, party('mute'))).toEqual([true, true])
  })
})
