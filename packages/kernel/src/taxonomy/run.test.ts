// A taxonomy at work in a run: what its roles and types allow, and that a faulty one starts nothing (W-TAX-05,
// W-LIFE-12).
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { referenceTaxonomy } from './reference.ts'

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
