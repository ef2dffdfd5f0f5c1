// ALX as a node serves it, from a token of `parley token create` to the files of a team: real HTTP, the real SDK,
// commands on a git project.

import { ALX_SCOPES } from '@parley/alx'
import { expect, test } from 'vitest'
import { TOKEN_SCOPES } from '../http/scopes.ts'
import { ASKED, alxNode, approvalOf, gitIn, INTENT, TWO_STEPS } from '../testing/alx.ts'
import { ground } from '../testing/ground.ts'

const kb = (rationale: string, more: object = {}) => ({
  envelope: {
    type: 'practice',
    domain: 'ops.backup',
    sources: [],
    tier: 'open' as const,
    payload: { type: 'practice', rationale, contexts: ['database'], failureModes: [] },
    ...more,
  },
})

test('the scopes that ALX asks for are scopes that a token can have', () => {
  expect(TOKEN_SCOPES).toEqual(expect.arrayContaining([...ALX_SCOPES]))
})

test('a solve in a domain with a team runs its commands, and registers plan and result for its user', async () => {
  const alx = await alxNode()
  const ann = await alx.as('ann')
  const solved = await ann.solve({ intent: INTENT, context: { ticket: 7 } })
  expect(solved).toMatchObject({
    success: true,
    confidence: 1,
    artifact: { type: 'procedure', origin: 'generated', domain: 'engineering', tier: 'restricted' },
    execution: { status: 'completed', attempt: 0 },
    steps: [
      { stepId: 'one', name: 'The first', status: 'completed' },
      { stepId: 'two', name: 'The second', status: 'completed' },
    ],
  })
  expect(solved.result).toContain('second is done')
  const { events } = await ann.getRunEvents(solved.executionId!)
  const made = events.flatMap(event => (event.type === 'artifact.created' ? [event.artifact] : []))
  expect(made.map(({ type }) => type)).toEqual(['procedure', 'synthesis'])
  const result = await ann.getKb(made[1]!.kbHash)
  expect(result).toMatchObject({ curator: 'ann', envelope: { sources: [made[0]!.kbHash] } })
  // The same run as the owner sees it.
  const view = await alx.client.call('runs', 'show', { run: solved.executionId! })
  expect(view).toMatchObject({ state: 'done', intent: 'deploy api (engineering)' })
  const { sessions } = await alx.client.call('sessions', 'list', {})
  expect(sessions).toMatchObject([{ sessionId: solved.execution!.sessionId, user: 'ann', status: 'completed' }])
  const shown = await alx.client.call('sessions', 'show', { session: sessions[0]!.sessionId })
  expect(shown).toMatchObject({ runs: [solved.executionId], session: { user: 'ann' } })
  expect(shown.timeline.map(({ type }) => type)).toEqual(['step', 'step', 'execution'])
  expect(gitIn(alx.project, 'status', '--porcelain')).toBe('')
})

test('a domain without a team answers with the block that fits, and no agent works', async () => {
  const alx = await alxNode()
  const ann = await alx.as('ann')
  const { kbHash } = await ann.registerKb(kb('Test restores of the backup monthly.'))
  const solved = await ann.solve({ intent: { verb: 'restore', target: 'backup', domain: 'ops.backup' } })
  expect(solved).toMatchObject({ success: true, artifact: { kbHash, origin: 'selected' }, steps: [] })
  expect(solved.result).toContain('Test restores of the backup monthly.')
  const nothing = await alx.request('/alx/v1/solve', {
    token: await alx.token(),
    body: { intent: { verb: 'bake', target: 'bread', domain: 'kitchen' } },
  })
  expect(nothing).toMatchObject({ status: 422, body: { ok: false, error: { code: 'NO_ARTIFACT_SELECTED' } } })
  const runs = await alx.client.call('runs', 'list', {})
  expect(runs.runs.map(({ state }) => state).toSorted()).toEqual(['done', 'failed'])
})

test('a session that was started over ALX goes on after the node was stopped and started again', async () => {
  const place = ground()
  const first = await alxNode({ place })
  const secret = await first.token()
  const one = await first.sdk(secret).solve({ intent: INTENT, options: { idempotencyKey: 'k-1' } })
  await first.node.stop('restart')
  const second = await alxNode({ place })
  const again = await second.sdk(secret).solve({ intent: INTENT, options: { idempotencyKey: 'k-1' } })
  expect(again).toMatchObject({ executionId: one.executionId, cached: true, result: one.result })
  const { sessionId } = one.execution!
  const next = await second.sdk(secret).solve({ intent: INTENT, options: { sessionId: sessionId! } })
  expect(next.execution!.sessionId).toBe(sessionId)
  expect(await second.sdk(secret).getSession(sessionId!)).toMatchObject({ summary: { runCount: 2, successCount: 2 } })
})

