// Who may read what (W-TRAIL-19, 20), on a real trail: what comes back, and what is proposed for the record.
import { type UserId, unwrap, type WorkspaceId } from '@parley/core'
import { describe, expect, test } from 'vitest'
import type { Entry } from '../entry.ts'
import type { RunTrail } from '../run/run-trail.ts'
import { temporaryTrail } from '../testing/temporary.ts'
import type { TrailReader } from './access.ts'

async function team() {
  const { start } = await temporaryTrail()
  const script = await start()
  const w1 = await script.workspace({ owner: 'alice' })
  const w2 = await script.workspace({ owner: 'bob' })
  const observer = await script.workspace({ role: 'observer', visibility_set: [w1], owner: 'alice' })
  const delegate = await script.workspace({ delegate: true, owner: 'bob' })
  const child = await script.workspace({ parent: delegate, owner: 'bob' })
  await script.checkpoint(w1)
  await script.checkpoint(child)
  unwrap(await script.append(script.entry('user_created', null, 'system', { user_id: 'alice' })))
  return { script, run: script.run, root: script.root, w1, w2, observer, delegate, child }
}

const agent = (workspace: WorkspaceId, global?: boolean): TrailReader => ({
  kind: 'agent',
  workspace,
  ...(global && { global }),
})

const user = (name: string, options: { state?: 'active' | 'suspended'; any?: boolean } = {}): TrailReader => ({
  kind: 'user',
  user: name as UserId,
  state: options.state ?? 'active',
  capabilities: new Set(options.any ? ['view_trail_any'] : []),
})

async function read(run: RunTrail, query: Parameters<RunTrail['query']>[0], reader: TrailReader) {
  const { entries, denials } = unwrap(await run.query(query, reader))
  return { under: [...new Set(entries.map((entry: Entry) => entry.workspace))], denials }
}

describe('agents', () => {
  test('W-TRAIL-19 a grant adds, a delegate reads its descendants, the coordinator reads everything', async () => {
    const { script, run, root, w1, w2, delegate, child } = await team()
    expect((await read(run, {}, agent(delegate))).under).toEqual([delegate, child])
    unwrap(await script.append(script.entry('visibility_granted', w1, 'system', { workspace_id: w1, target: w2 })))
    expect(await read(run, { workspace: w2 }, agent(w1))).toEqual({ under: [w2], denials: [] })
    expect((await read(run, { scope: 'global' }, agent(root))).under).toContain(null)
  })

  test('W-TRAIL-19 the denial of a terminal workspace is system-level', async () => {
    const { script, run, w1, w2 } = await team()
    await script.state(w1, 'active', 'failed')
    const { denials } = await read(run, { workspace: w2 }, agent(w1))
    expect(denials).toMatchObject([{ workspace: null, body: { requester: w1 } }])
    unwrap(await script.append(...denials))
    expect(unwrap(await run.query({ event_type: 'trail_access_denied' })).entries).toHaveLength(1)
  })

  test('an unknown agent reads nothing', async () => {
    const { run } = await team()
    expect(await read(run, {}, agent('ws_nobody' as WorkspaceId))).toEqual({ under: [], denials: [] })
  })
})

describe('people', () => {
  test('W-TRAIL-20 someone who is not active reads nothing, whatever they hold', async () => {
    const { script, run } = await team()
    const { under, denials } = await read(run, {}, user('carol', { state: 'suspended', any: true }))
    expect(under).toEqual([])
    expect(denials).toMatchObject([
      { event_type: 'capability_denied', actor: 'carol', body: { reason: 'user_not_active' } },
    ])
    unwrap(await script.append(...denials))
    const [entry] = unwrap(await run.query({ actor: 'carol' })).entries
    expect(entry).toMatchObject({ event_type: 'capability_denied', body: { timestamp: entry!.timestamp } })
  })

  test('W-TRAIL-18 aggregates obey the same rules', async () => {
    const { run, w1, observer } = await team()
    const { rows } = unwrap(await run.aggregate({ filter: {}, group: 'workspace' }, user('alice')))
    expect(rows.map(row => row.key).toSorted()).toEqual([w1, observer].toSorted())
    const owners = unwrap(await run.aggregate({ filter: {}, group: 'owner' })).rows
    expect(owners.map(row => [row.key, row.count]).toSorted()).toEqual([
      ['alice', 3],
      ['bob', 4],
      ['operator', 1],
    ])
    const mine = unwrap(await run.aggregate({ filter: { owner: 'bob' }, group: 'owner' })).rows
    expect(mine).toMatchObject([{ key: 'bob', count: 4 }])
    const originators = unwrap(await run.aggregate({ filter: { group: 'parser' }, group: 'originator' })).rows
    expect(originators).toMatchObject([{ key: 'alice', count: 7 }])
  })
})
