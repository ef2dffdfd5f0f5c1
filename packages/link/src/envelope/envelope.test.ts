// Envelopes (ALP-ENV): the worked vectors of signing and of verification, and the rules between them.
import { createHash } from 'node:crypto'
import { ManualClock, type Ticks } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { parseText, parseWire } from '../json/parse.ts'
import { float, isWireObject, type WireObject } from '../json/value.ts'
import { canonicalText, wireText } from '../json/write.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { at, vectorClock } from '../testing/clock.ts'
import { forge, forgedBytes } from '../testing/forge.ts'
import { identityOf, vectors } from '../testing/vectors.ts'
import { Scribe } from './envelope.ts'

import { readTs, writeTs } from './timestamp.ts'
import { type DropReason, readResponse, verifyMessage } from './verify.ts'

const [alice, bob, carol] = [identityOf('alice'), identityOf('bob'), identityOf('carol')]
const NOW = '2026-04-23T12:01:00Z'
const now = at(NOW)

function object(bytes: Uint8Array): WireObject {
  const value = parseWire(bytes)
  if (!isWireObject(value)) throw new Error('no object')
  return value
}

function alpOf(body: WireObject): WireObject {
  if (!isWireObject(body.alp)) throw new Error('no alp')
  return body.alp
}

/** What comes of a message at bob's: `accept`, or why not. */
function verdict(bytes: Buffer, at: Ticks = now): DropReason | 'accept' {
  const result = verifyMessage(bytes, { self: bob.id, now: at })
  return result.ok ? 'accept' : result.reason
}

describe.each(vectors.envelopes)('the envelope "$name"', ({ wire, canonical, canonical_sha256, sig_b64 }) => {
  const body = parseText(wire) as WireObject
  const { sig, ...alp } = alpOf(body)

  test('ALP-ENV-03 it is signed over its canonical form without the signature', () => {
    const text = canonicalText({ ...body, alp })
    expect(text).toBe(canonical)
    expect(createHash('sha256').update(text).digest('hex')).toBe(canonical_sha256)
    const signer = [alice, bob].find(({ id }) => id === alp.from)!
    expect(signer.sign(Buffer.from(text)).toString('base64')).toBe(sig_b64)
    expect(sig).toBe(sig_b64)
  })

  test('ALP-ENV-05 written again it means the same, its numbers included', () => {
    const again = wireText(body)
    expect(canonicalText(parseText(again)!)).toBe(canonicalText(body))
    // Members whose names are numbers may change places, which is nobody's concern.
    if (!wire.includes('"10":')) expect(again).toBe(wire)
  })
})

