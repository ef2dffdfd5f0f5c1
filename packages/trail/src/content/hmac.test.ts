// HMAC-SHA-256 against the published answers of RFC 4231 and against node:crypto.
import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { HmacKey } from './hmac.ts'

test.each([
  ['0b'.repeat(20), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
  ['4a656665', 'what do ya want for nothing?', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
])('RFC 4231, key %s', (key, text, answer) => {
  expect(new HmacKey(Buffer.from(key, 'hex')).sign(text)).toBe(answer)
})

test('any key and text come to the same as in node:crypto, also after a larger text', () => {
  const texts = ['', 'ä€😀', 'x'.repeat(5000), 'y', 'ä'.repeat(400_000), 'z']
  for (const length of [0, 1, 32, 63, 64]) {
    const key = Buffer.alloc(length, 0xa7)
    const mine = new HmacKey(key)
    for (const text of texts) expect(mine.sign(text)).toBe(createHmac('sha256', key).update(text).digest('hex'))
  }
  expect(() => new HmacKey(Buffer.alloc(65))).toThrow(RangeError)
})
