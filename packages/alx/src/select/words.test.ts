import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../testing/knowledge.ts'
import { IndexFile } from './index-file.ts'
import { selectLimits } from './limits.ts'
import { queryWords } from './words.ts'

async function opened(file?: string) {
  const index = new IndexFile(file ?? join(await temporaryFolder(), 'alx.index.db'))
  onTestFinished(() => index.close())
  return index
}
const row = (kbHash: string, words: string) =>
  ({ kind: 'block', kbHash, type: 'factual', domain: 'ops', isOpen: true, curator: 'U', words }) as const
const search = (index: IndexFile, text: string, more: object = {}) =>
  index.search({ words: queryWords(text), reader: 'U', limit: 32, ...more })

test('whatever people search for is words and never syntax: no search fails, and none finds more than its words', async () => {
  const index = await opened()
  index.feed([row('1', 'alpha beta'), row('2', 'near and or not'), row('3', 'Zürich 東京 naïve')], { at: 1, mark: 'm' })
  const syntax = fc.constantFrom(
    '"',
    '*',
    'NEAR(',
    'AND',
    'OR',
    'NOT',
    '^',
    'text:',
    '-',
    '(',
    ')',
    ';',
    "'",
    '{',
    '+',
    '\0',
    '\ud800',
  )
  const text = fc.array(fc.oneof(syntax, fc.string({ unit: 'binary' }), fc.constantFrom('alpha', 'beta')), {
    maxLength: 12,
  })
  fc.assert(
    fc.property(text, parts => {
      const words = queryWords(parts.join(' '))
      expect(words.length).toBeLessThanOrEqual(selectLimits.queryWords)
      for (const { coverage } of index.search({ words, reader: 'U', limit: 32 })) {
        expect(coverage).toBeGreaterThan(0)
        expect(coverage).toBeLessThanOrEqual(1)
      }
    }),
  )
  expect(search(index, 'alpha NOT beta')).toMatchObject([{ kbHash: '1', coverage: 2 / 3 }, { kbHash: '2' }])
  expect(search(index, 'text:alpha*')).toMatchObject([{ kbHash: '1', coverage: 1 / 2 }])
  expect(search(index, 'ZURICH naive 東京')).toMatchObject([{ kbHash: '3', coverage: 1 }])
  expect(search(index, '"" * ;')).toEqual([])
})

test('a very long text is searched by its first words', () => {
  expect(queryWords('word '.repeat(100_000))).toEqual(['word'])
  const many = Array.from({ length: 1000 }, (_, at) => `w${at}`).join(' ')
  expect(queryWords(many)).toHaveLength(selectLimits.queryWords)
  expect(queryWords('x'.repeat(10_000))).toEqual(['x'.repeat(selectLimits.wordLength)])
})

test('a file that is no index, or one of another version, is made again; a good one is kept', async () => {
  const file = join(await temporaryFolder(), 'alx.index.db')
  const first = new IndexFile(file)
  first.feed([row('1', 'alpha')], { at: 5, mark: 'm' })
  first.close()
  const second = new IndexFile(file)
  expect(second.point()).toEqual({ at: 5, mark: 'm' })
  expect(search(second, 'alpha')).toHaveLength(1)
  second.close()
  const { writeFile } = await import('node:fs/promises')
  await writeFile(file, 'no database, but long enough to be taken for one '.repeat(100))
  expect((await opened(file)).point()).toBeUndefined()
})

test('a batch that fails leaves the index where it was', async () => {
  const index = await opened()
  index.feed([row('1', 'alpha')], { at: 1, mark: 'm' })
  const broken = { ...row('2', 'beta'), words: {} as string }
  expect(() => index.feed([row('3', 'gamma'), broken], { at: 2, mark: 'n' })).toThrow()
  expect(index.point()).toEqual({ at: 1, mark: 'm' })
  expect(search(index, 'gamma')).toEqual([])
  index.feed([row('3', 'gamma')], { at: 2, mark: 'n' })
  expect(search(index, 'gamma')).toHaveLength(1)
})

test('domains scope a search: the same, those around it and those inside it, and no other that begins alike', async () => {
  const index = await opened()
  const domains = ['ops', 'ops.backup', 'ops.backup.disk', 'ops.other', 'opsx', 'OPS.Backup']
  index.feed(
    domains.map((domain, at) => ({ ...row(String(at), 'alpha'), domain })),
    { at: 1, mark: 'm' },
  )
  const found = (domain: string) => search(index, 'alpha', { domain }).map(({ kbHash }) => domains[Number(kbHash)])
  expect(found('ops.backup')).toEqual(['ops', 'ops.backup', 'ops.backup.disk', 'OPS.Backup'])
  expect(found('ops.%')).toEqual(['ops'])
  expect(found('none')).toEqual([])
})
