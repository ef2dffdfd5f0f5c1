// A peer as an agent, with the library's own server at the other end and time in the test's hand.
import { join } from 'node:path'
import {
  ManualClock,
  ok,
  ParleyError,
  type Result,
  type RunId,
  type Ticks,
  type TurnInput,
  type WorkspaceId,
} from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { ReplayJournal } from '../envelope/replay-journal.ts'
import { identityFromSeed } from '../identity/identity.ts'
import type { LinkHandler } from '../server/request.ts'
import { LinkServer } from '../server/server.ts'
import { temporaryFolder } from '../testing/homes.ts'
import { LinkClient } from './client.ts'
import { peerKind } from './peer-kind.ts'

const [alice, bob, carol] = [1, 2, 3].map(byte => identityFromSeed(Buffer.alloc(32, byte))) as [
  ReturnType<typeof identityFromSeed>,
  ReturnType<typeof identityFromSeed>,
  ReturnType<typeof identityFromSeed>,
]

async function served(handler: LinkHandler) {
  const clock = new ManualClock(1_800_000_000_000_000 as Ticks)
  const folder = temporaryFolder()
  const path = join(folder, 's')
  const journal = ReplayJournal.open(join(folder, 'replay'), { clock })
  const pins = { identities: () => new Set([alice.id, carol.id]), stranger: () => undefined }
  const server = await LinkServer.start({ identity: bob, clock, journal, pins, handler, socket: path })
  onTestFinished(async () => {
    await server.close()
    journal.close()
  })
  return { clock, target: () => ok({ identity: bob.id, at: { path } }) }
}

function turn(signal = new AbortController().signal): TurnInput {
  return {
    run: 'run_1' as RunId,
    workspace: 'ws_1' as WorkspaceId,
    agent: 'far#1',
    epoch: 1,
    prompt: 'Go.',
    context: [],
    signal,
  }
}

const ANSWER = { text: 'done', tokens_in: 1, tokens_out: 2, session_id: 's', interrupted: false }

test('a turn that takes longer than the agent has ends with timeout, and is cancelled at the peer', async () => {
  const asked = Promise.withResolvers<void>()
  const methods: unknown[] = []
  const { clock, target } = await served(({ method }) => {
    methods.push(method)
    if (method !== 'link.ask') return { result: { cancelled: false } }
    asked.resolve()
    return new Promise(() => undefined)
  })
  const client = new LinkClient({ identity: alice, clock })
  const far = peerKind.adapter(
    'far',
    { peer: 'bob', timeoutMs: 90_000 },
    { clock, peers: { client: () => ok(client), target } },
  )
  const result = far.takeTurn(turn(), () => undefined)
  await asked.promise
  clock.advance(90_000)
  expect(await result).toMatchObject({ outcome: 'failed', error: { code: 'timeout' } })
  expect(methods).toEqual(['link.ask', 'link.cancel'])
  await far.close()
})

test('each turn is signed with the key of its time; without one it fails, and after the end there is none', async () => {
  const from: string[] = []
  const { clock, target } = await served(request => {
    from.push(request.from)
    return { result: ANSWER }
  })
  let now: Result<LinkClient> = ok(new LinkClient({ identity: alice, clock }))
  const far = peerKind.adapter('far', { peer: 'bob' }, { clock, peers: { client: () => now, target } })
  const take = () => far.takeTurn(turn(), () => undefined)
  expect(far).toMatchObject({ name: 'far', kind: 'peer' })
  expect(await take()).toMatchObject({ outcome: 'complete', text: 'done' })
  now = ok(new LinkClient({ identity: carol, clock }))
  expect(await take()).toMatchObject({ outcome: 'complete' })
  expect(from).toEqual([alice.id, carol.id])
  now = { ok: false, error: new ParleyError('link_off', 'It is off.') }
  expect(await take()).toMatchObject({ outcome: 'failed', error: { code: 'link_off' } })
  await far.close()
  now = ok(new LinkClient({ identity: alice, clock }))
  expect(await take()).toMatchObject({ outcome: 'failed', error: { code: 'closed' } })
})
