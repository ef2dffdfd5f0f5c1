// What the surface refuses, over real connections: by Host and Origin, by size, rate and number, by token.
import { describe, expect, test } from 'vitest'
import { filesWith } from '../testing/ground.ts'
import { codeOf, httpNode } from '../testing/http.ts'
import { startedNode } from '../testing/started.ts'

const LIST = '/v1/services/list'

describe('Host and Origin come first', () => {
  test.each([
    ['a foreign name', 'evil.example.com'],
    ['a foreign name with our port', 'evil.example.com:PORT'],
    ['an own name with another port', '127.0.0.1:1'],
    ['a name that only looks like ours', 'localhost.evil.example:PORT'],
    ['an address of the network', '192.168.1.7:PORT'],
    ['no name', ' '],
  ])('a request for %s is refused, with a valid token too', async (_what, host) => {
    const { request, port, token } = await httpNode()
    const headers = { host: host.replace('PORT', String(port)) }
    const refused = await request(LIST, { token: await token(['operations']), body: {}, headers })
    expect({ status: refused.status, code: codeOf(refused) }).toEqual({ status: 421, code: 'host_refused' })
    expect((await request('/healthz', { headers })).status).toBe(421)
  })

  test('its own names are taken, and those of the configuration', async () => {
    const { request, port } = await httpNode({ flags: { 'http-names': 'parley.example.com other.example.com:8443' } })
    for (const host of [
      `localhost:${port}`,
      `127.0.0.1:${port}`,
      `[::1]:${port}`,
      `LOCALHOST:${port}`,
      'parley.example.com',
      'other.example.com:8443',
    ])
      expect((await request('/healthz', { headers: { host } })).status, host).toBe(200)
    expect((await request('/healthz', { headers: { host: 'other.example.com' } })).status).toBe(421)
  })

  test.each(['https://evil.example.com', 'null', 'http://localhost', 'http://localhost:1', 'https://localhost:PORT'])(
    'a page of %s is refused, and no header lets it read the answer',
    async given => {
      const { request, port } = await httpNode()
      const origin = given.replace('PORT', String(port))
      const answer = await request('/healthz', { headers: { origin } })
      expect({ status: answer.status, code: codeOf(answer) }).toEqual({ status: 403, code: 'origin_refused' })
      expect(answer.headers['access-control-allow-origin']).toBeUndefined()
      const headers = { origin, 'access-control-request-method': 'POST' }
      expect((await request(LIST, { method: 'OPTIONS', headers })).status).toBe(403)
    },
  )

  test('a page of a listed origin may send tokens, never cookies, and no other page learns of it', async () => {
    const { request, token, port } = await httpNode({ flags: { 'http-origins': 'https://app.example.com' } })
    const origin = 'https://app.example.com'
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
    const preflight = await request(LIST, { method: 'OPTIONS', headers: { origin, ...asked } })
    expect(preflight.status).toBe(204)
    expect(preflight.headers).toMatchObject({ 'access-control-allow-origin': origin })
    expect(preflight.headers['access-control-allow-headers']).toContain('authorization')
    expect(preflight.headers['access-control-allow-credentials']).toBeUndefined()
    const secret = await token(['operations'])
    const answer = await request(LIST, { token: secret, body: {}, headers: { origin } })
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': origin,
      vary: expect.stringMatching(/origin/i),
    })
    const own = { origin: `http://localhost:${port}` }
    const same = await request(LIST, { token: secret, body: {}, headers: own })
    expect(same.status).toBe(200)
    expect(same.headers['access-control-allow-credentials']).toBeUndefined()
    expect(same.headers['access-control-allow-origin']).not.toBe('*')
  })
})

describe('tokens', () => {
  test('without one, and with one that is no good, nothing is told apart but that', async () => {
    const { request, client, token } = await httpNode()
    const none = await request(LIST, { body: {} })
    expect({ status: none.status, code: codeOf(none) }).toEqual({ status: 401, code: 'auth_required' })
    const revoked = await token(['operations'])
    const blocked = await token(['operations'], 'bob')
    const { tokens } = await client.call('tokens', 'list', {})
    await client.call('tokens', 'revoke', { id: tokens.find(each => each.user === 'ann')!.id })
    await client.call('users', 'change', { user: 'bob', act: 'block', reason: 'gone' })
    const unknown = revoked.replace(/^parley_.{12}/, 'parley_aaaaaaaaaaaa')
    const guessed = `${blocked.slice(0, -1)}${blocked.endsWith('A') ? 'B' : 'A'}`
    const answers = await Promise.all(
      [revoked, blocked, unknown, guessed, 'nonsense', `${blocked}x`].map(each =>
        request(LIST, { token: each, body: {} }),
      ),
    )
    for (const { status, text, headers } of answers) {
      expect({ status, challenge: headers['www-authenticate'] }).toEqual({ status: 401, challenge: 'Bearer' })
      expect(text.replace(/req_\w+/, '')).toBe(answers[0]!.text.replace(/req_\w+/, ''))
    }
  })

  test('one of another scope is refused, and none is ever the owner', async () => {
    const { request, token } = await httpNode()
    const reader = await token(['read', 'solve', 'kb', 'settle', 'approve'])
    const refused = await request(LIST, { token: reader, body: {} })
    expect({ status: refused.status, code: codeOf(refused) }).toEqual({ status: 403, code: 'forbidden' })
    const caller = await token(['operations', 'read', 'solve', 'kb', 'settle', 'approve'])
    expect((await request(LIST, { token: caller, body: {} })).status).toBe(200)
    for (const path of ['/v1/node/status', '/v1/node/stop', '/v1/tokens/create', '/v1/workspaces/status']) {
      const answer = await request(path, { token: caller, body: path.includes('create') ? { user: 'x' } : {} })
      expect({ path, status: answer.status, code: codeOf(answer) }).toEqual({ path, status: 403, code: 'FORBIDDEN' })
    }
  })

  test('a secret is in no file, log or answer, and its use is on record without it', async () => {
    const { request, token, log, place, coordinator, client } = await httpNode()
    const secret = await token(['operations', 'read'])
    // The secret itself may have underscores.
    const [, id, ...parts] = secret.split('_')
    const rest = parts.join('_')
    for (const path of [LIST, `/v1/services/${secret}`, `/nowhere?token=${secret}`, `/${secret}`])
      await request(path, { token: secret, body: {} })
    await request('/metrics', { token: secret })
    const broken = await request(LIST, { token: secret, body: `{"${secret}` })
    expect(broken.text).not.toContain(rest)
    await expect
      .poll(() => coordinator.housed.map(({ said }) => said))
      .toMatchObject([
        { parley: 'token', act: 'created', token: id, user: 'ann' },
        { parley: 'token', act: 'used', token: id, user: 'ann' },
      ])
    expect(JSON.stringify([log.lines, coordinator.housed])).not.toContain(rest)
    expect(JSON.stringify(await client.call('tokens', 'list', {}))).not.toContain(rest)
    expect(filesWith(place, rest)).toEqual([])
  })
})

