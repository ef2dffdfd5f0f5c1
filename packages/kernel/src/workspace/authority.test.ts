// Authority on work (§6.8, §11.2, W-WS-17): a checkpoint changes what the resources of its workspace contain, and
// nothing else.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'

const changed = (f: Fixture, name: string, ...files: string[]) =>
  f.checkpoint(name, { payload: { content: 'part', files_changed: files } })

test.each(['src/../docs/a.md', 'src/./a', 'src//a', '/src/a', '../src/a'])(
  'W-WS-17 a path that only begins inside lies outside: %s',
  async path => {
    const f = await fixture()
    await f.worker('W', { resources: ['src/**', '**/a'] })
    expect(refused(await changed(f, 'W', path))).toBe('rejected(permission_denied)')
  },
)

test('W-WS-17 a workspace without resources changes nothing; what is no path is named as it is', async () => {
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

test('W-WS-17 authority holds after a restart', async () => {
  const f = await fixture()
  await f.worker('W', { resources: ['src/'] })
  await f.restart()
  expect(refused(await changed(f, 'W', 'docs/a'))).toBe('rejected(permission_denied)')
  unwrap(await changed(f, 'W', 'src/a'))
})
