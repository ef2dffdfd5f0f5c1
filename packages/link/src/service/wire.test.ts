// Somebody on the path between two profiles, with all that passes in hand: what can be read, changed and sent again.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { MESSAGE_BYTES } from '../noise/handshake.ts'
import { Profile } from '../testing/profile.ts'
import { identityOf } from '../testing/vectors.ts'

const HANDSHAKE = MESSAGE_BYTES.map(length => length + 2)
/** From the caller: its two messages of the handshake. */
const CALLERS = HANDSHAKE[0]! + HANDSHAKE[2]!

interface Tap {
  readonly port: number
  readonly sent: Buffer[]
  readonly answered: Buffer[]
}

/** Passes everything on; `change` sees each piece from the caller with how many bytes came before it. */
async function tapped(to: number, change = (piece: Buffer, _before: number) => piece): Promise<Tap> {
  const sent: Buffer[] = []
  const answered: Buffer[] = []
  const server = createServer(caller => {
    const called = connect(to, '127.0.0.1')
    let before = 0
    caller.on('data', piece => {
      sent.push(Buffer.from(piece))
      const passed = change(Buffer.from(piece), before)
      before += piece.length
      called.write(passed)
    })
    called.on('data', piece => {
      answered.push(Buffer.from(piece))
      caller.write(piece)
    })
    for (const [one, other] of [
      [caller, called],
      [called, caller],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, sent, answered }
}

const asked = (profile: Profile, { port }: Tap, prompt: string) =>
  profile.client().call({ identity: profile.identity.id, at: { host: '127.0.0.1', port } }, 'link.ask', { prompt })

test('nobody on the path reads who calls, what is asked or what is answered', async () => {
  const profile = await Profile.start()
  const tap = await tapped(profile.server.port!)
  expect(await asked(profile, tap, 'a question nobody else reads')).toMatchObject({
    ok: true,
    value: { text: 'You said: a question nobody else reads' },
  })
  const wire = Buffer.concat([...tap.sent, ...tap.answered])
  expect(wire.length).toBeGreaterThan(HANDSHAKE.reduce((sum, each) => sum + each) + 200)
  for (const text of ['nobody else', 'You said', 'link.ask', 'jsonrpc', 'alice', 'bob'])
    expect(wire.includes(text), text).toBe(false)
  for (const { id, noise } of [identityOf('alice'), profile.identity]) {
    expect(wire.includes(id)).toBe(false)
    expect(wire.includes(Buffer.from(id, 'base64'))).toBe(false)
    expect(wire.includes(noise.publicKey)).toBe(false)
  }
})

test.each(['length', 'content', 'tag'])('what is changed on the path, in its %s, reaches nobody', async part => {
  const profile = await Profile.start()
  let changed = 0
  const tap = await tapped(profile.server.port!, (piece, before) => {
    const start = Math.max(0, CALLERS - before)
    if (start >= piece.length || changed > 0) return piece
    piece[{ length: start + 3, content: start + 20, tag: piece.length - 1 }[part]!]! ^= 1
    changed++
    return piece
  })
  expect(await asked(profile, tap, 'x')).toMatchObject({ ok: false, error: { where: 'local' } })
  expect(changed).toBe(1)
  expect(profile.runs.requests).toEqual([])
})

test('what was recorded and is sent again gets the one message of a handshake, and nobody is asked', async () => {
  const profile = await Profile.start()
  const tap = await tapped(profile.server.port!)
  expect(await asked(profile, tap, 'pay')).toMatchObject({ ok: true })
  expect(profile.runs.requests).toHaveLength(1)
  const again = connect(profile.server.port!, '127.0.0.1')
  const heard: Buffer[] = []
  again.on('data', piece => heard.push(piece)).on('error', () => undefined)
  again.write(Buffer.concat(tap.sent))
  await once(again, 'close')
  expect(Buffer.concat(heard)).toHaveLength(HANDSHAKE[1]!)
  expect(profile.runs.requests).toHaveLength(1)
})
