// Trail queries through agents' handles (W-TRAIL-19): what an agent sees, and what its attempts leave on record.
import { unwrap } from '@parley/core'
import type { Entry, TrailQuery } from '@parley/trail'
import { expect, test } from 'vitest'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import type { AgentHandle } from './handle/agent.ts'

async function ask(agent: AgentHandle, query: TrailQuery = {}): Promise<readonly Entry[]> {
  return unwrap(await agent.query(query)).entries
}

function denied(name: string, actor: string, scope: 'local' | 'global', workspace?: string): Row {
  const named = workspace === undefined ? {} : { requested_workspace: workspace }
  const body = { requester: name, requested_scope: scope, ...named, reason: 'outside_visibility' }
  return ['trail_access_denied', name, actor, body]
}

test('W-TRAIL-19 an observer that is configured for it reads the global trail; a worker never does', async () => {
  const f = await fixture({ observersReadGlobally: true })
  const worker = await f.worker('W1')
  const observer = await f.observer('O')
  await f.mark()
  expect(await ask(observer, { scope: 'global' })).toEqual(await f.run.entries())
  await f.expectAdded([])
  expect(await ask(worker, { scope: 'global' })).toEqual([])
  await f.expectAdded([denied('W1', 'worker', 'global')])
})

test('W-TRAIL-19 a malformed query is refused and leaves no entry', async () => {
  const f = await fixture()
  const worker = await f.worker('W1')
  await f.mark()
  for (const query of [{ limit: 0 }, { nonsense: 1 }, { from: 'yesterday' }, { scope: 'local' }])
    expect(refused(await worker.query(query as never))).toBe('invalid_query')
  await f.expectAdded([])
})

test('W-TRAIL-08 a workspace that ends while its agent queries has the denial recorded under none (W-TRAIL-08)', async () => {
  const f = await fixture()
  const worker = await f.worker('W1')
  await f.worker('W2')
  await f.mark()
  const [page] = await Promise.all([
    worker.query({ workspace: f.id('W2') }),
    f.settle().then(() => undefined),
    f.root.abort(f.id('W1')),
  ])
  expect(unwrap(page).entries).toEqual([])
  const added = await f.expectAmong([
    ['workspace_state_changed', 'W1', 'system', { to_state: 'failed' }],
    ['trail_access_denied', null, 'worker', { requester: 'W1', requested_workspace: 'W2' }],
  ])
  expect(added.filter(entry => entry.event_type === 'trail_access_denied')).toHaveLength(1)

  expect(await ask(worker, { workspace: f.id('W2') })).toEqual([])
  await f.expectAdded([[denied('W1', 'worker', 'local', 'W2')[0], null, 'worker', expect.anything()]])
})
