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
