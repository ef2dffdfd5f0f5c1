import { expect, test } from 'vitest'
import { cut, fit, hanging, lines, oneLine, textLines, widthOf, wrap, wrapLines } from './text.ts'

test('wide characters, emoji and combining marks take the columns that a terminal gives them', () => {
  expect(widthOf('plain')).toBe(5)
  expect(widthOf('台所')).toBe(4)
  expect(widthOf('café')).toBe(4)
  expect(widthOf('cafe\u0301')).toBe(4)
  expect(widthOf('👍🏽 ok')).toBe(5)
  expect(widthOf('👩‍👩‍👧')).toBe(2)
  expect(widthOf('한국')).toBe(4)
  expect(widthOf('✓ ● …')).toBe(5)
  expect(widthOf('1️⃣ 🇩🇪')).toBe(5)
  expect(widthOf('🇩')).toBe(1)
  expect(widthOf('䷀☰')).toBe(4)
  // A vowel sign that stands beside its consonant, and a half-width voicing mark.
  expect(widthOf('கா')).toBe(2)
  expect(widthOf('ｶﾞ')).toBe(2)
  expect(widthOf('ㅤ\u200b')).toBe(0)
})

test('a text that is too long is cut with … and never becomes wider than asked', () => {
  expect(cut('Run the tests', 20)).toBe('Run the tests')
  expect(cut('Run the tests', 8)).toBe('Run the…')
  expect(cut('台所の掃除', 6)).toBe('台所…')
  expect(cut('anything', 0)).toBe('')
  for (let width = 1; width < 14; width++) expect(widthOf(cut('台a所b掃c除d', width))).toBeLessThanOrEqual(width)
})

test('fit fills or cuts to exactly the width', () => {
  expect(fit('ab', 4)).toBe('ab  ')
  expect(fit('ab', 4, 'right')).toBe('  ab')
  expect(fit('台所', 5)).toBe('台所 ')
  expect(widthOf(fit('台所の', 5))).toBe(5)
})

test('what others wrote cannot steer the terminal', () => {
  expect(oneLine('\u001b[31mred\u001b[0m\u0007 \u001b]0;title\u0007text\r\nnext')).toBe('red text next')
  expect(oneLine('a\u202Eb\u200Fc\u009b2Jd')).not.toMatch(/[\p{Control}\u202E\u200F]/u)
  expect(lines('one\u001b[2J\n\ttwo\r\nthree\u0008')).toEqual(['one', '  two', 'three'])
})

test('text is wrapped at spaces, and a word that is too long where the line ends', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
  expect(wrap('abcdefghij kl', 4)).toEqual(['abcd', 'efgh', 'ij', 'kl'])
  expect(wrap('', 10)).toEqual([''])
  expect(wrap('      at module (file.js) x', 24)).toEqual(['    at module (file.js)', '    x'])
})

test('a command to copy is on one line if it fits one, and a part of a usage line is not taken apart', () => {
  expect(wrap('It goes on. End it: `parley abort run_1`.', 24)).toEqual([
    'It goes on. End it:',
    '`parley abort run_1`.',
  ])
  expect(wrap('Full text: parley show run_1 --full', 26)).toEqual(['Full text:', 'parley show run_1 --full'])
  expect(wrap('`parley abort run_1`', 12)).toEqual(['`parley', 'abort run_1`'])
  expect(hanging('usage: ', 'parley run [--agent NAME] [--yes]', 28)).toEqual([
    'usage: parley run',
    '       [--agent NAME]',
    '       [--yes]',
  ])
})

test('a line that is printed is broken only between words and commands, whatever colours it has', () => {
  const long = `parley peers add ${'x'.repeat(40)}`
  expect(wrapLines(['short', `Send this: ${long}`, '  an indented line of text'], 24)).toEqual([
    'short',
    'Send this:',
    long,
    '  an indented line of',
    '  text',
  ])
  expect(wrapLines(['\u001b[33mone two\u001b[39m'], 7)).toEqual(['\u001b[33mone two\u001b[39m'])
})

test('lines of a text keep their indentation, the first one too', () => {
  expect(textLines('\n\n    not ok 1\n      ---\n\n')).toEqual(['    not ok 1', '      ---'])
})
