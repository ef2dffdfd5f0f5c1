// What a handler gets and what becomes of its answer (ALP-ENV-06, -13, ALP-SRV-03), over a real socket.
import { ParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import { writeTs } from '../envelope/timestamp.ts'
import { float, type WireObject, type WireValue } from '../json/value.ts'
import { wireText } from '../json/write.ts'
import { forgedBytes } from '../testing/forge.ts'
import { answersOf, Ground, streamOf } from '../testing/ground.ts'
import { identityOf } from '../testing/vectors.ts'
import type { LinkRequest, StreamPart } from './request.ts'

const [alice, bob] = [identityOf('alice'), identityOf('bob')]

/** Sends a body as alice signs it, and returns what is answered. */
function ask(ground: Ground, body: WireObject): Promise<WireObject[]> {
  return answersOf(ground.socket, forgedBytes(alice, { to: bob.id, ts: writeTs(ground.clock.now()), body }))
}

test('ALP-ENV-06 an id that is a text is repeated as it was; anything else is answered with null', async () => {
  const ground = await Ground.start()
  for (const id of ['x', '', 'é\u0000', '5']) {
    const [answer] = await ask(ground, { id, method: 'm', params: {} })
    expect(answer!.id).toBe(id)
  }
  for (const id of [5, float(2), null, ['a'], { a: 1 }] as WireValue[]) {
    const [answer] = await ask(ground, { id, method: 'm', params: {} })
    expect(answer!.id).toBeNull()
  }
})

/** What the handler gets for each of these bodies. */
async function requests(...bodies: WireObject[]): Promise<LinkRequest[]> {
  const seen: LinkRequest[] = []
  const ground = await Ground.start({
    handler: request => {
      seen.push(request)
      return { result: {} }
    },
  })
  for (const body of bodies) await ask(ground, body)
  return seen
}

test('ALP-ENV-06 params that are absent or null are an empty object; other things are none', async () => {
  const others = [false, 0, float(0), '', [], 'x', [1], 7, true] as WireValue[]
  const seen = await requests(
    { id: 'x', method: 'm' },
    ...[null, { a: 1 }, ...others].map(params => ({ id: 'x', method: 'm', params })),
  )
  expect(seen.map(({ params }) => params)).toEqual([{}, {}, { a: 1 }, ...others.map(() => undefined)])
  expect(seen[0]).toMatchObject({ method: 'm', from: alice.id })
})

test('ALP-SRV-04 what is no request reaches the handler as such, with the reason', async () => {
  const seen = await requests(
    { id: 'x' },
    { id: 'x', method: 5 },
    { method: 'm' },
    { id: { a: 1 }, method: 'm' },
    { jsonrpc: '1.0', id: 'x', method: 'm' },
    { jsonrpc: null, id: 'x', method: 'm' },
    { id: 'x', method: 'm' },
  )
  expect(seen.map(({ malformed }) => malformed)).toEqual([
    'method is not a string',
    'method is not a string',
    'id is not a string',
    'id is not a string',
    'jsonrpc is not "2.0"',
    'jsonrpc is not "2.0"',
    undefined,
  ])
})

test('ALP-ENV-13 an answer that is nothing is an empty object, and errors have three members', async () => {
  const ground = await Ground.start({
    handler: ({ method }) =>
      method === 'nothing' ? { result: null } : { error: { code: -32601, message: 'method-not-found', data: null } },
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

test.each(['fails', 'ends without its last part'])(
  'ALP-SRV-03 a stream that %s ends with one error that has no mark',
  async how => {
    const parts = async function* (): AsyncGenerator<StreamPart> {
      yield { chunk: { text: 'a' } }
      if (how === 'fails') throw new Error('broken')
    }
    const ground = await Ground.start({ handler: () => ({ stream: parts() }) })
    const answers = await ask(ground, { id: 'x', method: 'm' })
    expect(answers).toMatchObject([
      { result: { text: 'a' }, stream: 'chunk' },
      { id: 'x', error: { code: -32603, message: 'internal-error' } },
    ])
    expect('stream' in answers[1]!).toBe(false)
  },
)

test('ALP-ENV-14 a stream may end with an error of its own', async () => {
  const error = { code: -32007, message: 'target-busy', data: null }
  const ground = await Ground.start({ handler: () => streamOf({ error }) })
  const [answer, ...more] = await ask(ground, { id: 'x', method: 'm' })
  expect(answer).toMatchObject({ error: { code: -32007 } })
  expect(more).toEqual([])
})
