import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineDecoder, plainText } from './lines.ts'
import { ByteTail, TextTail } from './tail.ts'

function decode(chunks: readonly Uint8Array[], most = 1000) {
  const heard: string[] = []
  const decoder = new LineDecoder(
    { line: text => void heard.push(text), progress: text => void heard.push(`~${text}`) },
    most,
  )
  for (const chunk of chunks) decoder.push(chunk)
  decoder.end()
  return heard
}

const bytes = (text: string) => new TextEncoder().encode(text)

test.each([
  ['a\nb', ['a', 'b']],
  ['a\n', ['a']],
  ['\n\n', ['', '']],
  ['a\r\nb\r\n', ['a', 'b']],
  ['1%\r2%\r3%\n', ['~1%', '~2%', '3%']],
  ['1%\r', ['1%']],
  ['1%\r\r2%', ['~1%', '2%']],
  ['\u001b[1;31mred\u001b[0m \u001b]0;title\u0007x\u001b(B', ['red x']],
  ['\u001b]8;;https://a.b\u001b\\link\u001b]8;;\u001b\\', ['link']],
  ['a\u0000b\u0007c\td', ['abc\td']],
  ['\ufeffstart', ['start']],
])('%j is the lines %j', (text, lines) => {
  expect(decode([bytes(text)])).toEqual(lines)
})

test('a line that is too long keeps its beginning', () => {
  expect(decode([bytes('abcdefgh\nij')], 3)).toEqual(['abc [… 5 more characters]', 'ij'])
  expect(decode([bytes('😀😀')], 3)).toEqual(['😀\ufffd [… 1 more characters]'])
})

test('how the bytes are cut into pieces makes no difference', () => {
  const piece = fc.constantFrom('a', 'ä', '😀', '\r', '\n', '\r\n', '\u001b[0m', 'long words', '\u0000')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.array(fc.nat(100), { maxLength: 8 }), (pieces, cuts) => {
      const all = bytes(pieces.join(''))
      const at = [0, ...cuts.map(cut => Math.min(cut, all.length)).sort((a, b) => a - b), all.length]
      const chunks = at.slice(1).map((end, index) => all.subarray(at[index], end))
      expect(decode(chunks, 12)).toEqual(decode([all], 12))
    }),
  )
})

test('any bytes are accepted, and no control character comes out', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), data => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what must not be there
      for (const line of decode([data])) expect(line).not.toMatch(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/)
    }),
  )
})

test('many unfinished escape sequences take no more than linear time', () => {
  const started = performance.now()
  expect(plainText('\u001b]'.repeat(500_000)).length).toBe(0)
  expect(performance.now() - started).toBeLessThan(5000)
})

test('the tail of a text is its end, and says how much is missing', () => {
  const tail = new TextTail(10)
  for (let index = 0; index < 30; index++) tail.add(`${index % 10}`)
  expect(tail.read()).toBe('[the first 20 characters of the output were cut]\n0123456789')
})

test('the tail of bytes begins with a whole character', () => {
  const tail = new ByteTail(5)
  tail.add(Buffer.from('äöü'))
  expect(tail.read()).toBe('öü')
  tail.add(Buffer.from('x'.repeat(100)))
  tail.add(Buffer.from('yz'))
  expect(tail.read()).toBe('xxxyz')
})
