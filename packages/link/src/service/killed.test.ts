// A node that is killed in mid-answer: the caller learns it, and the next process knows what the last one did
// (ALP-ENV-08, ALP-PEND-01, ALP-BUD-02).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { SystemClock } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { LinkClient } from '../client/client.ts'
import { Scribe } from '../envelope/envelope.ts'
import { linesOf, RawPeer } from '../testing/ground.ts'
import { Profile } from '../testing/profile.ts'
import { identityOf } from '../testing/vectors.ts'

const SCRIPT = join(import.meta.dirname, '..', 'testing', 'served-profile.ts')

test('ALP-BUD-02 a profile that is killed in mid-answer: its peers, replays, invites and what was set aside are there in the next one', async () => {
  const clock = new SystemClock()
  const profile = await Profile.start({ clock })
  await profile.shut()
  const child = spawn(process.execPath, ['--conditions=parley-source', SCRIPT, profile.home, 'bob'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  const carol = new LinkClient({ identity: identityOf('carol'), clock })
  expect((await carol.call(profile.target(), 'link.ping')).ok).toBe(false)
  const bytes = new Scribe(identityOf('alice'), clock).request(profile.identity.id, 'x', 'link.ask', {
    prompt: 'pay',
    stream: true,
  })
  const peer = await RawPeer.connected(connect(profile.paths.socket))
  peer.write(`${bytes}\n`)
  await once(lines, 'line')
  child.kill('SIGKILL')
  await peer.closed
  expect(peer.received.toString()).not.toContain('"final"')

  profile.dailyUsd = 5
  await profile.open()
  expect(await linesOf(profile.paths.socket, bytes)).toEqual([])
  expect(profile.dropped).toEqual(['replay'])
  expect(profile.service.pending().map(({ pubkey }) => pubkey)).toEqual([identityOf('carol').id])
  expect(profile.service.ledger.orphans()).toMatchObject([{ name: 'alice', budget: { usd: 1 } }])
  expect(await profile.call('link.ask', { prompt: 'hi' })).toMatchObject({ text: 'You said: hi' })
})