test('an approval is answered in the inbox, and the program that waits gets the result', async () => {
  const alx = await alxNode({ team: ASKED })
  const ann = await alx.as('ann')
  const waiting = await ann.solve({ intent: INTENT })
  expect(waiting.execution!.status).toBe('awaiting_approval')
  const { gates } = await alx.client.call('gates', 'list', {})
  const { events } = await ann.getRunEvents(waiting.executionId!)
  expect(events.at(-1)).toMatchObject({ type: 'approval.required', approval: { approvalId: gates[0]!.id } })
  await alx.client.call('gates', 'respond', { gate: gates[0]!.id, decision: 'approve' })
  await expect.poll(async () => (await ann.getRun(waiting.executionId!)).execution!.status).toBe('completed')
})

test('an approval is decided over HTTP by who has the scope and the right, and by nobody else', async () => {
  const alx = await alxNode({ team: ASKED })
  const ann = await alx.as('ann')
  const waiting = await ann.solve({ intent: INTENT })
  const run = waiting.executionId!
  const approvalId = await approvalOf(ann, run)
  const path = `/alx/v1/runs/${run}/approval`
  const body = { approvalId, decision: 'approve' }
  const without = await alx.request(path, { token: await alx.token('ann'), body })
  expect(without).toMatchObject({ status: 403, body: { error: { code: 'UNAUTHORIZED' } } })
  const other = await alx.request(path, { token: await alx.token('bob', ['approve', 'read']), body })
  expect(other).toMatchObject({ status: 404, body: { error: { code: 'RUN_NOT_FOUND' } } })
  const unable = await alx.request(path, { token: await alx.token('ann', ['approve', 'read']), body })
  expect(unable).toMatchObject({ status: 403, body: { error: { code: 'UNAUTHORIZED' } } })
  expect((await alx.client.call('gates', 'list', {})).gates).toHaveLength(1)
  await alx.client.call('users', 'change', { user: 'ann', act: 'grant', capability: 'create_workspace' })
  const decided = await alx.request(path, { token: await alx.token('ann', ['approve', 'read']), body })
  expect(decided, decided.text).toMatchObject({ status: 200, body: { execution: { status: 'completed' } } })
  expect((await alx.client.call('gates', 'list', {})).gates).toEqual([])
})

test('where answers need a passphrase, a token cannot give one', async () => {
  const alx = await alxNode({ team: ASKED })
  await alx.client.call('gates', 'passphrase', { passphrase: 'correct horse battery' })
  await alx.client.call('tokens', 'create', { user: 'ann' })
  await alx.client.call('users', 'change', { user: 'ann', act: 'grant', capability: 'create_workspace' })
  const ann = await alx.as('ann', ['solve', 'read', 'approve'])
  const waiting = await ann.solve({ intent: INTENT })
  const approvalId = await approvalOf(ann, waiting.executionId!)
  await expect(ann.decideApproval(waiting.executionId!, { approvalId, decision: 'approve' })).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
  })
})

test('the second way begins where the first has failed: a trusted procedure, then the plan of the team', async () => {
  const team = TWO_STEPS.replace('[sh, -c, "echo one > one.txt; echo first is done"]', '[sh, -c, "exit 1"]').replace(
    ', needs: [one]',
    '',
  )
  const alx = await alxNode({ team: `${team}limits: { attempts: 1 }\n` })
  const ann = await alx.as('ann')
  const payload = {
    type: 'procedure',
    intent: { verb: 'deploy', target: 'api' },
    team: 'two',
    steps: [{ task: 'one', title: 'Only the first' }],
  }
  const { kbHash } = await ann.registerKb(kb('', { type: 'procedure', domain: 'engineering', payload }))
  await alx.client.call('knowledge', 'trust', { block: kbHash })
  const failed = await ann.solve({ intent: INTENT }).catch(thrown => thrown.envelope)
  expect(failed).toMatchObject({ execution: { attempt: 1 }, artifact: { origin: 'generated' } })
  expect(failed.steps.map((step: { attempt: number; stepId: string }) => `${step.attempt} ${step.stepId}`)).toEqual([
    '0 one',
    '1 one-2',
    '1 two',
  ])
})
