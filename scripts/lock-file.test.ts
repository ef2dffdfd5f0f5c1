// What the check of the lock file refuses.
import { expect, test } from 'vitest'
import { type Lock, lockProblems } from './lock-file.ts'

const manifests = new Map([
  ['', { devDependencies: { a: '1.0.0' } }],
  ['packages/core', { dependencies: { b: '2.0.0', c: '3.0.0' } }],
])
const good: Lock['packages'] = {
  '': { devDependencies: { a: '1.0.0' } },
  'packages/core': { dependencies: { c: '3.0.0', b: '2.0.0' } },
  'node_modules/@parley/core': { resolved: 'packages/core', link: true },
  'node_modules/a': { version: '1.0.0', integrity: 'sha512-x' },
}

test('a lock file that fits its manifests is accepted', () => {
  expect(lockProblems({ packages: good }, manifests)).toEqual([])
})

test.each<[string, Lock['packages'], string]>([
  [
    'another version',
    { 'packages/core': { dependencies: { b: '2.0.1', c: '3.0.0' } } },
    'fit packages/core/package.json',
  ],
  ['a dependency too many', { '': { devDependencies: { a: '1.0.0', d: '4.0.0' } } }, 'fit package.json'],
  ['no checksum', { 'node_modules/a': { version: '1.0.0' } }, 'node_modules/a has no version or no checksum'],
  [
    'an address',
    { 'node_modules/a': { version: '1.0.0', integrity: 'sha512-x', resolved: 'https://example.org/a.tgz' } },
    'node_modules/a names its registry',
  ],
])('a lock file with %s is refused', (_, change, problem) => {
  expect(lockProblems({ packages: { ...good, ...change } }, manifests)).toEqual([expect.stringContaining(problem)])
})

test('a package that the lock file does not know is refused', () => {
  const { 'packages/core': _, ...rest } = good
  expect(lockProblems({ packages: rest }, manifests)).toEqual([expect.stringContaining('packages/core')])
})
