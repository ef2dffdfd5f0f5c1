// The conformance page on small sheets and small test files. Ids above 900 exist in no sheet.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { page, readingsOf, scenariosOfSheet, sheets, unknownScenarios } from './conformance.ts'
import { scenariosOf } from './test-titles.ts'

const ids = (source: string) => scenariosOf(source, 'a.test.ts').map(({ id }) => id)

describe('titles', () => {
  test('of tests, groups and scenarios count, whatever the quotes and however many ids they name', () => {
    expect(
      ids(`
        test('WP-901 one', () => {})
        it("WM-902 and WM-903, and WM-902 again", () => {})
        describe(\`CALL-T91 \${n} CT-T92\`, () => { scenario('ALX-T93', () => {}) })
        test.only('ALP-NOISE-94a is a requirement', () => {})
      `),
    ).toEqual(['WP-901', 'WM-902', 'WM-903', 'CALL-T91', 'CT-T92', 'ALX-T93', 'ALP-NOISE-94a'])
  })

  test('of tables count, with brackets of any kind in the table', () => {
    expect(
      ids(`
        test.each([[1, f('(')], [2, (3)]])('WP-901 %s', () => {})
        test.for([{ a: ")" }])('WP-902 $a', () => {})
        describe.each\`a | b\n\${1} | \${g(2)}\`('WP-903', () => {})
        test.runIf(process.platform !== 'win32')('WP-904', () => {})
      `),
    ).toEqual(['WP-901', 'WP-902', 'WP-903', 'WP-904'])
  })

  test('of what is skipped, to be done or expected to fail do not count, nor what is below', () => {
    expect(
      ids(`
        test.skip('WP-901', () => {})
        it.todo('WP-902')
        test.skipIf(true)('WP-903', () => {})
        test.skip.each([1])('WP-904', () => {})
        test.fails('WP-905', () => {})
        describe.skip('WP-906', () => { test('WP-907', () => {}) })
      `),
    ).toEqual([])
  })

  test('in comments, strings and other calls do not count', () => {
    expect(
      ids(`
        // test('WP-901', () => {})
        const text = "test('WP-902', () => {})"
        contest('WP-903', () => {}); suite.test('WP-904', () => {}); test(name, () => 'WP-905')
        test('XWP-9061 is no id', () => {})
      `),
    ).toEqual([])
  })

  test('of a file that cannot be parsed fail with its name', () => {
    expect(() => scenariosOf('test(', 'broken.test.ts')).toThrow('broken.test.ts')
  })
})

describe('asserting on the trail', () => {
  const reads = (body: string, around = '') =>
    scenariosOf(`${around}\ntest('WP-901', async () => { ${body}\n})`, 'a.test.ts')[0]?.readsTrail

  test.each([
    'expectTrail(run, [])',
    'expect(await trail.head(run)).toBe(1)',
    'const page = await store.query({})',
    'await log.verify()',
    'expect(entries).toHaveLength(2)',
    'for await (const part of scan(run)) use(part)',
  ])('is seen in: %s', body => {
    expect(reads(body)).toBe(true)
  })

  test.each([
    'expect(1).toBe(1)',
    'expect(Object.entries(map)).toEqual([])',
    'say("trail.query(") // entries',
    '/* expectTrail */ expect(`entries`).toMatch(/.verify(/)',
  ])('is not seen in: %s', body => {
    expect(reads(body)).toBe(false)
  })

  test('is seen through functions of the same file', () => {
    const helpers = 'function recorded() { return all() }\nconst all = () => store.query({})\nfunction other() {}'
    expect(reads('expect(recorded()).toEqual([])', helpers)).toBe(true)
    expect(reads('other()', helpers)).toBe(false)
  })

  test('is asked of the test itself, not of its neighbours', () => {
    const found = scenariosOf("test('WP-901', () => { trail.query() })\ntest('WP-902', () => { f() })", 'a.test.ts')
    expect(found.map(({ readsTrail }) => readsTrail)).toEqual([true, false])
  })
})

