import { expect, test } from 'vitest'
import { HeardText, LEFT_OUT } from './heard-text.ts'

const line = (text: string) => ({ type: 'text', text }) as const
const part = (text: string) => ({ type: 'text', text, part: true }) as const

test('lines and messages stand on lines of their own, parts go on where the one before ended', () => {
  const heard = new HeardText()
  expect(heard.take()).toBeUndefined()
  heard.push(line('one'))
  heard.push(part('two '))
  heard.push(part('three'))
  expect(heard.take()).toBe('one\ntwo three')
  heard.push(line('four\n'))
  heard.push(line(''))
  expect(heard.take()).toBe('\nfour\n')
  expect(heard.take()).toBeUndefined()
})

test('of more than may wait the oldest is left out, and a mark says so once', () => {
  const heard = new HeardText(10)
  heard.push(part('0123456789'))
  heard.push(part('ab'))
  expect(heard.take()).toBe(`${LEFT_OUT}23456789ab`)
  heard.push(part('c'))
  expect(heard.take()).toBe('c')
  // Half a character is none.
  heard.push(part('🜁'.repeat(5)))
  heard.push(part('x'))
  expect(heard.take()).toBe(`${LEFT_OUT}\ufffd${'🜁'.repeat(4)}x`)
})

test('whoever waits is woken by what comes, and not twice by the same', async () => {
  const heard = new HeardText()
  const ready = heard.ready()
  heard.push(part('x'))
  await ready
  await heard.ready()
  expect(heard.take()).toBe('x')
  let woken = false
  void heard.ready().then(() => {
    woken = true
  })
  await Promise.resolve()
  expect(woken).toBe(false)
})
