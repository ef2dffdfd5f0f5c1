// Authority on work (§6.8, §11.2, W-WS-17): a checkpoint changes what the resources of its workspace contain, and nothing else.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'

const changed = (f: Fixture, name: string, ...files: string[]) =>
  f.checkpoint(name, { payload: { content: 'part', files_changed: files } })

const rejection = (name: string) =>
  ['checkpoint_rejected', name, 'protocol', { workspace: name, reason: 'permission_denied' }] as const

test('WX-006 a checkpoint that changed what its workspace has no authority over is refused, and that is on record', async () => {
  const f = await fixture()
  await f.worker('W', { resources: ['src/**', 'README.md'] })
  await f.mark()
  const before = await f.picture()
  for (const files of [['docs/a.md'], ['src/a.ts', 'README.txt'], ['readme.md'], ['src'], ['a/src/b']]) {
    expect(refused(await changed(f, 'W', ...files)), files.join()).toBe('rejected(permission_denied)')
    await f.expectAmong([rejection('W')])
  }
  expect(await f.picture()).toEqual(before)
  unwrap(await changed(f, 'W', 'src/a.ts', 'src/deep/b.ts', 'README.md'))
  unwrap(await changed(f, 'W'))
})

test.each(['src/../docs/a.md', 'src/./a', 'src//a', '/src/a', '../src/a'])(
  'WX-006 a path that only begins inside lies outside: %s',
  async path => {
    const f = await fixture()
    await f.worker('W', { resources: ['src/**', '**/a'] })
    expect(refused(await changed(f, 'W', path))).toBe('rejected(permission_denied)')
  },
)

test('WX-006 a workspace without resources changes nothing; what is no path is named as it is', async () => {
  const f = await fixture()
  const draft = { role: 'worker', directive: { format: 'markdown', content: 'work' } } as const
  const none = unwrap(await f.root.createWorkspace(draft))
  await f.settle()
  const made = { type: 'artifact', intent: 'x', parent: null, status: 'final', confidence: 'high' } as const
  const made1 = await none.checkpoint({ ...made, payload: { files_changed: ['a.txt'] } })
  expect(refused(made1)).toBe('rejected(permission_denied)')
  unwrap(await none.checkpoint({ ...made, payload: { content: 'words' } }))
  await f.worker('W', { resources: ['db:users', '{1..9}'] })
  unwrap(await changed(f, 'W', 'db:users', '{1..9}'))
  expect(refused(await changed(f, 'W', 'db:orders'))).toBe('rejected(permission_denied)')
})

test('WX-006 it holds after a restart', async () => {
  const f = await fixture()
  await f.worker('W', { resources: ['src/'] })
  await f.restart()
  expect(refused(await changed(f, 'W', 'docs/a'))).toBe('rejected(permission_denied)')
  unwrap(await changed(f, 'W', 'src/a'))
})
