import { describe, expect, test } from 'vitest'
import { arrowProblems, ours, type PackageFacts } from './arrows.ts'

const trail: PackageFacts = {
  name: 'trail',
  dependencies: ['core'],
  references: ['core'],
  sources: new Map([['packages/trail/src/a.ts', "import { ok } from '@parley/core'\nimport '@parley/trail/events'"]]),
}

const changed = (change: Partial<PackageFacts>) => arrowProblems([{ ...trail, ...change }])

describe('arrows between packages', () => {
  test('what follows them passes', () => {
    expect(arrowProblems([trail])).toEqual([])
  })

  test('a dependency against an arrow is named', () => {
    expect(changed({ name: 'core', dependencies: ['trail'], references: ['trail'], sources: new Map() })).toEqual([
      'packages/core/package.json uses @parley/trail, which core may not',
    ])
  })

  test.each([
    "import { x } from '@parley/kernel'",
    "export * from '@parley/kernel/deep'",
    "await import('@parley/kernel')",
    "import '@parley/kernel'",
  ])('an import that the manifest does not cover is named: %s', source => {
    expect(changed({ sources: new Map([['packages/trail/src/b.ts', source]]) })).toEqual([
      'packages/trail/src/b.ts uses @parley/kernel, which trail may not',
    ])
  })

  test('a way around by path is named', () => {
    const sources = new Map([['packages/trail/src/b.ts', "import { x } from '../../../packages/core/src/ids.ts'"]])
    expect(changed({ sources })).toEqual(['packages/trail/src/b.ts reaches into another package by its path'])
  })

  test('what only tests may use is for tests alone', () => {
    const used = "import { Coordinator } from '@parley/coordinator'"
    const alx = (path: string, development: readonly string[]) =>
      arrowProblems([
        {
          name: 'alx',
          dependencies: ['core', 'coordinator'],
          development,
          references: ['core', 'coordinator'],
          sources: new Map([[path, used]]),
        },
      ])
    for (const path of ['packages/alx/src/a.test.ts', 'packages/alx/src/testing/b.ts'])
      expect(alx(path, ['coordinator'])).toEqual([])
    expect(alx('packages/alx/src/a.ts', ['coordinator'])).toHaveLength(1)
    expect(alx('packages/alx/src/a.test.ts', [])).toHaveLength(1)
  })

  test('a package under the name of its protocol is one of ours', () => {
    expect(ours(['@parley/core', '@alx/protocol', '@alxe/x', 'ajv'])).toEqual(['core', 'protocol'])
    expect(changed({ sources: new Map([['packages/trail/src/b.ts', "import '@alx/protocol/core'"]]) })).toEqual([
      'packages/trail/src/b.ts uses @alx/protocol, which trail may not',
    ])
  })

  test('references and dependencies must agree, and every package must be known', () => {
    expect(changed({ references: [] })).toHaveLength(1)
    expect(changed({ name: 'mystery' })).toHaveLength(1)
  })
})
