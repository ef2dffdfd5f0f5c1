// What a handler gets and what becomes of its answer (ALP-ENV-06, -13, ALP-SRV-03), over a real socket.
import { ParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import { writeTs } from '../envelope/timestamp.ts'
import { parseWire } from '../json/parse.ts'
import { float, type WireObject, type WireValue } from '../json/value.ts'
import { wireText } from '../json/write.ts'
import { forgedBytes } from '../testing/forge.ts'
import { Ground } from '../testing/ground.ts'
import { identityOf } from '../testing/vectors.ts'
import type { LinkRequest, StreamPart } from './request.ts'

const [alice, bob] = [identityOf('alice'), identityOf('bob')]

/** Sends a body as alice signs it, and returns what is answered. */
async function ask(ground: Ground, body: WireObject): Promise<WireObject[]> {
  const peer = await ground.raw('unix')
  const bytes = forgedBytes(alice, { to: bob.id, ts: writeTs(ground.clock.now()), body })
  peer.write(Buffer.concat([bytes, Buffer.from('\n')]))
  await peer.closed
  return peer.received
    .toString()
    .split('\n')
    .filter(Boolean)
    .map(line => parseWire(Buffer.from(line)) as WireObject)
}

test('ALP-ENV-06 the id is repeated as it was, whatever it is', async () => {
  const ground = await Ground.start()
  for (const id of ['x', '', 5, float(2), null, ['a']] as WireValue[]) {
    const [answer] = await ask(ground, { id, method: 'm', params: {} })
    expect(wireText(answer!.id!)).toBe(wireText(id))
  }
  const [answer] = await ask(ground, { method: 'm' })
  expect(answer!.id).toBeNull()
})

test('ALP-ENV-06 params that are absent, null or otherwise nothing are an empty object; other things are not', async () => {
  const seen: LinkRequest[] = []
  const ground = await Ground.start({
    handler: request => {
      seen.push(request)
      return { result: {} }
    },
  })
  await ask(ground, { id: 'x', method: 'm' })
  for (const params of [null, false, 0, float(0), '', [], { a: 1 }, 'x', [1], 7, true] as WireValue[])
    await ask(ground, { id: 'x', method: 'm', params })
  expect(seen.map(({ params }) => params)).toEqual([
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    { a: 1 },
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  expect(seen[0]).toMatchObject({ method: 'm', from: alice.id })
})

test('ALP-SRV-02 a request without a method reaches the handler as such', async () => {
  const ground = await Ground.start()
  expect(await ask(ground, { id: 'x' })).toMatchObject([{ result: { method: null } }])
})

test('ALP-ENV-13 an answer that is nothing is an empty object, and errors have three members', async () => {
  const ground = await Ground.start({
    handler: ({ method }) =>
      method === 'nothing'
        ? { result: null }
        : { error: { code: -32601, message: 'method-not-found', data: null } },
  })
  expect(await ask(ground, { id: 'x', method: 'nothing' })).toMatchObject([{ result: {} }])
  const [failed] = await ask(ground, { id: 'x', method: 'other' })
  expect(wireText(failed!.error!)).toBe('{"code":-32601,"message":"method-not-found","data":null}')
  expect('result' in failed!).toBe(false)
})

test('ALP-SRV-03 a handler that fails is an internal error, and a defect tells nothing of itself', async () => {
  const ground = await Ground.start({
    handler: ({ method }) => {
      throw method === 'refused' ? new ParleyError('x', 'said for others') : new Error('a secret path')
    },
  })
  expect(await ask(ground, { id: 'x', method: 'refused' })).toMatchObject([
    { error: { code: -32603, message: 'internal-error', data: { detail: 'said for others' } } },
  ])
  expect(await ask(ground, { id: 'x', method: 'defect' })).toMatchObject([
    { error: { code: -32603, message: 'internal-error', data: { detail: 'the request failed here' } } },
  ])
  expect(ground.failed.join()).toContain('a secret path')
})

test('ALP-SRV-03 an answer that cannot be written is an internal error', async () => {
  const ground = await Ground.start({ handler: () => ({ result: { a: Number.NaN } }) })
  expect(await ask(ground, { id: 'x', method: 'm' })).toMatchObject([{ error: { code: -32603 } }])
})

test.each([
  [
    'that fails',
    async function* (): AsyncGenerator<StreamPart> {
      yield { chunk: { text: 'a' } }
      throw new Error('broken')
    },
  ],
  [
    'that ends without its last part',
    async function* (): AsyncGenerator<StreamPart> {
      yield { chunk: { text: 'a' } }
    },
  ],
])('ALP-SRV-03 a stream %s ends with one error that has no mark', async (_, parts) => {
  const ground = await Ground.start({ handler: () => ({ stream: parts() }) })
  const answers = await ask(ground, { id: 'x', method: 'm' })
  expect(answers).toMatchObject([
    { result: { text: 'a' }, stream: 'chunk' },
    { id: 'x', error: { code: -32603, message: 'internal-error' } },
  ])
  expect('stream' in answers[1]!).toBe(false)
})

test('ALP-ENV-14 a stream may end with an error of its own', async () => {
  const ground = await Ground.start({
    handler: () => ({
      stream: (async function* () {
        yield { error: { code: -32007, message: 'target-busy', data: null } }
      })(),
    }),
  })
  const [answer, ...more] = await ask(ground, { id: 'x', method: 'm' })
  expect(answer).toMatchObject({ error: { code: -32007 } })
  expect(more).toEqual([])
})
