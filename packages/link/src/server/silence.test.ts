// A stranger learns nothing (ALP-ERR-02, ALP-ERR-05): whatever is wrong with a message, the bytes that come back are
// the same, and in the same order: none on the Unix socket, the one handshake message on TCP.
import { describe, expect, test } from 'vitest'
import { Scribe } from '../envelope/envelope.ts'
import { DROP_REASONS, type DropReason } from '../envelope/verify.ts'
import { BAD_MESSAGES, type Bad, replayed, sound } from '../testing/bad-messages.ts'
import { Caller } from '../testing/caller.ts'
import { forgedBytes } from '../testing/forge.ts'
import { Ground } from '../testing/ground.ts'
import { identityOf } from '../testing/vectors.ts'

const [alice, bob, carol] = [identityOf('alice'), identityOf('bob'), identityOf('carol')]
/** Every reason that the kinds below were dropped for. */
const reasons = new Set<DropReason>()

/** What comes back on the Unix socket. */
async function onUnix(ground: Ground, bytes: Buffer): Promise<Buffer> {
  const peer = await ground.raw('unix')
  peer.write(Buffer.concat([bytes, Buffer.from('\n')]))
  await peer.closed
  return peer.received
}

/** What comes back over TCP after the handshake. */
async function onTcp(ground: Ground, bytes: Buffer, name: string): Promise<Buffer> {
  const caller = await Caller.of(ground, name)
  caller.say(bytes)
  await caller.peer.closed
  return caller.peer.received
}

describe.each(Object.entries(BAD_MESSAGES))('%s', (name, kind) => {
  test('ALP-ERR-05 no byte comes back and the connection closes, on both transports, and nobody is called', async () => {
    const handled: unknown[] = []
    const ground = await Ground.start({
      handler: ({ method }) => {
        handled.push(method)
        return { result: {} }
      },
    })
    const bad = (carrier: 'unix' | 'tcp') => {
      if (kind !== replayed) return (kind as Bad)(ground)
      const bytes = forgedBytes(alice, sound(ground))
      const nonce = /"nonce":"([^"]*)"/.exec(bytes.toString())![1]!
      expect(ground.journal.admit(alice.id, nonce, true), carrier).toBeUndefined()
      return bytes
    }
    const sender = name === 'a message of a stranger' ? 'carol' : 'alice'
    expect(await onUnix(ground, bad('unix'))).toHaveLength(0)
    expect(await onTcp(ground, bad('tcp'), sender)).toHaveLength(0)
    expect(handled).toEqual([])
    expect(ground.dropped.map(([, carrier]) => carrier)).toEqual(['unix', 'tcp'])
    expect(ground.dropped[0]![0]).toBe(ground.dropped[1]![0])
    reasons.add(ground.dropped[0]![0])
  })
})

test('ALP-ERR-02 the kinds above are more than twenty, and they are dropped for every reason that a message can give', () => {
  expect(Object.keys(BAD_MESSAGES).length).toBeGreaterThanOrEqual(20)
  // These two depend on more than the message: on the connection (tcp.test.ts) and on our own disk (replay.test.ts).
  const others: readonly DropReason[] = ['binding', 'replay journal']
  expect([...reasons].toSorted()).toEqual(DROP_REASONS.filter(reason => !others.includes(reason)).toSorted())
})

test('ALP-ERR-05 what is authentic but refused is a signed error; what is wrong with the list of peers is silence', async () => {
  const ground = await Ground.start({
    handler: () => ({ error: { code: -32001, message: 'capability-denied', data: { method: 'x' } } }),
  })
  const refused = await ground.client().call(ground.target('tcp'), 'x')
  expect(refused).toMatchObject({
    ok: false,
    error: { where: 'remote', error: { code: -32001, message: 'capability-denied' } },
  })
  Object.defineProperty(ground, 'pinned', {
    get: () => {
      throw new Error('the list cannot be read')
    },
  })
  const scribe = new Scribe(alice, ground.clock)
  expect(await onUnix(ground, scribe.request(bob.id, 'x', 'link.ping', {}))).toHaveLength(0)
  expect(ground.failed.join()).toContain('the list cannot be read')
})

test('ALP-PEND-01 every verified message of a stranger is told to whoever keeps the list, on both transports', async () => {
  const ground = await Ground.start()
  await onUnix(ground, forgedBytes(carol, sound(ground)))
  await onTcp(ground, forgedBytes(carol, sound(ground)), 'carol')
  // Not verified: nobody's invitation.
  await onUnix(ground, forgedBytes(carol, { ...sound(ground), to: alice.id }))
  expect(ground.strangers).toEqual([
    [carol.id, undefined],
    [carol.id, expect.stringMatching(/^127\.0\.0\.1:\d+$/)],
  ])
})
