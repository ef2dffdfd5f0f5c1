import { expect, test } from 'vitest'
import { ConnectionLimit, type Counted, Slots } from './connection-limit.ts'

class TestGuest implements Counted {
  readonly address: string
  busy = false
  gone = false
  constructor(address: string) {
    this.address = address
  }
  destroy(): void {
    this.gone = true
  }
}

const guests = (count: number, address: string) => Array.from({ length: count }, () => new TestGuest(address))

test('when all places are taken, the address with most strangers loses its oldest', () => {
  const limit = new ConnectionLimit(5)
  const crowd = guests(4, 'a')
  const other = new TestGuest('b')
  for (const guest of [...crowd, other]) expect(limit.admit(guest)).toBe(true)
  expect(limit.admit(new TestGuest('c'))).toBe(true)
  expect(crowd.map(({ gone }) => gone)).toEqual([true, false, false, false])
  expect(other.gone).toBe(false)
})

test('a peer is never pushed out by strangers', () => {
  const limit = new ConnectionLimit(3)
  const [first, second, third] = guests(3, 'a') as [TestGuest, TestGuest, TestGuest]
  for (const guest of [first, second, third]) limit.admit(guest)
  limit.recognise(first, 'alice')
  for (let times = 0; times < 5; times++) expect(limit.admit(new TestGuest('a'))).toBe(true)
  expect([first.gone, second.gone, third.gone]).toEqual([false, true, true])
})

test('a peer that takes all places gives way to another with what is idle, but not with what is busy', () => {
  const limit = new ConnectionLimit(3)
  const own = guests(3, 'a')
  for (const guest of own) {
    limit.admit(guest)
    limit.recognise(guest, 'alice')
  }
  own[0]!.busy = true
  expect(limit.admit(new TestGuest('b'))).toBe(true)
  expect(own.map(({ gone }) => gone)).toEqual([false, true, false])
  for (const guest of own) guest.busy = true
  // The stranger that has just come is next.
  expect(limit.admit(new TestGuest('c'))).toBe(true)
})

test('who is turned away when nobody can give way changes nothing', () => {
  const limit = new ConnectionLimit(1)
  const peer = new TestGuest('a')
  limit.admit(peer)
  limit.recognise(peer, 'alice')
  peer.busy = true
  expect(limit.admit(new TestGuest('b'))).toBe(false)
  limit.leave(peer)
  limit.leave(peer)
  expect(limit.admit(new TestGuest('b'))).toBe(true)
})

/** A handshake that goes on until it is told to end. */
function work(slots: Slots, guest: TestGuest) {
  const ends = Promise.withResolvers<void>()
  const state = { begun: false, end: ends.resolve, done: Promise.resolve() }
  state.done = slots.run(guest, async () => {
    state.begun = true
    await ends.promise
  })
  return state
}

test('ALP-TCP-06 so many handshakes at once, others wait their turn', async () => {
  const slots = new Slots(2)
  const [one, two, three, four] = guests(4, 'a').map(guest => work(slots, guest)) as [Work, Work, Work, Work]
  await Promise.resolve()
  expect([one, two, three, four].map(({ begun }) => begun)).toEqual([true, true, false, false])
  expect([slots.running, slots.waiting]).toEqual([2, 2])
  one.end()
  await one.done
  await Promise.resolve()
  expect([three.begun, four.begun]).toEqual([true, false])
  for (const each of [two, three, four]) each.end()
  await Promise.all([two.done, three.done, four.done])
  expect([slots.running, slots.waiting]).toEqual([0, 0])
})

type Work = ReturnType<typeof work>

test('ALP-TCP-06 an address that holds more than half gives one up to another, which comes next', async () => {
  const slots = new Slots(4)
  const crowd = guests(4, 'a')
  const running = crowd.map(guest => work(slots, guest))
  const queued = guests(3, 'a').map(guest => work(slots, guest))
  expect(crowd.some(({ gone }) => gone)).toBe(false)
  const honest = work(slots, new TestGuest('b'))
  expect(crowd.map(({ gone }) => gone)).toEqual([true, false, false, false])
  // What was destroyed ends by itself.
  running[0]!.end()
  await running[0]!.done
  await Promise.resolve()
  expect(honest.begun).toBe(true)
  expect(queued.some(({ begun }) => begun)).toBe(false)
  for (const each of [...running, honest, ...queued]) each.end()
  await Promise.all([...running, honest, ...queued].map(({ done }) => done))
})

test('ALP-TCP-06 work that fails frees its place', async () => {
  const slots = new Slots(1)
  await expect(slots.run(new TestGuest('a'), () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(slots.running).toBe(0)
})
