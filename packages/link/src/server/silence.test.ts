// What a stranger learns of a server (ALP-ERR-05): nothing. `service/silence.test.ts` sends every kind of bad message
// to a whole profile.
import { expect, test } from 'vitest'
import { Scribe } from '../envelope/envelope.ts'
import { sound } from '../testing/bad-messages.ts'
import { Caller } from '../testing/caller.ts'
import { forgedBytes } from '../testing/forge.ts'
import { Ground, linesOf } from '../testing/ground.ts'
import { identityOf } from '../testing/vectors.ts'

const [alice, bob, carol] = [identityOf('alice'), identityOf('bob'), identityOf('carol')]

test('ALP-ERR-05 what is authentic but refused is a signed error; what is wrong with the list of peers is silence', async () => {
  const error = { code: -32001, message: 'capability-denied', data: { method: 'x' } }
  const ground = await Ground.start({ handler: () => ({ error }) })
  const refused = await ground.client().call(ground.target('tcp'), 'x')
  expect(refused).toMatchObject({
    ok: false,
    error: { where: 'remote', error: { code: -32001, message: error.message } },
  })
  Object.defineProperty(ground, 'pinned', {
    get: () => {
      throw new Error('the list cannot be read')
    },
  })
  const scribe = new Scribe(alice, ground.clock)
  expect(await linesOf(ground.socket, scribe.request(bob.id, 'x', 'link.ping', {}))).toEqual([])
  expect(ground.failed.join()).toContain('the list cannot be read')
})

test('ALP-PEND-01 every verified message of a stranger is told to whoever keeps the list, on both transports', async () => {
  const ground = await Ground.start()
  await linesOf(ground.socket, forgedBytes(carol, sound(ground)))
  const caller = await Caller.of(ground, 'carol')
  caller.say(forgedBytes(carol, sound(ground)))
  await caller.peer.closed
  // Not verified: nobody's invitation.
  await linesOf(ground.socket, forgedBytes(carol, { ...sound(ground), to: alice.id }))
  expect(ground.strangers).toEqual([
    [carol.id, undefined],
    [carol.id, expect.stringMatching(/^127\.0\.0\.1:\d+$/)],
  ])
})
