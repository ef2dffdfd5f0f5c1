// Which paths the globs of a task allow.
import { expect, test } from 'vitest'
import { allowedPaths } from './allowed-paths.ts'

test.each([
  ['**', 'a', true],
  ['**', '.a/.b/c', true],
  ['*', '.env', true],
  ['*', 'a/b', false],
  ['docs/**', 'docs/.hidden/file', true],
  ['docs/**', 'docs', false],
  ['docs/', 'docs/a/.b', true],
  ['./docs/', 'docs/a', true],
  ['.', 'a/b', true],
  ['docs', 'docs/a', false],
  ['docs/*', 'docs/a/b', false],
  ['**/*.ts', 'a.ts', true],
  ['**/*.ts', '.x/y/.z.ts', true],
  ['**/*.ts', 'a.tsx', false],
  ['src/**/test/*', 'src/test/a', true],
  ['src/**/test/*', 'src/a/.b/test/a', true],
  ['{a,b}/**', 'b/.c', true],
  ['{a,b/c}/d', 'b/c/d', true],
  ['{a/**,b}', 'a/x/y', true],
  ['.github/**', '.github/workflows/x', true],
  ['[!.]*', '.env', false],
  ['a?', 'ab', true],
  ['a?', 'a/', false],
  ['!a', 'b', false],
  ['#a', '#a', true],
  ['../**', '../a', true],
  ['**', '../a', true],
  ['', 'a', false],
  ['line*', 'line\nbreak', true],
  ['caf*', 'caf\uFFFD', true],
] as const)('%j on %j: %j', (pattern, path, expected) => {
  expect(allowedPaths([pattern])(path)).toBe(expected)
})

test('no list allows everything, an empty one nothing, several what one of them allows', () => {
  expect(allowedPaths(undefined)('.a/b')).toBe(true)
  expect(allowedPaths([])('a')).toBe(false)
  expect(['a', 'b', 'c'].map(allowedPaths(['a', 'b']))).toEqual([true, true, false])
})
