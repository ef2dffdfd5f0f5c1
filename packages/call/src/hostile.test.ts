// Hostile peers (CALL-WIRE-03 to -06, CALL-EVT-03, CALL-CTX-02): a node that listens on real sockets, honest clients at
// work, and attackers with raw connections that send what is no protocol. Each link ends or goes on as the protocol
// says, and nobody else notices.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, CARRIERS, Ground } from './testing/ground.ts'
import { heldBytes } from './testing/memory.ts'
import { frameOf, turn } from './testing/peer.ts'
import { randomBytes, seededRandom } from './testing/random.ts'

let ground: Ground

beforeAll(async () => {
  ground = await Ground.open()
})

afterAll(async () => {
  await ground.close()
})

const BODIES: readonly (readonly [what: string, body: string | Uint8Array, code: number])[] = [
  ['text that is no JSON', 'hello', 1007],
  ['JSON that is cut off', '{"type":"call.requested","id":"x","payload":', 1007],
  ['two texts in one frame', '{"type":"a","id":"","payload":1}{}', 1007],
  ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 1007],
  ['half a surrogate pair', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 1007],
  ['a byte-order mark', `\ufeff${JSON.stringify({ type: 'a', id: '', payload: 1 })}`, 1007],
  ['a number', '5', 1002],
  ['null', 'null', 1002],
  ['a list', '[{"type":"a","id":"","payload":1}]', 1002],
  ['an empty object', '{}', 1002],
  ['a type that is no text', '{"type":["call.requested"],"id":"x","payload":{}}', 1002],
  ['an id that is no text', '{"type":"call.requested","id":7,"payload":{}}', 1002],
  ['a type that is null', '{"type":null,"id":"x","payload":{}}', 1002],
  ['no type', '{"id":"x","payload":{}}', 1002],
  ['no id', '{"type":"call.requested","payload":{}}', 1002],
  ['no payload', '{"type":"call.requested","id":"x"}', 1002],
  ['members on the prototype', '{"__proto__":{"type":"call.requested","id":"x","payload":{}}}', 1002],
  ['a hundred thousand open brackets', '['.repeat(100_000), 1002],
  ['nesting beyond the limit', `{"type":"a","id":"","payload":${'['.repeat(128)}${']'.repeat(128)}}`, 1002],
  ['a million open braces', '{"a":'.repeat(1_000_000), 1002],
]

test.for(BODIES.flatMap(body => CARRIERS.map(carrier => [carrier, ...body] as const)))(
  'CALL-T05 CALL-WIRE-05 a link that brings a bad envelope ends without an answer: over %s, %s',
  async ([carrier, , body, code]) => {
    const attacker = await ground.attacker(carrier)
    attacker.body(body)
    const closed = await attacker.closed
    if (carrier === 'websocket') expect(closed).toBe(code)
    expect(attacker.received).toEqual([])
    await ground.quiet()
    await ground.goOn(1)
  },
)

