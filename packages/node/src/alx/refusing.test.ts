// What ALX refuses on a node: who is nobody, pages of others, commands that arrive as knowledge, what is another's.

import { rmSync } from 'node:fs'
import { isBaseEnvelope, ROUTES } from '@alx/protocol'
import { buildSignedProtocolRequestDomain } from '@alx/protocol/core'
import { signedRequestHeader } from '@parley/alx'
import { type Clock, SystemClock, type Ticks, ticksPerSecond } from '@parley/core'
import { expect, test } from 'vitest'
import { ASKED, alxNode, approvalOf, INTENT } from '../testing/alx.ts'
import { ground } from '../testing/ground.ts'

const procedure = (steps: readonly object[], team = 'two') => ({
  envelope: {
    type: 'procedure',
    domain: 'engineering',
    sources: [],
    tier: 'open' as const,
    payload: { type: 'procedure', intent: { verb: 'deploy', target: 'api' }, team, steps },
  },
})

test('what the surface refuses before ALX sees it is an envelope of ALX, with the correlation id', async () => {
  const alx = await alxNode()
  const token = await alx.token()
  const headers = { 'x-correlation-id': 'mine-1' }
  const body = { intent: INTENT }
  const cases = [
    [421, 'INVALID_REQUEST', { token, headers: { ...headers, host: 'evil.example' } }],
    [403, 'UNAUTHORIZED', { token, headers: { ...headers, origin: 'https://evil.example' } }],
    [401, 'AUTH_REQUIRED', { headers }],
    [401, 'UNAUTHORIZED', { token: 'parley_nobody', headers }],
    [403, 'UNAUTHORIZED', { token: await alx.token('ann', ['read']), headers }],
  ] as const
  for (const [status, code, sent] of cases) {
    const answer = await alx.request('/alx/v1/solve', { ...sent, body })
    expect(answer, code).toMatchObject({ status, body: { ok: false, success: false, error: { code } } })
    expect(isBaseEnvelope(answer.body)).toBe(true)
    expect(answer.body.correlationId).toBe('mine-1')
    expect(answer.headers).toMatchObject({ 'x-correlation-id': 'mine-1', 'x-alx-protocol-version': '1.1' })
  }
  // The router refuses it before any hook has run.
  const odd = await alx.request('/alx/v1/runs/%zz', { token, headers })
  expect(odd).toMatchObject({ status: 400, body: { ok: false, correlationId: 'mine-1' } })
  expect(odd.headers).toMatchObject({
    'x-correlation-id': 'mine-1',
    'x-alx-protocol-version': '1.1',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  expect((await alx.client.call('runs', 'list', {})).runs).toEqual([])
})

test('ALX-T01 every route that is mounted answers with envelopes, and only the version needs no token', async () => {
  const alx = await alxNode()
  const open = await alx.request('/alx/v1/protocol')
  expect(open).toMatchObject({ status: 200, body: { ok: true, protocol: { protocol_version: '1.1' } } })
  for (const { method, path } of Object.values(ROUTES)) {
    if (path === '/v1/protocol') continue
    const url = `/alx${path.replaceAll(/\{\w+\}/g, 'x')}`
    const answer = await alx.request(url, { method, ...(method === 'POST' && { body: {} }) })
    expect(answer, path).toMatchObject({ status: 401, body: { ok: false, error: { code: 'AUTH_REQUIRED' } } })
    expect(isBaseEnvelope(answer.body), path).toBe(true)
  }
  const unknown = await alx.request('/alx/v1/nothing')
  expect(unknown).toMatchObject({ status: 404, body: { ok: false, error: { code: 'NOT_FOUND' } } })
})

test('a procedure that carries a command, or that nobody trusts, is never executed', async () => {
  const alx = await alxNode()
  const ann = await alx.as('ann')
  const step = { task: 'one', title: 'The first' }
  const armed = [
    procedure([{ ...step, command: ['sh', '-c', 'touch /tmp/parley-owned'] }]),
    procedure([{ ...step, agent: 'sh -c "touch /tmp/parley-owned"' }]),
    procedure([{ task: 'mine', title: 'Mine', command: ['true'] }]),
  ]
  for (const each of armed) {
    const { kbHash } = await ann.registerKb(each)
    // Not even trust makes it one that can be carried out.
    await alx.client.call('knowledge', 'trust', { block: kbHash })
  }
  const untrusted = await ann.registerKb(procedure([{ ...step, prompt: 'Do something else.' }]))
  const solved = await ann.solve({ intent: INTENT })
  expect(solved).toMatchObject({ artifact: { origin: 'generated' }, steps: [{ stepId: 'one' }, { stepId: 'two' }] })
  expect(solved.artifact!.kbHash).not.toBe(untrusted.kbHash)
  await alx.client.call('knowledge', 'trust', { block: untrusted.kbHash })
  const trusted = await ann.solve({ intent: INTENT })
  expect(trusted).toMatchObject({ artifact: { kbHash: untrusted.kbHash }, steps: [{ stepId: 'one' }] })
})

test('what was made for one user is not there for another one', async () => {
  const alx = await alxNode()
  const [ann, bob] = [await alx.as('ann'), await alx.as('bob')]
  const solved = await ann.solve({ intent: INTENT })
  const [run, session] = [solved.executionId!, solved.execution!.sessionId!]
  const code = (work: Promise<unknown>) => work.then(() => 'answered').catch(thrown => thrown.code)
  expect(await code(bob.getRun(run))).toBe('RUN_NOT_FOUND')
  expect(await code(bob.getRunEvents(run))).toBe('RUN_NOT_FOUND')
  expect(await code(bob.getSession(session))).toBe('SESSION_NOT_FOUND')
  expect(await code(bob.solve({ intent: INTENT, options: { sessionId: session } }))).toBe('SESSION_NOT_FOUND')
  expect(await code(bob.getKb(solved.artifact!.kbHash))).toBe('KB_NOT_FOUND')
  expect(await code(bob.solve({ intent: INTENT, meta: { userId: 'ann' } }))).toBe('UNAUTHORIZED')
  await ann.registerKb({ ...procedure([]), queryFee: '0' }).catch(() => undefined)
  await ann.settle({ queryId: 'q-1', kbHash: solved.artifact!.kbHash, amount: '0' })
  expect(await code(bob.getSettlement('q-1'))).toBe('SETTLEMENT_NOT_FOUND')
  expect((await alx.client.call('runs', 'list', {})).runs).toHaveLength(1)
})

test('who is suspended solves nothing more, and an answer without the right is on record as denied', async () => {
  const alx = await alxNode({ team: ASKED })
  const token = await alx.token('ann', ['solve', 'read', 'approve'])
  const ann = alx.sdk(token)
  const waiting = await ann.solve({ intent: INTENT })
  const run = waiting.executionId!
  const approvalId = await approvalOf(ann, run)
  await expect(ann.decideApproval(run, { approvalId, decision: 'approve' })).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
  })
  const { entries } = await alx.client.call('trail', 'query', { run, limit: 200 })
  const denied = entries.filter(({ event_type }) => event_type.includes('denied'))
  expect(denied.length).toBeGreaterThan(0)
  await alx.client.call('users', 'change', { user: 'ann', act: 'suspend' })
  expect(await alx.request('/alx/v1/solve', { token, body: { intent: INTENT } })).toMatchObject({
    status: 401,
    body: { error: { code: 'UNAUTHORIZED' } },
  })
})