describe('sheets', () => {
  test('give ids in their order, each once, with the level of their own table', () => {
    const text = [
      '| ID | Level | Given |',
      '|---|---|---|',
      '| WP-902 | 2 | a \\| b |',
      '| WP-901 | 1 | c |',
      '| WP-902 | 3 | again |',
      'see WP-903',
      '| ID | Given | L |',
      '| WP-904 | x \\| y | 3 (first part 1) |',
      '| Id | Given |',
      '| WP-905 | z |',
    ].join('\n')
    expect(scenariosOfSheet(text, /^\| ?(WP-\d{3})\b/)).toEqual([
      { id: 'WP-902', level: '2' },
      { id: 'WP-901', level: '1' },
      { id: 'WP-904', level: '3 (first part 1)' },
      { id: 'WP-905', level: '' },
    ])
  })

  test('of ALP give requirements, in bold or in a table', () => {
    const alp = sheets.find(({ name }) => name === 'ALP')
    expect(scenariosOfSheet('**ALP-ID-91** A key.\n\n| ALP-ERR-92a | x |\nsee ALP-ID-93', alp?.ids ?? /$^/)).toEqual([
      { id: 'ALP-ID-91', level: '' },
      { id: 'ALP-ERR-92a', level: '' },
    ])
  })
})

describe('the page', () => {
  const sheet = { name: 'Sheet', file: 'sheet.md', ids: /x/, unit: 'scenarios' } as const
  const scenarios = new Map([
    [
      sheet,
      [
        { id: 'WP-901', level: '1' },
        { id: 'WP-902', level: '2' },
      ],
    ],
  ])
  const named = (id: string, file = 'a.test.ts') => ({ id, title: `${id} x`, file, readsTrail: true })

  test('counts what is named, links the files and shows a dash for what no test names', () => {
    const files = ['b.test.ts', 'a.test.ts', 'a.test.ts']
    const text = page(
      scenarios,
      files.map(file => named('WP-901', file)),
    )
    expect(text).toContain('| [Sheet](specs/sheet.md) | 1 of 2 scenarios |')
    expect(text).toContain('| WP-901 | 1 | [a.test.ts](../a.test.ts), [b.test.ts](../b.test.ts) |')
    expect(text).toContain('| WP-902 | 2 | – |')
    expect(text).toContain('None.')
  })

  test('lists a test that asserts nothing on the trail once, however many ids it names', () => {
    const blind = { title: 'WP-901 and WP-902 [x]', file: 'a.test.ts', readsTrail: false }
    const text = page(scenarios, [
      { id: 'WP-901', ...blind },
      { id: 'WP-902', ...blind },
    ])
    expect(text.split('- WP-901 and WP-902 \\[x\\] ([a.test.ts](../a.test.ts))')).toHaveLength(2)
    expect(text).not.toContain('None.')
  })

  test('lists every reading under which conformance is claimed, one line each', () => {
    const sheet = [
      '| # | Problem | Reading |',
      '| A-91 | one \\| other | both |',
      '| AMB-92 | open | closed |',
      '| D-93 | topic | seed |',
      '| W-INT-94 | no | reading |',
    ].join('\n')
    const text = page(scenarios, [], readingsOf(`${sheet}\n| AMB-92 | open | amended |`))
    expect(text).toContain('\n| A-91 | one \\| other | both |\n| AMB-92 | open | amended |\n\n')
    expect(text).not.toContain('D-93')
  })

  test('misses no reading that a WACP sheet or the code speaks of', () => {
    const docs = join(import.meta.dirname, '..', 'docs')
    const real = readFileSync(join(docs, 'conformance.md'), 'utf8')
    const listed = new Set(readingsOf(real).map(({ id }) => id))
    const spoken = globSync(['docs/specs/wacp-*.md', 'packages/kernel/src/**/*.ts'], {
      cwd: join(docs, '..'),
    }).flatMap(file => readFileSync(join(docs, '..', file), 'utf8').match(/\b(?:A|AMB|AX)-\d\d\b/g) ?? [])
    expect(listed.size).toBeGreaterThan(140)
    expect([...new Set(spoken)].filter(id => !listed.has(id))).toEqual([])
    const told = readingsOf(real).map(({ problem, reading }) => `${problem} ${reading}`)
    for (const topic of [
      '`gated`', // its gates have no timeout
      'no timeout', // the root
      'receipts', // travel downwards
      'actor `fallback`',
      '`ready` has the actor `worker`',
      'Authority', // not adjustable in idle
      'orphan', // reassigned once
      'sealed', // no injection
    ])
      expect(told.join('\n')).toContain(topic)
  })

  test('is refused when a title names an id that no sheet defines', () => {
    expect(unknownScenarios(scenarios, [named('WP-901'), named('WP-999')])).toEqual(['WP-999 in a.test.ts'])
  })
})
