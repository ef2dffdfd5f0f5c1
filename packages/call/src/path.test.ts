import { expect, test } from 'vitest'
import { PathPattern, parsePath } from './path.ts'

const PATHS = [
  '/dev1/fs/readFile',
  '/dev2/fs/readFile',
  '/dev1/bash/exec',
  '/head/agent/chat',
  '/services/list',
] as const

test.each([
  ['/dev1/*', [true, false, true, false, false]],
  ['/*/fs/*', [true, true, false, false, false]],
  ['/*/bash/*', [false, false, true, false, false]],
  ['/head/agent/*', [false, false, false, true, false]],
  ['/*', [true, true, true, true, true]],
  ['/dev1/fs/readFile', [true, false, false, false, false]],
] as const)('CALL-T40 the pattern %s matches as the table of CALL-ACL-08 says', (text, expected) => {
  const pattern = new PathPattern(text)
  expect(PATHS.map(path => pattern.matches(path))).toEqual(expected)
})

test.each(['fs*', '/fs*', '/*fs/x', 'a/b', '/a//b', '/a/b/', '//a', '/', '', '*', '/a b', '/**'])(
  'CALL-T40 %j is refused as a pattern when it is loaded',
  text => {
    expect(() => new PathPattern(text)).toThrow(TypeError)
  },
)

test('CALL-ACL-08 a pattern compares exactly: case, escapes and dots mean nothing special', () => {
  const pattern = new PathPattern('/dev1/f.s/*')
  expect(pattern.matches('/dev1/f.s/a')).toBe(true)
  for (const other of ['/Dev1/f.s/a', '/dev1/fxs/a', '/dev1/f%2Es/a', '/dev1/f.s', '/x/dev1/f.s/a'])
    expect(pattern.matches(other), other).toBe(false)
})

test.each([
  ['/fs/readFile', { node: undefined, service: 'fs', op: 'readFile', local: '/fs/readFile' }],
  ['fs/readFile', { node: undefined, service: 'fs', op: 'readFile', local: '/fs/readFile' }],
  ['/dev-1/fs/read.File~2', { node: 'dev-1', service: 'fs', op: 'read.File~2', local: '/fs/read.File~2' }],
  [`/${'a'.repeat(64)}/b`, { service: 'a'.repeat(64), op: 'b' }],
])('CALL-ROUTE-01, -02 %s is a path with its parts', (text, parts) => {
  expect(parsePath(text)).toMatchObject(parts)
})

test.each([
  '',
  '/',
  '/fs',
  '/a/b/c/d',
  '/fs/readFile/',
  '//fs/readFile',
  '/fs//readFile',
  '/fs/read file',
  '/fs/ä',
  '/.dev/fs/a',
  '/-dev/fs/a',
  '/d.v/fs/a',
  `/${'a'.repeat(65)}/b`,
  '/fs/*',
])('CALL-ROUTE-01 %j is no path', text => {
  expect(parsePath(text)).toBeUndefined()
})
