import { expect, test } from 'vitest'
import { Semaphore } from './semaphore.ts'

const never = new AbortController().signal

test('so many at once, the others in their order', async () => {
  const slots = new Semaphore(2)
  const first = (await slots.acquire(never))!
  await slots.acquire(never)
  const order: string[] = []
  const [third, fourth] = ['third', 'fourth'].map(async name => {
    const release = await slots.acquire(never)
    order.push(name)
    return release!
  })
  expect(order).toEqual([])
  first()
  first()
  const release = await third!
  expect(order).toEqual(['third'])
  release()
  await fourth
  expect(order).toEqual(['third', 'fourth'])
})

test('whoever gives up waiting takes no place', async () => {
  const slots = new Semaphore(1)
  const first = (await slots.acquire(never))!
  const impatient = new AbortController()
  const gave = slots.acquire(impatient.signal)
  impatient.abort()
  expect(await gave).toBeUndefined()
  first()
  expect(await slots.acquire(never)).toBeDefined()
  expect(await new Semaphore(1).acquire(impatient.signal)).toBeUndefined()
})