describe('verification', () => {
  test.each(vectors.verify)('ALP-ENV-09 $name: $verdict $reason', vector => {
    const context = { self: identityOf(vector.receiver).id, now: at(vector.now) }
    const result = verifyMessage(Buffer.from(vector.line), context)
    expect(result.ok ? 'accept' : 'drop').toBe(vector.verdict)
    if (!result.ok) expect(result.reason).toBe(vector.reason)
  })

  test('ALP-ENV-09 the checks are made in their order: of several faults the first one counts', () => {
    const seen: string[] = []
    const run = (bytes: Buffer) => {
      const result = verifyMessage(bytes, {
        self: bob.id,
        now,
        replay: (from, nonce) => {
          seen.push(`${from} ${nonce}`)
          return 'replay'
        },
      })
      return result.ok ? 'accept' : result.reason
    }
    const wrong = { to: carol.id, ts: '2020-01-01T00:00:00Z', v: 2, sig: 'x' }
    expect(run(forgedBytes(alice, { ...wrong, without: ['to'] }))).toBe('missing to')
    expect(run(forgedBytes(alice, wrong))).toBe('version')
    expect(run(forgedBytes(alice, { ...wrong, v: 1 }))).toBe('timestamp')
    expect(run(forgedBytes(alice, { ...wrong, v: 1, ts: NOW }))).toBe('signature')
    expect(seen).toEqual([])
    expect(run(forgedBytes(alice, { to: carol.id, ts: NOW, nonce: 'n' }))).toBe('replay')
    expect(seen).toEqual([`${alice.id} n`])
    expect(verdict(forgedBytes(alice, { to: carol.id, ts: NOW }))).toBe('recipient')
    expect(verdict(forgedBytes(alice, { to: bob.id, ts: NOW }))).toBe('accept')
  })

  test.each(['v', 'from', 'to', 'ts', 'nonce', 'sig'] as const)('ALP-ENV-02 without alp.%s it is no message', field => {
    expect(verdict(forgedBytes(alice, { to: bob.id, ts: NOW, without: [field] }))).toBe(`missing ${field}`)
  })

  test('ALP-ENV-03 every member is signed, unknown and nested ones and those with awkward names too', () => {
    const body = { id: 'x', method: 'm', params: { deep: [{ a: float(1) }] }, extra: { b: 2 } }
    const forged = forge(alice, { to: bob.id, ts: NOW, body, more: { other: 1 } })
    expect(verdict(Buffer.from(wireText(forged)))).toBe('accept')
    const text = wireText(forged)
    for (const [found, changed] of [
      ['"a":1.0', '"a":1.5'],
      ['"a":1.0', '"a":1'],
      ['"b":2', '"b":3'],
      ['"other":1', '"other":2'],
      ['"jsonrpc":"2.0"', '"jsonrpc":"2.1"'],
      ['"id":"x"', '"id":"y"'],
      ['"extra"', '"__proto__"'],
      ['{"jsonrpc"', '{"__proto__":{"a":1},"jsonrpc"'],
    ] as const) {
      expect(text).toContain(found)
      expect(verdict(Buffer.from(text.replace(found, changed))), changed).toBe('signature')
    }
    const awkward = parseText('{"id":"x","method":"m","__proto__":{"toString":1}}') as WireObject
    expect(verdict(forgedBytes(alice, { to: bob.id, ts: NOW, body: awkward }))).toBe('accept')
  })

  test('ALP-ENV-10 wrong types, wrong base64, keys of the wrong length, lone surrogates: dropped', () => {
    const rest = { to: bob.id, ts: NOW }
    const sound = forge(alice, rest)
    const sig = alpOf(sound).sig as string
    for (const bad of [1, null, [], {}, true]) {
      for (const field of ['from', 'to', 'nonce', 'sig'] as const)
        expect(verdict(forgedBytes(alice, { ...rest, more: { [field]: bad } })), `${field} ${bad}`).not.toBe('accept')
      expect(verdict(Buffer.from(wireText({ ...sound, alp: bad })))).toMatch(/^missing (?:alp|v)$/)
    }
    const spellings = [`${alice.id}=`, alice.id.slice(0, -1), alice.id.replaceAll('/', '_')]
    for (const from of ['', 'AAAA', 'A'.repeat(44), ...spellings])
      expect(verdict(forgedBytes(alice, { ...rest, from }))).toBe('signature')
    for (const wrong of ['', 'AAAA', `${sig}=`, `${sig.slice(0, 10)}\n${sig.slice(10)}`, sig.slice(0, 87)])
      expect(verdict(forgedBytes(alice, { ...rest, sig: wrong }))).toBe('signature')
    const surrogate = wireText(sound).replace('"id":"x"', '"id":"\\ud800"')
    expect(verdict(Buffer.from(surrogate))).toBe('signature')
    const nonce = 'n'.repeat(linkLimits.nonceLength + 1)
    expect(verdict(forgedBytes(alice, { ...rest, nonce }))).toBe('malformed alp')
  })

  test('ALP-ENV-11 only the integer 1 is a known version', () => {
    for (const v of [2, 0, -1, float(1), true, '1', null, 2n ** 70n])
      expect(verdict(forgedBytes(alice, { to: bob.id, ts: NOW, v })), String(v)).toBe('version')
  })

  test('ALP-ID-04 an identity with spaces around it verifies, and is another one than without', () => {
    const bytes = forgedBytes(alice, { to: bob.id, ts: NOW, from: ` ${alice.id}` })
    const result = verifyMessage(bytes, { self: bob.id, now })
    expect(result).toMatchObject({ ok: true, message: { from: ` ${alice.id}` } })
  })

  test('ALP-ENV-01 an array of messages is none', () => {
    const batch = wireText([forge(alice, { to: bob.id, ts: NOW })])
    expect(verdict(Buffer.from(batch))).toBe('not an object')
  })
})