const BYTES: readonly (readonly [what: string, bytes: Uint8Array])[] = [
  ['a length of zero', Buffer.alloc(4)],
  ['a length just above the limit', Buffer.from('04000001', 'hex')],
  ['the largest length', Buffer.from('ffffffff', 'hex')],
  ['random bytes', randomBytes(seededRandom(1), 65_536)],
  ['a request of another protocol', Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
  ['a sound frame, then a bad one', Buffer.concat([frameOf('{"type":"a","id":"","payload":1}'), Buffer.alloc(4)])],
]

test.for(BYTES.flatMap(bytes => (['tcp', 'unix'] as const).map(carrier => [carrier, ...bytes] as const)))(
  'CALL-WIRE-04 bytes that are no frames end their stream before anything is made of them: over %s, %s',
  async ([carrier, , bytes]) => {
    const attacker = await ground.raw(carrier)
    attacker.bytes(bytes)
    await attacker.closed
    expect(attacker.received).toEqual([])
    await ground.goOn(1)
  },
)

test('CALL-WIRE-03 a thousand streams that are cut inside a frame leave nothing behind', async () => {
  const whole = frameOf(
    JSON.stringify({ type: 'call.requested', id: 'x', payload: { name: '/test/echo', input: 'y'.repeat(2000) } }),
  )
  for (let round = 0; round < 1000; round++) {
    const attacker = await ground.raw(round % 2 ? 'tcp' : 'unix')
    attacker.socket.end(whole.subarray(0, 1 + ((round * 37) % (whole.length - 1))))
    await attacker.closed
    expect(attacker.received).toEqual([])
  }
  await ground.over()
})

test('CALL-WIRE-04 a promise of 64 MiB takes no memory before the bytes come', async () => {
  const before = await heldBytes()
  const attackers = await Promise.all(Array.from({ length: 200 }, () => ground.raw('unix')))
  for (const attacker of attackers) attacker.bytes('04000000')
  while (ground.attacked.length < 200) await turn()
  for (const attacker of attackers) attacker.bytes(Buffer.alloc(1000, 0x20))
  await ground.goOn(20)
  expect((await heldBytes()) - before).toBeLessThan(16 * 2 ** 20)
  await ground.over(...attackers)
})

test('CALL-WIRE-06 a listener that fails on what a peer sent disturbs nobody', async () => {
  const attacker = await ground.attacker('unix')
  const link = await ground.lastAttacked()
  const seen: unknown[] = []
  link.on('topic.tick', (_topic, payload) => seen.push((payload as { at: { x: number } }).at.x))
  link.on('topic.tick', topic => seen.push(topic))
  attacker.send('topic.tick', 'bad', null)
  attacker.send('topic.tick', 'good', { at: { x: 1 } })
  ask(attacker, 'last', '/test/echo', 1)
  expect((await attacker.next()).id).toBe('last')
  expect(seen).toEqual(['bad', 1, 'good'])
  await ground.over(attacker)
})

test('CALL-CTX-02 keys that reach for prototypes stay data', async () => {
  const attacker = await ground.attacker('tcp')
  const evil =
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1,"toJSON":1,"then":1}'
  attacker.body(
    `{"type":"call.requested","id":"e","payload":{"name":"/test/echo","input":${evil},"metadata":${evil},"__proto__":{"name":"/x/y"}}}`,
  )
  const answer = await attacker.next()
  expect(JSON.stringify(answer.payload)).toBe(evil)
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  attacker.body(`{"type":"call.error","id":"e","payload":${evil}}`)
  attacker.body(`{"type":"__proto__","id":"constructor","payload":${evil}}`)
  attacker.body(`{"type":"call.requested","id":"f","payload":{"name":"/__proto__/constructor","input":1}}`)
  expect((await attacker.next()).payload).toMatchObject({ code: 'NOT_FOUND' })
  await ground.over(attacker)
})

const NAMES = [5, null, {}, '', '/', '/a', '/a/b/c/d', '/test/echo/', '/test//echo', '/test/ec ho']
const FIELDS = [
  { operationId: ['/a/b', 5], namespace: ['other', {}], requestId: ['other'] },
  { deadline: ['soon', null], idleTimeout: [0, -1, []], metadata: [[], 'x'] },
]
const PAYLOADS: readonly unknown[] = [
  ...[null, 0, 'x', true, [], [[]], {}, { operationId: ['/a/b'] }],
  ...[...NAMES, 'x'.repeat(100_000), '/'.repeat(100_000)].map(name => ({ name })),
  ...FIELDS.flatMap(Object.entries).flatMap(([field, values]) =>
    (values as unknown[]).map(value => ({ name: '/test/echo', [field]: value })),
  ),
]

test.for(CARRIERS)('CALL-EVT-03 every malformed request is refused by itself: over %s', async carrier => {
  const attacker = await ground.attacker(carrier)
  for (const [index, payload] of PAYLOADS.entries()) {
    attacker.send('call.requested', `p${index}`, payload)
    expect(await attacker.next(), JSON.stringify(payload).slice(0, 80)).toMatchObject({
      type: 'call.error',
      id: `p${index}`,
      payload: { code: 'INVALID_INPUT', retryable: false },
    })
  }
  for (const id of ['', 'x'.repeat(129), 'x'.repeat(100_000)]) ask(attacker, id, '/test/echo')
  for (const deadline of [1e308, Number.MAX_SAFE_INTEGER]) {
    const odd = { identity: 5, forwarded_for: [], auth_token: {} }
    ask(attacker, 'far', '/test/echo', 1, { deadline, idleTimeout: deadline, ...odd })
    expect(await attacker.next()).toEqual({ type: 'call.responded', id: 'far', payload: 1 })
  }
  attacker.body('{"type":"call.requested","id":"inf","payload":{"name":"/test/echo","deadline":1e999}}')
  expect(await attacker.next()).toMatchObject({ id: 'inf', payload: { code: 'INVALID_INPUT' } })
  ask(attacker, 'past', '/test/echo', 1, { deadline: -1e308 })
  expect(await attacker.next()).toMatchObject({ id: 'past', payload: { code: 'TIMEOUT' } })
  await ground.over(attacker)
})
