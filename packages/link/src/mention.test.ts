import { expect, test } from 'vitest'
import { mentionsIn, parseMention } from './mention.ts'
import { vectors } from './testing/vectors.ts'

const ids = (text: string) => mentionsIn(text).map(({ id }) => id)

test.each([
  ['@alice', ['alice']],
  ['@alice, hi', ['alice']],
  ['@carol- hi', ['carol']],
  ['@josé', []],
  ['x@y.z', []],
  ['(@alice)', []],
  ['hi\n@bob', ['bob']],
  ['hi\u0085@bob', ['bob']],
  ['\ufeff@bob', []],
  ['@a-é', ['a-']],
  ['@a_b-c9.', ['a_b-c9']],
  ['@a𝐛', []],
  ['@a😀', ['a']],
  ['@', []],
  ['@-', []],
  ['@@a', []],
])('ALP-MENTION-01 in %j the mentions are %j', (text, expected) => {
  expect(ids(text)).toEqual(expected)
})

test('ALP-MENTION-02 all of them are found, in order, as often as they occur', () => {
  expect(ids('@a then @b and @a again, not x@c, @A')).toEqual(['a', 'b', 'a', 'A'])
})

test.each(vectors.mention_parse)('ALP-MENTION-03 $text', ({ text, known_peers, expect: expected }) => {
  const parsed = parseMention(text, new Set(known_peers))
  expect(parsed ?? null).toEqual(expected && { peerId: expected.peer_id, prompt: expected.prompt })
})

test('ALP-MENTION-03 without a roster anybody can be meant', () => {
  expect(parseMention('ask @nobody-knows  this')).toEqual({ peerId: 'nobody-knows', prompt: 'ask this' })
  expect(parseMention('nobody at all')).toBeUndefined()
})

test('ALP-MENTION-01 a long text costs no long time', () => {
  const began = performance.now()
  expect(ids(` @${'a'.repeat(500_000)}é`)).toEqual([])
  expect(ids(' @'.repeat(200_000))).toEqual([])
  expect(performance.now() - began).toBeLessThan(2000)
})
