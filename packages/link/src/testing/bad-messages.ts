// Kinds of message that are dropped, for tests: everything that can be wrong with one, each made for the moment at
// which it is sent.
import type { Clock, Ticks } from '@parley/core'
import { writeTs } from '../envelope/timestamp.ts'
import { float } from '../json/value.ts'
import { wireText } from '../json/write.ts'
import { forge, forgedBytes } from './forge.ts'
import { identityOf } from './vectors.ts'

const [alice, bob, carol] = [identityOf('alice'), identityOf('bob'), identityOf('carol')]

/** The same bytes twice. */
export const replayed = Symbol('the same bytes twice')

/** A message to bob; alice is pinned there, carol is not. */
export type Bad = (at: { readonly clock: Clock }) => Buffer

/** What is right about it. */
export const sound = (ground: { readonly clock: Clock }) => ({ to: bob.id, ts: writeTs(ground.clock.now()) })
const shifted = (ground: { readonly clock: Clock }, seconds: number) =>
  writeTs((ground.clock.now() + seconds * 1_000_000) as Ticks)

export const BAD_MESSAGES: Readonly<Record<string, Bad | typeof replayed>> = {
  'no JSON': () => Buffer.from('{oops'),
  'no UTF-8': () => Buffer.from([0x7b, 0xff, 0x7d]),
  'an array': ground => Buffer.from(wireText([forge(alice, sound(ground))])),
  'a string': () => Buffer.from('"hello"'),
  'an empty object': () => Buffer.from('{}'),
  'no alp block': () => Buffer.from('{"jsonrpc":"2.0","id":"x","method":"link.ping"}'),
  'an alp block that is a list': () => Buffer.from('{"alp":[]}'),
  'no version': ground => forgedBytes(alice, { ...sound(ground), without: ['v'] }),
  'no sender': ground => forgedBytes(alice, { ...sound(ground), without: ['from'] }),
  'no recipient': ground => forgedBytes(alice, { ...sound(ground), without: ['to'] }),
  'no time': ground => forgedBytes(alice, { ...sound(ground), without: ['ts'] }),
  'no nonce': ground => forgedBytes(alice, { ...sound(ground), without: ['nonce'] }),
  'no signature': ground => forgedBytes(alice, { ...sound(ground), without: ['sig'] }),
  'version 2': ground => forgedBytes(alice, { ...sound(ground), v: 2 }),
  'version 1.0': ground => forgedBytes(alice, { ...sound(ground), v: float(1) }),
  'a time without offset': ground => forgedBytes(alice, { ...sound(ground), ts: '2026-04-23T12:01:00' }),
  'a time that is a number': ground => forgedBytes(alice, { ...sound(ground), ts: 1777032000 }),
  'an old time': ground => forgedBytes(alice, { ...sound(ground), ts: shifted(ground, -121) }),
  'a time to come': ground => forgedBytes(alice, { ...sound(ground), ts: shifted(ground, 121) }),
  'a wrong signature': ground => forgedBytes(alice, { ...sound(ground), sig: Buffer.alloc(64, 1).toString('base64') }),
  'a signature that is no base64': ground => forgedBytes(alice, { ...sound(ground), sig: '!' }),
  'the signature of another': ground => forgedBytes(carol, { ...sound(ground), from: alice.id }),
  'a sender that is no key': ground => forgedBytes(alice, { ...sound(ground), from: 'alice' }),
  'a sender with a mile of spaces': ground =>
    forgedBytes(alice, { ...sound(ground), from: `${alice.id}${' '.repeat(5000)}` }),
  'a nonce that is a number': ground => forgedBytes(alice, { ...sound(ground), nonce: 1 }),
  'an altered body': ground => Buffer.from(wireText(forge(alice, sound(ground))).replace('link.ping', 'link.pong')),
  'a lone surrogate': ground => Buffer.from(wireText(forge(alice, sound(ground))).replace('"x"', '"\\ud800"')),
  'an integer without end': ground =>
    Buffer.from(wireText(forge(alice, sound(ground))).replace('"x"', '9'.repeat(5000))),
  'nesting without end': () => Buffer.from('['.repeat(5000) + ']'.repeat(5000)),
  'another recipient': ground => forgedBytes(alice, { ...sound(ground), to: carol.id }),
  'a message of a stranger': ground => forgedBytes(carol, sound(ground)),
  'a replayed message': replayed,
}
