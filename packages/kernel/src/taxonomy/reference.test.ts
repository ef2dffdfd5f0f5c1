// The reference vocabulary as it resolves (W-TAX-10).

import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { referenceTaxonomy } from './reference.ts'
import { loadTaxonomy } from './taxonomy.ts'

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