describe('bounds', () => {
  test('a body that is too large, of another type, or no JSON', async () => {
    const { request, token } = await httpNode()
    const secret = await token(['operations'])
    const large = await request(LIST, { token: secret, body: JSON.stringify('x'.repeat(1024 * 1024)) })
    expect({ status: large.status, code: codeOf(large) }).toEqual({ status: 413, code: 'too_large' })
    const form = { 'content-type': 'text/plain' }
    const other = await request(LIST, { token: secret, body: '{}', headers: form })
    expect({ status: other.status, code: codeOf(other) }).toEqual({ status: 415, code: 'unsupported_media_type' })
    for (const body of ['{', '{"a":', '{"__proto__":{"x":1}}']) {
      const bad = await request(LIST, { token: secret, body })
      expect({ status: bad.status, code: codeOf(bad) }).toEqual({ status: 400, code: 'invalid_json' })
    }
  })

  test('headers that are too large end the connection with an answer', async () => {
    const { raw, port } = await httpNode()
    const text = await raw(`GET /healthz HTTP/1.1\r\nhost: localhost:${port}\r\nx-a: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(text).toMatch(/^HTTP\/1\.1 431 /)
    expect(text).toContain('headers_too_large')
    expect(await raw('this is no HTTP\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [\s\S]*bad_request/)
  })

  test.each([
    ['its headers', 'GET /healthz HTTP/1.1\r\nhost: localhost'],
    [
      'its body',
      'POST /v1/services/list HTTP/1.1\r\nhost: localhost:PORT\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{',
    ],
  ])('a client that does not finish %s is cut off', async (_what, text) => {
    const times = { headers: 200, request: 300, look: 50 }
    const { raw, port } = await httpNode({ http: { httpBounds: { times } } })
    expect(await raw(text.replace('PORT', String(port)))).toMatch(/^(?:HTTP\/1\.1 4\d\d |$)/)
  })

  test('connections beyond the bound are closed, and the others are served', async () => {
    const { raw, request } = await httpNode({ http: { httpBounds: { limits: { connections: 2 } } } })
    const held = [raw('GET /healthz HTTP/1.1\r\n'), raw('GET /healthz HTTP/1.1\r\n')]
    await expect
      .poll(() =>
        request('/healthz').then(
          () => 'served',
          () => 'closed',
        ),
      )
      .toBe('closed')
    expect(held).toHaveLength(2)
  })

  test('an address that asks too often waits, before anybody is asked who they are, and nothing is recorded', async () => {
    const { request, coordinator } = await httpNode({ http: { httpBounds: { limits: { addressPerMinute: 3 } } } })
    const secret = 'parley_aaaaaaaaaaaa_'.padEnd(63, 'x')
    const answers = []
    for (let tries = 0; tries < 5; tries++) answers.push(await request(LIST, { token: secret, body: {} }))
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 429, 429])
    expect(codeOf(answers.at(-1)!)).toBe('rate_limited')
    expect(Number(answers.at(-1)!.headers['retry-after'])).toBeGreaterThan(0)
    expect(coordinator.housed).toEqual([])
  })

  test('a principal that asks too often waits, and another one does not', async () => {
    const { request, token } = await httpNode({ http: { httpBounds: { limits: { principalPerMinute: 2 } } } })
    const [ann, bob] = [await token(['operations'], 'ann'), await token(['operations'], 'bob')]
    const statuses = []
    for (const secret of [ann, ann, ann, bob]) statuses.push((await request(LIST, { token: secret, body: {} })).status)
    expect(statuses).toEqual([200, 200, 429, 200])
  })
})

test('the surface is off by default: nothing listens, and the status says so', async () => {
  const { node } = await startedNode()
  expect((await node.status()).http).toBeNull()
})
