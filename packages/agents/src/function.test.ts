import { ParleyError, type TurnEvent } from '@parley/core'
import { beforeEach, expect, test } from 'vitest'
import { functionAdapter } from './function.ts'
import { Workshop } from './testing/workshop.ts'

let shop: Workshop
beforeEach(() => {
  shop = new Workshop()
})

const none = () => {}

test('what a function throws makes the turn fail: a ParleyError as it is, another as internal', async () => {
  const known = new ParleyError('no_quota', 'tomorrow')
  for (const [thrown, expected] of [
    [known, known],
    [new Error('oops'), { code: 'internal', message: "The agent's function failed: oops" }],
    ['text', { code: 'internal' }],
    [undefined, { code: 'internal' }],
  ] as const) {
    const adapter = functionAdapter('f', () => {
      throw thrown
    })
    expect(await adapter.takeTurn(shop.input(), none)).toMatchObject({
      outcome: 'failed',
      error: expected,
      usage: {},
    })
  }
})

test('a function that ignores its signal does not hold up the turn, and is no longer heard', async () => {
  const controller = new AbortController()
  let finish = none
  const adapter = functionAdapter('deaf', async (_, emit) => {
    emit({ type: 'usage', usage: { tokensIn: 3 } })
    await new Promise<void>(resolve => {
      finish = resolve
    })
    emit({ type: 'text', text: 'still here' })
    return 'too late'
  })
  const events: TurnEvent[] = []
  const turn = adapter.takeTurn(shop.input({ signal: controller.signal }), event => void events.push(event))
  controller.abort()
  expect(await turn).toMatchObject({ outcome: 'failed', error: { code: 'aborted' }, usage: { tokensIn: 3 } })
  finish()
  await new Promise(setImmediate)
  expect(events).toEqual([{ type: 'usage', usage: { tokensIn: 3 } }])
})

test('a turn does not keep listeners on a signal that outlives it', async () => {
  const controller = new AbortController()
  let listeners = 0
  const { signal } = controller
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)]
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1
    remove(...args)
  }
  await functionAdapter('f', () => 'x').takeTurn(shop.input({ signal }), none)
  expect(listeners).toBe(0)
})

test('a result of its own goes out as it is', async () => {
  const adapter = functionAdapter('f', () => ({ outcome: 'complete', text: 'ä', usage: { usd: 1 } }))
  expect(await adapter.takeTurn(shop.input(), none)).toMatchObject({
    outcome: 'complete',
    text: 'ä',
    usage: { usd: 1 },
    meter: { outputBytes: 2 },
  })
})