describe('timestamps', () => {
  const micros = (iso: string, more = 0) => Date.parse(iso) * 1000 + more

  test.each([
    ['2026-04-23T12:00:00Z', 0],
    ['2026-04-23T12:00:00.5Z', undefined],
    ['2026-04-23T12:00:00.123Z', 123_000],
    ['2026-04-23T12:00:00.123456Z', 123_456],
    ['2026-04-23T14:00:00+02:00', 0],
    ['2026-04-23T14:00:00+0200', 0],
    ['2026-04-23T14:00:00+02', 0],
    ['2026-04-23T06:30:00.000001-05:30', 1],
    ['2026-04-23T12:00:30+00:00:30', 0],
    ['2026-04-23T12:00:00', undefined],
    ['2026-04-23T12:00:00.1234567Z', undefined],
    ['2026-04-23T12:00:00z', undefined],
    ['2026-04-23 12:00:00Z', undefined],
    ['2026-02-30T12:00:00Z', undefined],
    ['2026-13-01T12:00:00Z', undefined],
    ['2026-04-23T24:00:00Z', undefined],
    ['2026-04-23T12:60:00Z', undefined],
    ['2026-04-23T12:00:60Z', undefined],
    ['2026-04-23T12:00:00+24:00', undefined],
    ['2026-04-23T12:00:00+02:60', undefined],
    ['0000-04-23T12:00:00Z', undefined],
    ['1777032000', undefined],
    ['', undefined],
    [`2026-04-23T12:00:00Z${' '.repeat(10_000)}`, undefined],
  ])('ALP-ENV-07 %j is read exactly, or not at all', (text, more) => {
    expect(readTs(text)).toBe(more === undefined ? undefined : micros('2026-04-23T12:00:00Z', more))
  })

  test('ALP-ENV-07 a time in the second of the one before is read as any other, and what is no time stays none', () => {
    const base = Date.UTC(2026, 3, 23, 12, 1, 7) * 1000
    for (const second of [7, 8, 7]) {
      const from = `2026-04-23T12:01:0${second}`
      const start = base + (second - 7) * 1_000_000
      for (const micros of [1, 999_999, 0, 123_456])
        expect(readTs(`${from}.${String(micros).padStart(6, '0')}Z`)).toBe(start + micros)
      expect(readTs(`${from}Z`)).toBe(start)
      expect(readTs(`${from}.250Z`)).toBe(start + 250_000)
      expect(readTs(`${from}.000001+01:00`)).toBe(start + 1 - 3_600_000_000)
      for (const tail of ['.12345Z', '.1234567Z', '.12345aZ', '.123456', ' 123456Z', '.123456Z\n', '.123456z'])
        expect(readTs(`${from}${tail}`), tail).toBeUndefined()
    }
    expect(readTs('2026-04-23T12:01:60.000001Z')).toBeUndefined()
    expect(readTs('2026-04-23T12:01:60.000002Z')).toBeUndefined()
  })

  test('ALP-ENV-07 they are written in UTC, the fraction left out when it is zero', () => {
    const base = at('2026-04-23T12:00:00Z')
    expect(writeTs(base)).toBe('2026-04-23T12:00:00Z')
    expect(writeTs((base + 123_456) as Ticks)).toBe('2026-04-23T12:00:00.123456Z')
    expect(writeTs((base + 120_000) as Ticks)).toBe('2026-04-23T12:00:00.120000Z')
  })

  test('ALP-ENV-07 two minutes of difference pass, a microsecond more does not, both ways', () => {
    const limit = linkDefaults.skewSeconds * 1_000_000
    for (const [difference, expected] of [
      [limit, 'accept'],
      [limit + 1, 'timestamp'],
      [-limit, 'accept'],
      [-limit - 1, 'timestamp'],
    ] as const) {
      const ts = writeTs((now + difference) as Ticks)
      expect(verdict(forgedBytes(alice, { to: bob.id, ts })), ts).toBe(expected)
    }
  })
})

