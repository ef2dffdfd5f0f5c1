// How rows are compared with entries, and that the kit stands apart from what it tests.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Entry } from './host.ts'
import { Names } from './names.ts'
import { ANY, amongMismatch, listMismatch, mismatch } from './rows.ts'

const timestamp = '2026-01-01T00:00:00.000000Z'

function entry(seq: number, body: Readonly<Record<string, unknown>>, workspace: string | null = 'id-w'): Entry {
  return { seq, id: `e${seq}`, timestamp, workspace, actor: 'worker', event_type: 'signal_emitted', body }
}

function named(): Names {
  const names = new Names()
  names.set('id-w', 'W')
  return names
}

test('a row needs only the fields that matter, with names for ids', () => {
  const given = entry(1, { from: 'id-w', type: 'ready', more: 1, timestamp })
  expect(mismatch(given, ['signal_emitted', 'W', 'worker', { from: 'W' }], named())).toBeUndefined()
  expect(mismatch(given, ['signal_emitted', 'W', '*', { type: ANY }], named())).toBeUndefined()
  expect(mismatch(given, ['signal_emitted', 'W', 'system'], named())).toBe('has the actor worker')
  expect(mismatch(given, ['signal_emitted', null, 'worker'], named())).toBe('is filed under W')
  expect(mismatch(given, ['signal_emitted', 'W', 'worker', { type: 'started' }], named())).toBe('has type "ready"')
  expect(mismatch(given, ['signal_emitted', 'W', 'worker', { more: undefined }], named())).toBe('has more 1')
  expect(mismatch(given, ['signal_emitted', 'W', 'worker', { none: ANY }], named())).toBe('has none absent')
})

test('a time that a body repeats is the header’s', () => {
  const given = entry(1, { timestamp: '2026-01-01T00:00:00.000001Z' })
  expect(mismatch(given, ['signal_emitted', 'W', 'worker'], named())).toContain("and not the header's")
})

test('a variable takes the first id and holds it', () => {
  const names = named()
  const [one, same, other] = [entry(1, { id: 's1' }), entry(2, { id: 's1' }), entry(3, { id: 's2' })]
  const row = ['signal_emitted', 'W', 'worker', { id: '?s' }] as const
  expect(listMismatch([one, same], [row, row], names)).toBeUndefined()
  expect(names.id('s')).toBe('s1')
  expect(mismatch(other, row, names)).toContain('another id than ?s')
})

test('a list must be the same, and rows among others must come in their order', () => {
  const entries = [entry(1, { type: 'a' }), entry(2, { type: 'b' })]
  const [a, b] = ['a', 'b'].map(type => ['signal_emitted', 'W', 'worker', { type }] as const)
  expect(listMismatch(entries, [a!], named())).toContain('+ unexpected signal_emitted')
  expect(listMismatch(entries, [b!, a!], named())).toContain('! expected')
  expect(amongMismatch(entries, [b!], named())).toBeUndefined()
  expect(amongMismatch(entries, [b!, a!], named())).toContain('Not on the trail from > on')
})

test('only fields that hold ids take names', () => {
  const params = { to: 'W', name: 'W', payload: { to: 'W' }, depends_on: ['W', 'X'], parent: null }
  expect(named().resolved(params)).toEqual({ ...params, to: 'id-w', depends_on: ['id-w', 'X'] })
})

test('nothing but the hosts knows an implementation', () => {
  const files = globSync('**/*.ts', { cwd: import.meta.dirname }).filter(file => !file.startsWith('hosts'))
  expect(files.length).toBeGreaterThan(20)
  for (const file of files) {
    const source = readFileSync(join(import.meta.dirname, file), 'utf8')
    expect(/from '@parley\/(?!core')/.test(source), file).toBe(false)
    if (!file.endsWith('.test.ts')) expect(/from 'vitest'/.test(source), file).toBe(false)
  }
})
