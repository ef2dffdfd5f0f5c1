import { expect, test } from 'vitest'
import { harmless, oneLine } from './plain-text.ts'

test.each([
  ['line\nbreak\r\nand\ttab', 'line break and tab'],
  ['\u001b[31mred\u001b[0m', 'red'],
  ['\u009b31mred', 'red'],
  ['\u001b]8;;https://evil.example\u0007link\u001b]8;;\u001b\\', 'link'],
  ['title\u001b]0;x', 'title'],
  ['\u001b(0\u001bc clear \u001b', 'clear'],
  ['nul\0bell\u0007', 'nul bell'],
  ['safe\u202etxt.exe\u202c', 'safe txt.exe'],
  ['\u2066iso\u2069\u200e\u061c', 'iso'],
  ['zero\u200bwidth\ufeff', 'zero width'],
  ['tag\u{e0041}ged', 'tag ged'],
  ['Zoë 漢字 👩‍👩‍👧', 'Zoë 漢字 👩‍👩‍👧'],
  ['\u2028\u2029', ''],
])('%j is %j in one line', (text, line) => {
  expect(oneLine(text)).toBe(line)
})

test('a text keeps its lines and tabs, and nothing else that a terminal obeys', () => {
  expect(harmless('a\n\tb\u001b[2J\r\u0000\u202ec')).toBe('a\n\tbc')
})

test('a million characters that could begin an escape are read once', () => {
  const began = performance.now()
  for (const piece of ['\u001b]', '\u001b[', '\u001b[1;', '\u001b'])
    expect(oneLine(piece.repeat(250_000)).length).toBeLessThan(1_000_000)
  expect(performance.now() - began).toBeLessThan(5_000)
})