describe('messages that are made here', () => {
  const clock = vectorClock()
  const scribe = new Scribe(alice, clock)

  test('ALP-ENV-01 a request has its members, in the order of the reference', () => {
    const body = object(scribe.request(bob.id, 'an id', 'link.ping', { nonce: 'n' }))
    expect(Object.keys(body)).toEqual(['jsonrpc', 'id', 'method', 'params', 'alp'])
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 'an id', method: 'link.ping', params: { nonce: 'n' } })
  })

  test('ALP-ENV-02 the alp block has its six members', () => {
    const alp = alpOf(object(scribe.request(bob.id, 'x', 'm', {})))
    expect(Object.keys(alp)).toEqual(['v', 'from', 'to', 'ts', 'nonce', 'sig'])
    expect(alp).toMatchObject({ v: 1, from: alice.id, to: bob.id, ts: NOW })
    expect(alp.nonce).toMatch(/^[0-9a-f]{32}$/)
    expect(Buffer.from(alp.sig as string, 'base64')).toHaveLength(64)
  })

  test('ALP-ENV-06 ids are random UUIDs, never the same twice; nor are nonces', () => {
    const ids = Array.from({ length: 100 }, () => scribe.newId())
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(new Set(ids).size).toBe(100)
    const nonces = Array.from({ length: 100 }, () => alpOf(object(scribe.request(bob.id, 'x', 'm', {}))).nonce)
    expect(new Set(nonces).size).toBe(100)
  })

  test('ALP-ENV-13 a response swaps the sides, has its own time and nonce, and is never null', () => {
    const later = new ManualClock(now)
    later.advance(1500)
    const answering = new Scribe(bob, later)
    const body = object(answering.response(alice.id, 'the id', { result: null }))
    expect(Object.keys(body)).toEqual(['jsonrpc', 'id', 'alp', 'result'])
    expect(body.result).toEqual({})
    expect(alpOf(body)).toMatchObject({ from: bob.id, to: alice.id, ts: '2026-04-23T12:01:01.500000Z' })
    const failed = object(answering.response(alice.id, 'x', { error: { data: null, message: 'm', code: -1 } }))
    expect(wireText(failed.error!)).toBe('{"code":-1,"message":"m","data":null}')
    for (const id of [null, 5, float(1), 'x', ['x']])
      expect(wireText(object(answering.response(alice.id, id, { result: {} })).id!)).toBe(wireText(id))
  })

  test('ALP-ENV-14 the mark of a stream is a signed member at the top', () => {
    const answering = new Scribe(bob, clock)
    const bytes = answering.response(alice.id, 'x', { result: { text: 'Hel' }, stream: 'chunk' })
    expect(Object.keys(object(bytes))).toEqual(['jsonrpc', 'id', 'alp', 'result', 'stream'])
    expect(object(bytes).stream).toBe('chunk')
    const expected = { self: alice.id, dialled: bob.id, id: 'x', now }
    expect(readResponse(bytes, expected)).toEqual({ ok: true, body: { result: { text: 'Hel' }, stream: 'chunk' } })
    const altered = Buffer.from(bytes.toString().replace('"chunk"', '"final"'))
    expect(readResponse(altered, expected)).toEqual({ ok: false, reason: 'signature' })
    const plain = answering.response(alice.id, 'x', { result: 1 })
    expect(readResponse(plain, expected)).toEqual({ ok: true, body: { result: 1 } })
  })

  test('what cannot be sent is refused before anything is signed', () => {
    expect(() => scribe.request(bob.id, 'x', 'm', { a: Number.NaN })).toThrow('no form')
    expect(() => scribe.request(bob.id, 'x', 'm', { a: '\ud800' })).toThrow('lone surrogate')
  })
})

describe('answers that a caller takes', () => {
  const clock = vectorClock()
  const expected = { self: alice.id, dialled: bob.id, id: 'x', now }
  const says = { result: { a: 1 } }

  test('ALP-ENV-12 from whom was dialled, to whom dialled, for the request, in time', () => {
    const read = (bytes: Buffer) => {
      const result = readResponse(bytes, expected)
      return result.ok ? 'taken' : result.reason
    }
    const answering = new Scribe(bob, clock)
    expect(read(answering.response(alice.id, 'x', says))).toBe('taken')
    expect(read(answering.response(alice.id, 'y', says))).toBe('id')
    expect(read(answering.response(alice.id, null, says))).toBe('id')
    expect(read(answering.response(carol.id, 'x', says))).toBe('recipient')
    expect(read(new Scribe(carol, clock).response(alice.id, 'x', says))).toBe('sender')
    expect(read(new Scribe(bob, vectorClock('2026-04-23T12:04:00Z')).response(alice.id, 'x', says))).toBe('timestamp')
    expect(read(Buffer.from('{}'))).toBe('missing alp')
    const forged = (body: WireObject) => read(forgedBytes(bob, { to: alice.id, ts: NOW, body }))
    expect(forged({ id: 'x' })).toBe('neither result nor error')
    expect(forged({ jsonrpc: '1.0', id: 'x', result: {} })).toBe('jsonrpc')
    // The same answer twice: callers keep no memory of them.
    const bytes = answering.response(alice.id, 'x', says)
    expect([read(bytes), read(bytes)]).toEqual(['taken', 'taken'])
  })
})
