import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CallError } from '@parley/call'
import { beforeEach, expect, test } from 'vitest'
import type { PeerView } from '../../node/views.ts'
import { type Brought, fakeNode } from '../../testing/fake-node.ts'
import { tempFolder } from '../../testing/folder.ts'
import { parley } from '../../testing/parley.ts'
import { starting } from '../../testing/solving.ts'

let folder: string
beforeEach(() => {
  folder = tempFolder()
})

const pinned = (...ids: string[]): Brought => ({
  '/peers/list': { peers: ids.map(id => ({ id }) as PeerView), problems: [] },
})

test('ALP-MENTION-04 a text for a pinned peer goes straight to it: no run, no agent, whatever team there is', async () => {
  writeFileSync(join(folder, 'parley.yaml'), 'this: is no team file\n')
  const node = fakeNode({ ...pinned('bob'), '/link/ask': [{ type: 'answer', text: 'Version 12 runs there.' }] })
  const ran = await parley(['solve', 'Hello @bob, which version?'], { node, cwd: folder })
  expect(ran).toMatchObject({ code: 0, out: 'Version 12 runs there.\n' })
  expect(ran.err).toContain('goes to the peer bob')
  expect(node.asked('/link/ask')).toEqual([{ peer: 'bob', prompt: 'Hello , which version?' }])
  expect((await parley(['solve', '@bob x', '--detach'], { node, cwd: folder })).code).toBe(2)
})

test.each([
  ['nobody of that name is pinned', ['solve', '@carol which version?'], pinned('bob')],
  ['only the first mention counts', ['solve', '@carol tell @bob'], pinned('bob')],
  ['the case differs', ['solve', '@Bob which?'], pinned('bob')],
  ['nothing but the mention', ['solve', '@bob'], {}],
  ['an address is no mention', ['solve', 'write to bob@example.org'], {}],
  ['an agent is named', ['solve', '@bob which?', '--agent', 'claude'], {}],
  ['the profile has no link', ['solve', '@bob which?'], { '/peers/list': new CallError('link_off', 'x') }],
])('ALP-MENTION-03 it is ordinary text where %s', async (_, args, brought) => {
  const node = starting(brought)
  const ran = await parley([...args, '--yes'], { node, cwd: folder })
  const isSaid = args[1]!.startsWith('@') && args[1] !== '@bob' && !args.includes('--agent')
  expect(ran).toMatchObject({ code: 0, err: isSaid ? expect.stringContaining(' is no pinned peer (') : '' })
  expect(node.asked('/solve/start')).toMatchObject([{ intent: args[1] }])
})

test('ALP-MENTION-03 inside a turn nobody is mentioned: the agent may not ask for its owner', async () => {
  const node = starting()
  const env = { PARLEY_TOKEN_FILE: '/t/token' }
  await parley(['solve', '@bob which?', '--yes'], { node, cwd: folder, env })
  expect(node.asked('/solve/start')).toMatchObject([{ intent: '@bob which?' }])
})
