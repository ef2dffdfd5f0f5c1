import { expect, test } from 'vitest'
import { readToken, turnToken } from './token.ts'

const secret = Buffer.alloc(32, 1)
const key = { run: 'run_1', workspace: 'ws_1', epoch: 3 }

test('a token names its turn', () => {
  expect(readToken(secret, turnToken(secret, key))).toEqual(key)
})

test.each([
  ['another secret', turnToken(Buffer.alloc(32, 2), key)],
  ['another epoch', turnToken(secret, key).replace('.3.', '.4.')],
  ['another workspace', turnToken(secret, key).replace('ws_1', 'ws_2')],
  ['cut', turnToken(secret, key).slice(0, -1)],
  ['longer', `${turnToken(secret, key)}.x`],
  ['empty', ''],
  ['garbage', 'pws....'],
])('a token with %s is refused', (_what, token) => {
  expect(readToken(secret, token)).toBeUndefined()
})
