import type { Principal } from '@parley/core'
import { expect, test } from 'vitest'
import { accessRule, PathRules, refusal } from './access.ts'
import type { AccessControl } from './operation-spec.ts'
import { codeOf, listed, principal, registryWith, spec, TestHead } from './testing/head.ts'

/** The code with which a caller's request of an operation with this block is answered; undefined for an answer. */
async function answerTo(access: AccessControl, as?: Principal): Promise<string | undefined> {
  const registry = registryWith(spec('/test/it', access), () => 'done')
  const link = await new TestHead({ registry }).join(as ? { as } : {})
  const { result } = await link.callEnvelope('/test/it')
  return result.ok ? undefined : `${result.error.code}: ${result.error.message}`
}

const DENIED = 'FORBIDDEN: access denied'
const UNKNOWN = 'FORBIDDEN: authentication required'

test.each([
  ['abc', undefined],
  ['ab', DENIED],
  ['acd', DENIED],
])('CALL-T35 all scopes of one list and one of the other are needed: %s', async (scopes, expected) => {
  const access = { requiredScopes: ['a', 'b'], requiredScopesAny: ['c', 'd'] }
  expect(await answerTo(access, principal('caller', [...scopes]))).toBe(expected)
})

test.each<[string, AccessControl]>([
  ['a scope', { requiredScopes: ['a'] }],
  ['one of some scopes', { requiredScopesAny: ['a', 'b'] }],
  ['a resource', { resourceType: 'project' }],
  ['an action on a resource', { resourceType: 'project', resourceAction: 'read' }],
])('CALL-T36 nobody without an identity gets in where %s is needed', async (_what, access) => {
  expect(await answerTo(access)).toBe(UNKNOWN)
})

test('CALL-T36 everybody gets in where nothing is asked for, or empty lists (D-11)', async () => {
  for (const access of [{}, { requiredScopes: [], requiredScopesAny: [] }])
    for (const caller of [undefined, principal('caller')]) expect(await answerTo(access, caller)).toBeUndefined()
})

test.each<[Principal['resources'], string | undefined]>([
  [{ 'project:x': ['read'] }, undefined],
  [{ project: ['read'] }, undefined],
  [{ projects: ['read'] }, DENIED],
  [{ 'project:x': ['write'] }, DENIED],
  [{ 'project:x': ['write'], 'project:y': ['read'] }, undefined],
  [{}, DENIED],
])('CALL-T37 of a resource the type must be held, with the action: %j', async (resources, expected) => {
  const access = { resourceType: 'project', resourceAction: 'read' }
  expect(await answerTo(access, principal('caller', [], resources))).toBe(expected)
})

test('CALL-ACL-03 a resource type without an action demands that the resource is held at all (D-12)', async () => {
  expect(await answerTo({ resourceType: 'project' }, principal('caller', [], { 'project:x': [] }))).toBe(undefined)
  expect(await answerTo({ resourceType: 'project' }, principal('caller', [], { other: ['read'] }))).toBe(DENIED)
})

test('CALL-ACL-03 scopes are compared as they are: no case, no wildcard, no prefix', async () => {
  for (const scope of ['Admin', '*', 'adm', 'admin:x'])
    expect(await answerTo({ requiredScopes: ['admin'] }, principal('caller', [scope])), scope).toBe(DENIED)
})

test('CALL-ACL-04 a refusal names what is missing only where that is asked for', () => {
  const rule = accessRule({ requiredScopes: ['a', 'b'] })
  expect(refusal(rule, principal('caller', ['a']))?.details).toBeUndefined()
  expect(refusal(rule, principal('caller', ['a']), true)?.details).toEqual({ missing_scopes: ['b'] })
})

test('CALL-T38 what a payload says of its sender gives no rights', async () => {
  const registry = registryWith(spec('/test/admin', { requiredScopes: ['admin'] }), () => 'done')
  registry.register(spec('/test/open'), (_input, { identity, forwardedFor, trusted }) => ({
    identity: identity?.id,
    forwardedFor,
    trusted,
  }))
  const head = new TestHead({ registry })
  const peer = await head.peer(principal('caller', ['user']))
  const claim = { id: 'root', scopes: ['admin'] }
  const lies = { identity: claim, trusted: true, metadata: { trusted: true, identity: claim } }
  peer.send('call.requested', 'r1', { name: '/test/admin', input: null, ...lies })
  expect(await peer.next()).toMatchObject({ type: 'call.error', id: 'r1', payload: { code: 'FORBIDDEN' } })
  const more = { forwarded_for: claim, internal: true, abortPolicy: 'continue-running' }
  peer.send('call.requested', 'r2', { name: '/test/admin', input: null, ...more })
  expect(await peer.next()).toMatchObject({ type: 'call.error', id: 'r2', payload: { code: 'FORBIDDEN' } })
  // CALL-ACL-05: the claim is kept for audit.
  peer.send('call.requested', 'r3', { name: '/test/open', input: null, ...lies })
  expect((await peer.next()).payload).toEqual({ identity: 'caller', forwardedFor: claim, trusted: false })
  // CALL-EVT-03: a claim that is malformed, and what nobody knows, are ignored.
  peer.send('call.requested', 'r4', { name: '/test/open', identity: 'root', forwarded_for: 5, surprise: {} })
  expect((await peer.next()).payload).toEqual({ identity: 'caller', trusted: false })
})

