// What the check for leaks finds and what it leaves alone. The samples are put together here, so that this file is
// clean.
import { describe, expect, test } from 'vitest'
import { findLeaks } from './leaks.ts'

const path = (...parts: string[]) => parts.join('/')

describe('a committed file', () => {
  test.each([
    path('see ..', 'shared', 'notes.md'),
    path('cd ', 'home', 'alice', 'parley'),
    path('"', 'Users', 'alice', 'parley"'),
    path('(', 'root', '.npmrc)'),
    path(' ', 'work', 'x'),
    ['C:', 'Users', 'alice'].join('\\'),
    path('https:', '', 'registry.example.org', ''),
    path('https:', '', 'npm.registry.example.org', ''),
  ])('may not contain %s', text => {
    expect(findLeaks(`first\n${text}\n`)).toMatchObject([{ line: 2 }])
  })

  test.each([
    'a/home/b/c, ./work/x, ~/work/x and docs/root/x are relative',
    'roles: home/work/root',
    'a shared ../sharedness',
    'const registry = new Registry()',
    'GET /workspaces',
    '//www.apache.org/licenses/LICENSE-2.0',
  ])('may contain: %s', text => {
    expect(findLeaks(text)).toEqual([])
  })
})
