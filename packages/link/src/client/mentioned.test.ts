import { join } from 'node:path'
import { expect, test } from 'vitest'
import { linkPaths } from '../identity/files.ts'
import { parleyLayout } from '../identity/local.ts'
import { temporaryFolder } from '../testing/homes.ts'
import { Profile } from '../testing/profile.ts'
import { ask } from './calls.ts'
import { mentioned } from './mentioned.ts'

test('ALP-MENTION-04 a text that names a pinned peer goes straight to it; anything else is ordinary text', async () => {
  const root = temporaryFolder()
  const there = await Profile.start({ home: join(root, 'server') })
  const here = await Profile.start({
    name: 'alice',
    home: join(root, 'mine'),
    pinned: { bob: {}, carol: { address: 'far:7423' } },
  })
  const find = (text: string) => mentioned(text, here.service.peers, [parleyLayout(root)])
  const found = find('hey @bob, how are you?')
  expect(found).toMatchObject({
    peerId: 'bob',
    prompt: 'hey , how are you?',
    target: {
      ok: true,
      value: { identity: there.identity.id, at: { path: linkPaths(join(root, 'server')).socket } },
    },
  })
  if (!found?.target.ok) throw new Error('no target')
  const answer = await ask(here.client('alice'), here.clock, found.target.value, found.prompt)
  expect(answer).toMatchObject({ ok: true, value: { text: 'You said: hey , how are you?' } })
  expect(here.runs.requests).toEqual([])
  expect(find('@carol hi')).toMatchObject({
    target: { ok: true, value: { at: { host: 'far', port: 7423 } } },
  })
  for (const text of ['hello', '@dave hi', '@dave and @bob', 'x@bob hi', '@bob', '@Bob hi'])
    expect(find(text), text).toBeUndefined()
})
