// Vocabularies: the base one, a loaded one, the reference taxonomy, and the one of a run on record.
import { unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { checkpointType, envelopeType, helperTaxonomy, role, taxonomyOf, vocabularyOf } from '../testing/taxonomies.ts'
import { referenceTaxonomy } from './reference.ts'
import { baseVocabulary, loadTaxonomy } from './taxonomy.ts'

describe('W-TAX-01 the base vocabulary', () => {
  test('holds without a taxonomy', () => {
    expect(unwrap(loadTaxonomy(null))).toBe(baseVocabulary)
    expect(unwrap(loadTaxonomy(undefined))).toBe(baseVocabulary)
    expect(baseVocabulary).toMatchObject({ id: null, version: null, document: null })
    expect([...baseVocabulary.roles.keys()]).toEqual(['coordinator', 'worker', 'observer'])
    expect([...baseVocabulary.envelopeTypes]).toEqual(['directive', 'feedback', 'query'])
    expect([...baseVocabulary.checkpointTypes.keys()]).toEqual(['artifact', 'observation'])
  })

  test('is all that an empty taxonomy has', () => {
    const empty = taxonomyOf({})
    const { id, version, document, ...names } = unwrap(loadTaxonomy(empty))
    expect({ id, version, document }).toEqual({ id: 't', version: '1.2.0', document: empty })
    expect({ id: null, version: null, document: null, ...names }).toEqual(baseVocabulary)
  })
})

describe('W-TAX-02 W-TAX-03 W-TAX-04 a loaded taxonomy', () => {
  test('adds its names to those of the protocol', () => {
    const vocabulary = unwrap(loadTaxonomy(helperTaxonomy))
    expect([...vocabulary.roles.keys()]).toEqual(['coordinator', 'worker', 'observer', 'helper'])
    expect([...vocabulary.envelopeTypes]).toEqual(['directive', 'feedback', 'query', 'note'])
    expect(vocabulary.checkpointTypes.get('plan')).toEqual({
      name: 'plan',
      permittedRoles: new Set(['helper']),
      requiredFields: [],
    })
    expect(vocabulary.roles.get('helper')!.send.get('note')).toEqual(new Set(['coordinator']))
  })

  test('tells which fields a checkpoint must have', () => {
    const plan = { ...checkpointType('plan', 'helper'), required_fields: ['goal', 'steps'] }
    const vocabulary = unwrap(loadTaxonomy({ ...helperTaxonomy, checkpoint_types: [plan] }))
    expect(vocabulary.checkpointTypes.get('plan')!.requiredFields).toEqual(['goal', 'steps'])
  })

  test('does not follow what happens to the document afterwards (W-TAX-06)', () => {
    const document = structuredClone(helperTaxonomy)
    const vocabulary = unwrap(loadTaxonomy(document))
    document.roles.pop()
    expect(vocabulary.document).toEqual(helperTaxonomy)
    expect(() => vocabulary.document!.roles.pop()).toThrow(TypeError)
    expect(() => Object.assign(vocabulary.roles.get('helper')!, { base: 'coordinator' })).toThrow(TypeError)
  })

  test('takes names as they are (W-TAX-09)', () => {
    const names = ['__proto__', 'constructor', 'send:query', 'Überprüfer ✓', ' ', '😀'.repeat(64)]
    const vocabulary = vocabularyOf({
      roles: names.map(name => role(name)),
      envelope_types: names.map(name => envelopeType(name, [name, 'worker'])),
      checkpoint_types: names.map(name => checkpointType(name, name)),
    })
    for (const name of names) expect(vocabulary.roles.get(name)!.send.get(name)).toEqual(new Set(['worker']))
  })
})

const { roles } = unwrap(loadTaxonomy(referenceTaxonomy))

test('W-TAX-10 a reviewer reports instead of asking, and creates reviews', () => {
  const reviewer = roles.get('reviewer')!
  expect([...reviewer.send]).toEqual([['report', new Set(['coordinator'])]])
  expect([...reviewer.create]).toEqual(['review'])
  expect(reviewer.read).toContain('assigned_workspace')
})

test('W-TAX-10 a senior worker decides too, and reads its peers', () => {
  const senior = roles.get('senior_worker')!
  expect([...senior.send]).toEqual([['query', new Set(['coordinator'])]])
  expect([...senior.create]).toEqual(['artifact', 'decision'])
  expect(senior.read).toContain('peer_workspace')
})

test('W-TAX-10 an auditor is an observer that records findings', () => {
  const auditor = roles.get('auditor')!
  expect(auditor.base).toBe('observer')
  expect(auditor.send.size).toBe(0)
  expect([...auditor.create]).toEqual(['observation', 'audit_finding'])
  expect(auditor.read).toContain('designated_group')
})

test('W-TAX-08 the vocabulary of a run is on record with its first entry, and is the same after a restart', async () => {
  const f = await fixture({ run: { taxonomy: referenceTaxonomy } })
  await f.worker('V', { role: 'reviewer' })
  await f.restart()
  await f.mark()
  expect(refused(await f.agent('V').send(f.mail('R', 'report')))).toBe('ok')
  expect(refused(await f.agent('V').send(f.mail('R', 'query')))).toBe('rejected(permission_denied)')
  const [first] = await f.run.entries()
  expect(first).toMatchObject({
    event_type: 'workspace_created',
    body: { taxonomy_id: 'wacp-reference', taxonomy_version: '0.1.0', protocol_version: '0.1' },
  })
})
