import { expect, test } from 'vitest'
import { LEFT_OUT, SpokenText } from './spoken-text.ts'

const line = (text: string) => ({ type: 'text', text }) as const
const part = (text: string) => ({ type: 'text', text, part: true }) as const

test('lines and messages stand on lines of their own, parts go on where the one before ended', () => {
  const spoken = new SpokenText()
  expect(spoken.take()).toBeUndefined()
  spoken.push(line('one'))
  spoken.push(part('two '))
  spoken.push(part('three'))
  expect(spoken.take()).toBe('one\ntwo three')
  spoken.push(line('four\n'))
  spoken.push(line(''))
  expect(spoken.take()).toBe('\nfour\n')
  expect(spoken.take()).toBeUndefined()
})

test('of more than may wait the oldest is left out, and a mark says so once', () => {
  const spoken = new SpokenText(10)
  spoken.push(part('0123456789'))
  spoken.push(part('ab'))
  expect(spoken.take()).toBe(`${LEFT_OUT}23456789ab`)
  spoken.push(part('c'))
  expect(spoken.take()).toBe('c')
  // Half a character is none.
  spoken.push(part('🜁'.repeat(5)))
  spoken.push(part('x'))
  expect(spoken.take()).toBe(`${LEFT_OUT}\ufffd${'🜁'.repeat(4)}x`)
})

test('whoever waits is woken by what comes, and not twice by the same', async () => {
  const spoken = new SpokenText()
  const ready = spoken.ready()
  spoken.push(part('x'))
  await ready
  await spoken.ready()
  expect(spoken.take()).toBe('x')
  let woken = false
  void spoken.ready().then(() => {
    woken = true
  })
  await Promise.resolve()
  expect(woken).toBe(false)
})