test('CALL-ACL-06 a token that is known replaces the identity of the link for that request; one that is not changes nothing', async () => {
  const registry = registryWith(
    spec('/test/who', { requiredScopesAny: ['user', 'admin'] }),
    (_input, { identity }) => identity?.id,
  )
  registry.register(spec('/test/admin', { requiredScopes: ['admin'] }), () => 'done')
  const identities = {
    byFingerprint: async () => undefined,
    byToken: async (token: string) => (token === 'good' ? principal('boss', ['admin']) : undefined),
  }
  const link = await new TestHead({ registry, identities }).join({ as: principal('caller', ['user']) })
  await expect(link.call('/test/admin', null, { authToken: 'good' })).resolves.toBe('done')
  await expect(link.call('/test/who', null, { authToken: 'good' })).resolves.toBe('boss')
  await expect(link.call('/test/who', null, { authToken: 'bad' })).resolves.toBe('caller')
  await expect(link.call('/test/admin', null, { authToken: 'bad' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(link.call('/test/who')).resolves.toBe('caller')
})

test('CALL-T41 a path rule and the block of the operation must both be satisfied', async () => {
  const registry = registryWith(spec('/bash/exec', { requiredScopes: ['dev'] }), () => 'done')
  const head = new TestHead({ pathRules: [{ pattern: '/*/bash/*', access: { requiredScopes: ['shell'] } }] })
  await head.worker('dev1', { registry, headIs: principal('head', ['dev']) })
  for (const [scopes, code] of [
    [['dev'], 'FORBIDDEN'],
    [['shell'], 'FORBIDDEN'],
    [['dev', 'shell'], undefined],
  ] as const) {
    const client = await head.join({ as: principal('client', scopes) })
    expect(await codeOf(client, '/dev1/bash/exec'), scopes.join()).toBe(code)
    expect((await listed(client)).includes('/dev1/bash/exec')).toBe(code === undefined)
  }
})

test.each(['/agent/chat', '/head/agent/chat', '/agent/*', '/head/*', '/*/agent/*'])(
  'CALL-ACL-08 the rule %s holds for an operation of the node under both of its names',
  async pattern => {
    const registry = registryWith(spec('/agent/chat'), () => 'done')
    const head = new TestHead({ registry, pathRules: [{ pattern, access: { requiredScopes: ['chat'] } }] })
    const stranger = await head.join({ as: principal('stranger') })
    const friend = await head.join({ as: principal('friend', ['chat']) })
    for (const path of ['/agent/chat', '/head/agent/chat']) {
      await expect(stranger.call(path)).rejects.toMatchObject({ code: 'FORBIDDEN' })
      await expect(stranger.call('/services/schema', { name: path })).rejects.toMatchObject({ code: 'FORBIDDEN' })
      await expect(friend.call(path)).resolves.toBe('done')
    }
    expect(await listed(friend)).toContain('/agent/chat')
    const told = (await head.node.env.invoke('services', 'list')).unwrap()
    expect(JSON.stringify(told)).toContain('"/agent/chat"')
  },
)

test.each([
  ['/*/fs/*', 'FORBIDDEN'],
  ['/fs/*', 'FORBIDDEN'],
  ['/*', 'FORBIDDEN'],
  ['/head/fs/*', undefined],
  ['/dev1/*', undefined],
])('CALL-T84 on a node without an alias the rule %s holds as on any node, or not', async (pattern, code) => {
  const registry = registryWith(spec('/fs/readFile'), () => 'text')
  const node = new TestHead({ registry, head: false, pathRules: [{ pattern, access: { requiredScopes: ['fs'] } }] })
  const link = await node.join({ as: principal('stranger') })
  expect(await codeOf(link, '/fs/readFile')).toBe(code)
})

test('CALL-ACL-08 a rule holds for registration too', async () => {
  const head = new TestHead({
    pathRules: [{ pattern: '/head/services/register', access: { requiredScopes: ['vetted'] } }],
  })
  const as = (scopes: readonly string[]) => head.join({ as: principal('worker', ['node:register', ...scopes]) })
  const input = { node: 'dev1', operations: [] }
  await expect((await as([])).call('/services/register', input)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect(head.node.workers).toEqual([])
  await (await as(['vetted'])).call('/services/register', input)
  expect(head.node.workers).toEqual(['dev1'])
})

test('CALL-ACL-08 rules are swapped as a whole: a bad set changes nothing, calls under way go on', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const registry = registryWith(spec('/test/slow'), async () => {
    started.resolve()
    await promise
    return 'done'
  })
  const head = new TestHead({ registry })
  const link = await head.join()
  const running = link.call('/test/slow')
  await started.promise
  head.node.setPathRules([{ pattern: '/test/*', access: { requiredScopes: ['x'] } }])
  await expect(link.call('/test/slow')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  const free = { pattern: '/free/*', access: {} }
  for (const bad of [{ pattern: 'fs*', access: {} }, { pattern: '/fs/*' } as typeof free])
    expect(() => head.node.setPathRules([free, bad])).toThrow(TypeError)
  await expect(link.call('/test/slow')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  resolve()
  await expect(running).resolves.toBe('done')
})

test('CALL-ACL-08 every rule that matches applies', () => {
  const rules = new PathRules([
    { pattern: '/dev1/*', access: { requiredScopes: ['dev'] } },
    { pattern: '/*/fs/*', access: { requiredScopes: ['fs'] } },
  ])
  const codes = (path: string) =>
    [['dev'], ['fs'], ['dev', 'fs'], []].map(scopes => rules.refusal(path, principal('c', scopes))?.code)
  expect(codes('/dev1/fs/a')).toEqual(['FORBIDDEN', 'FORBIDDEN', undefined, 'FORBIDDEN'])
  expect(codes('/dev2/fs/a')).toEqual(['FORBIDDEN', undefined, undefined, 'FORBIDDEN'])
  expect(codes('/dev2/net/a')).toEqual([undefined, undefined, undefined, undefined])
})
