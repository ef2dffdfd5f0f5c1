// Tokens: whose they are, when they end, what is kept of them, and what is on record.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Coordination } from '@parley/coordinator'
import { ManualClock, ok, parseTimestamp, refuse, unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { filesWith, ground, keptLog, temporaryFolder } from '../../testing/ground.ts'
import { ON, requestAt } from '../../testing/http.ts'
import { realNode } from '../../testing/real.ts'
import { httpLimits } from '../limits.ts'
import { Tokens } from './tokens.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const OWNER = { id: 'owner', kind: 'user', scopes: ['owner'] } as const
type Said = Parameters<Coordination['house']['write']>[1]

function desk(file = join(temporaryFolder(), 'http-tokens.json')) {
  const clock = new ManualClock(parseTimestamp('2026-05-01T10:20:00.000000Z')!)
  const said: { by: string; said: Said }[] = []
  const states = new Map<string, ReturnType<Coordination['users']['stateOf']>>()
  const admitted: string[] = []
  const log = keptLog()
  const open = () =>
    new Tokens({
      file,
      clock,
      log,
      owner: OWNER,
      users: {
        admit: async ({ id }) => {
          admitted.push(id)
          if (states.has(id) && states.get(id) !== 'active') return refuse('permission_denied', 'Not active.')
          states.set(id, 'active')
          return ok({ approves: false })
        },
        stateOf: user => states.get(user),
      },
      house: {
        write: async (by, what) => {
          said.push({ by, said: what })
          return ok(undefined)
        },
      },
    })
  return { file, clock, said, states, admitted, log, open, tokens: open() }
}

describe('a token', () => {
  test('is its user, narrowed to its scopes, until it expires', async () => {
    const { tokens, clock, admitted } = desk()
    const { token, secret } = unwrap(await tokens.create({ user: 'ann', lifeMs: 10 * MINUTE }, OWNER))
    expect(admitted).toEqual(['ann'])
    expect(secret).toMatch(/^parley_[a-z2-7]{12}_[\w-]{43}$/)
    expect(token).toMatchObject({ scopes: ['solve', 'read', 'kb'], state: 'active' })
    expect(tokens.principalOf(secret)).toEqual({ id: 'ann', kind: 'user', scopes: ['solve', 'read', 'kb'] })
    clock.advance(10 * MINUTE)
    expect(tokens.principalOf(secret)).toBeUndefined()
    expect(unwrap(tokens.list())[0]).toMatchObject({ state: 'expired' })
  })

  test('works as long as its user is active, and again when they are', async () => {
    const { tokens, states } = desk()
    const { secret } = unwrap(await tokens.create({ user: 'ann' }, OWNER))
    for (const state of ['suspended', 'blocked', 'deactivated'] as const) {
      states.set('ann', state)
      expect(tokens.principalOf(secret), state).toBeUndefined()
      expect(unwrap(tokens.list())[0]?.state).toBe('closed')
      expect(await tokens.create({ user: 'ann' }, OWNER)).toMatchObject({ error: { code: 'permission_denied' } })
    }
    states.set('ann', 'active')
    expect(tokens.principalOf(secret)?.id).toBe('ann')
  })

  test('that is revoked is of no use at once and after a restart, and its hash is gone', async () => {
    const { tokens, open, file } = desk()
    const { token, secret } = unwrap(await tokens.create({ user: 'ann', name: 'ci' }, OWNER))
    expect(open().principalOf(secret)?.id).toBe('ann')
    expect(unwrap(await tokens.revoke(token.id, OWNER))).toMatchObject({ state: 'revoked', name: 'ci' })
    for (const each of [tokens, open()]) expect(each.principalOf(secret)).toBeUndefined()
    expect(readFileSync(file, 'utf8')).not.toContain('hash')
    expect(await tokens.revoke(token.id, OWNER)).toMatchObject({ error: { code: 'invalid_state' } })
    expect(await tokens.revoke('none', OWNER)).toMatchObject({ error: { code: 'unknown_token' } })
  })

  test('is in the file as a hash, for its owner alone', async () => {
    const { tokens, file } = desk()
    const { secret } = unwrap(await tokens.create({ user: 'ann' }, OWNER))
    expect(readFileSync(file, 'utf8')).not.toContain(secret.split('_').slice(2).join('_'))
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  test('has its use noted to the hour, and on record once a day', async () => {
    const { tokens, clock, said, file } = desk()
    const { secret, token } = unwrap(await tokens.create({ user: 'ann' }, OWNER))
    const use = async (later: number) => {
      clock.advance(later)
      for (let times = 0; times < 3; times++) tokens.principalOf(secret)
      // Behind what was noted.
      await tokens.revoke('none', OWNER)
    }
    await use(0)
    expect(unwrap(tokens.list())[0]?.used).toBe('2026-05-01T10:00:00.000000Z')
    await use(60 * MINUTE)
    await use(DAY)
    expect(readFileSync(file, 'utf8')).toContain('2026-05-02T11:00:00.000000Z')
    const used = { by: 'owner', said: { parley: 'token', act: 'used', token: token.id, user: 'ann' } }
    expect(said.slice(1)).toEqual([used, used])
  })
})

test.each(['', 'a b', 'alp:SHA256:x', 'ct:git', 'writer#1', 'system', 'x'.repeat(65)])(
  'no token is made for %j',
  async user => {
    const { tokens, admitted } = desk()
    expect(await tokens.create({ user }, OWNER)).toMatchObject({ error: { code: 'invalid_argument' } })
    expect(admitted).toEqual([])
  },
)

test('there are only so many, and those that ended long ago make room', async () => {
  const { file, clock, open } = desk()
  const tokens = Array.from({ length: httpLimits.tokens }, (_, index) => ({
    id: `aaaaaaaaa${[676, 26, 1].map(place => 'abcdefghijklmnopqrstuvwxyz'.charAt(Math.floor(index / place) % 26)).join('')}`,
    user: 'ann',
    scopes: ['read'],
    hash: 'a'.repeat(64),
    created: '2026-04-01T00:00:00.000000Z',
    expires: '2026-05-02T00:00:00.000000Z',
  }))
  writeFileSync(file, JSON.stringify({ version: 1, tokens }))
  const full = open()
  expect(await full.create({ user: 'ann' }, OWNER)).toMatchObject({ error: { code: 'limit_reached' } })
  clock.advance(40 * DAY)
  expect(await full.create({ user: 'ann' }, OWNER)).toMatchObject({ ok: true })
})

test.each(['{', '{"version":2,"tokens":[]}', '{"version":1,"tokens":[{"id":"x"}]}'])(
  'a file that cannot be read lets nobody in and is left as it is: %s',
  async text => {
    const { file, open, log } = desk()
    writeFileSync(file, text)
    const tokens = open()
    expect(tokens.principalOf('parley_aaaaaaaaaaaa_'.padEnd(63, 'x'))).toBeUndefined()
    expect(await tokens.create({ user: 'ann' }, OWNER)).toMatchObject({ error: { code: 'tokens_unreadable' } })
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(log.lines).toHaveLength(1)
  },
)

test('with a real house: tokens are on record under the name of the owner, and a blocked user is out at once', async () => {
  const place = ground()
  const { node, client, log } = await realNode(place, {}, { config: place.config(ON) })
  const port = Number((await node.status()).http?.at?.split(':').at(-1))
  const { secret, token } = await client.call('tokens', 'create', { user: 'ann', scopes: ['operations', 'read'] })
  const status = async () => (await requestAt(port, '/v1/services/list', { token: secret, body: {} })).status
  expect(await status()).toBe(200)
  // What the record did meanwhile is measured.
  const { text } = await requestAt(port, '/metrics', { token: secret })
  expect(text).toMatch(/^parley_trail_entries_total [1-9]/m)
  expect(text).toMatch(/^parley_trail_commit_seconds_count [1-9]/m)
  const { users } = await client.call('users', 'list', {})
  expect(users.find(({ user }) => user === 'ann')?.capabilities).toEqual(['inject_directive'])
  await client.call('users', 'change', { user: 'ann', act: 'block', reason: 'left' })
  expect(await status()).toBe(401)
  await client.call('users', 'change', { user: 'ann', act: 'unblock', reason: 'back' })
  expect(await status()).toBe(200)
  await client.call('tokens', 'revoke', { id: token.id })
  expect(await status()).toBe(401)
  await node.stop('the test is over')
  expect(filesWith(place, secret.split('_').slice(2).join('_'))).toEqual([])
  for (const act of ['created', 'used', 'revoked'])
    expect(
      filesWith(place, `\\"act\\":\\"${act}\\",\\"token\\":\\"${token.id}\\"`).some(file => file.endsWith('.seg')),
      act,
    ).toBe(true)
  expect(JSON.stringify(log.lines)).not.toContain(secret)
})