test('a domain whose team has no folder to work in says so at the start, and is refused as not available', async () => {
  const alx = await alxNode({ more: '    office: { team: team.yaml }\n' })
  const problem = /domain office: The run needs a project: first works in a folder/
  expect(alx.log.lines).toContainEqual({ level: 'error', message: expect.stringMatching(problem) })
  const token = await alx.token()
  const body = { intent: { ...INTENT, domain: 'office' } }
  expect(await alx.request('/alx/v1/solve', { token, body })).toMatchObject({
    status: 503,
    body: { ok: false, error: { code: 'UPSTREAM_UNAVAILABLE' } },
  })
  // A project that went away is no defect of the server either.
  rmSync(alx.project, { recursive: true })
  expect(await alx.request('/alx/v1/solve', { token, body: { intent: INTENT } })).toMatchObject({
    status: 503,
    body: { ok: false, error: { code: 'UPSTREAM_UNAVAILABLE' } },
  })
  expect((await alx.client.call('runs', 'list', {})).runs).toEqual([])
})

// Signed with ethers 6 and the private key 0x1111…: see the tests of @alx/protocol/core.
const EXPIRY = 1_767_225_600
const K1 = {
  type: 'practice',
  domain: 'ops.backup',
  sources: [],
  tier: 'open',
  payload: { type: 'practice', rationale: 'Test restores monthly.', contexts: ['database'], failureModes: [] },
  artifactHash: '0xbd1922d9f731d2041b419d4cf1f993b5ebc40399965178d348a5c9363f20722e',
} as const
const CONTRACT = '0x000000000000000000000000000000000000dEaD'
const SIGNED = signedRequestHeader(
  {
    kbId: '0x25cde9b360a9ac2c66038ab2bf6a311b2fe6da4d277d004b94f5ded4d371b0bc',
    query: 'How often? caf\u00e9 \u{1f600}',
    agent: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
    nonce: 2n ** 200n + 7n,
    expiry: EXPIRY,
    chainId: '8453',
  },
  '0xab019d58cef35424b11a377ab98eae1656ef090bc5da618122bc13c8431e5964' +
    '488f090a150904b0e71fe24a3f306a61b123938c07f6d679a4ee8cb059bb78db1b',
  buildSignedProtocolRequestDomain({ chainId: '8453', verifyingContract: CONTRACT }),
)

/** The machine's, as if it were some minutes before the signature expires. */
function clockBefore(seconds: number): Clock {
  const machine = new SystemClock()
  const shift = (seconds - 600) * ticksPerSecond - machine.now()
  return {
    now: () => (machine.now() + shift) as Ticks,
    after: (milliseconds, run, options) => machine.after(milliseconds, run, options),
  }
}

test('a signed request is good once, also after the node was started again', async () => {
  const place = ground()
  const options = { place, clock: clockBefore(EXPIRY), more: `  chain_id: 8453\n  verifying_contract: "${CONTRACT}"\n` }
  const first = await alxNode(options)
  const token = await first.token()
  const { kbHash } = await first.sdk(token).registerKb({ envelope: { ...K1, sources: [] } })
  const headers = { 'x-alx-signed-request': SIGNED }
  const path = `/alx/v1/kb/${kbHash}`
  const protocol = await first.request('/alx/v1/protocol')
  expect(protocol.body).toMatchObject({ protocol: { capabilities: expect.arrayContaining(['signed-requests']) } })
  expect(await first.request(path, { token, headers })).toMatchObject({ status: 200, body: { kbHash } })
  const reused = { status: 401, body: { error: { code: 'UNAUTHORIZED', details: [{ issue: 'NONCE_REUSED' }] } } }
  expect(await first.request(path, { token, headers })).toMatchObject(reused)
  await first.node.stop('restart')
  const second = await alxNode({ ...options, clock: clockBefore(EXPIRY - 60) })
  expect(await second.request(path, { token, headers })).toMatchObject(reused)
})
