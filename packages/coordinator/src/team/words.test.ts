import { expect, test } from 'vitest'
import { didYouMean, either, listed, quote, shorten } from './words.ts'

test('the nearest candidate is offered, and none where nothing is near', () => {
  const keys = ['prompt', 'priority', 'paths', 'needs']
  for (const [said, meant] of Object.entries({ promt: 'prompt', Paths: 'paths', path: 'paths', nedes: 'needs' }))
    expect(didYouMean(said, keys)).toBe(` Did you mean '${meant}'?`)
  for (const said of ['colour', '']) expect(didYouMean(said, keys)).toBe('')
  expect(didYouMean('x', [])).toBe('')
})

test('long words are cut between characters', () => {
  expect(shorten('abcdef', 6)).toBe('abcdef')
  expect(shorten('abcdefg', 6)).toBe('abcde…')
  expect(shorten('abcd😀fg', 6)).toBe('abcd…')
  expect(quote('x'.repeat(100))).toHaveLength(62)
})

test('what cannot be seen is shown as something that can', () => {
  expect(quote('a\u001b[2J\u202eb\nc\ud800')).toBe("'a\ufffd[2J\ufffdb\ufffdc\ufffd'")
})

test('words are listed as one says them, the middle of many left out', () => {
  expect(either(['a'])).toBe('a')
  expect(either(['a', 'b', 'c'])).toBe('a, b or c')
  expect(listed(['a', 'b'], ' → ')).toBe('a → b')
  expect(listed([...'abcdefghijklmnop'])).toBe('a, b, c, d, e, f, g, h, …, p')
})
