// Checkpoints: what creating one leaves behind, what is rejected, and that the chain never changes (W-CP-01 to W-CP-12).
import { type CheckpointId, isTimestamp, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

const draft = {
  type: 'artifact',
  payload: { content: 'part' },
  intent: 'show what was done',
  parent: null,
  status: 'provisional',
  confidence: 'medium',
} as const

function rejection(workspace: string, type: string | null, reason: string): Row {
  return ['checkpoint_rejected', workspace, 'protocol', { workspace, type, reason }]
}

async function registerOf(f: Fixture, name: string): Promise<readonly string[]> {
  return unwrap(await f.agent(name).look()).register.map(({ id }) => f.nameOf(id))
}

const PROOF = { proof: expect.stringMatching(/^[0-9a-f]{64}$/), algorithm: 'hmac-sha256' }

test('WP-051 a checkpoint starts the chain, tells the parent, and makes its artifacts addressable', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.mark()
  const artifacts = [{ path: 'a.txt' }, { path: 'b.txt', note: 'two' }]
  const usage = { tokens_consumed: 5, wall_time: 7, cost: 0.5 }
  const payload = { files_changed: ['a.txt', 'b.txt'], content: 'part', artifacts }
  const created = unwrap(await worker.checkpoint({ ...draft, payload, resource_usage: usage }))
  f.name(created.checkpoint, 'K1')
  expect(new Set(created.artifacts).size).toBe(2)
  for (const [index, id] of created.artifacts.entries()) f.name(id, `A${index + 1}`)
  const body = { checkpoint_id: 'K1', workspace: 'W', type: 'artifact', status: 'provisional' }
  const more = {
    confidence: 'medium',
    parent: null,
    resource_usage: usage,
    artifact_ids: ['A1', 'A2'],
    integrity: PROOF,
  }
  await f.expectAdded([
    ['checkpoint_created', 'W', 'worker', { ...body, ...more }],
    ['signal_emitted', 'W', 'protocol', { signal_id: 'sig1', from: 'W', type: 'checkpoint', ref: 'K1' }],
    ['signal_delivered', 'R', 'protocol', { signal_id: 'sig1', from: 'W', delivered_to: 'R' }],
  ])
  expect(await registerOf(f, 'W')).toEqual(['K1'])
  for (const [index, id] of created.artifacts.entries()) {
    for (const reader of [worker, f.root]) {
      expect(unwrap(await reader.readArtifact(id))).toEqual({
        checkpoint: created.checkpoint,
        artifact: { ...artifacts[index], artifact_id: id },
      })
    }
  }

  for (const extra of [{ id: 'cp_mine' }, { timestamp: '2026-03-01T09:05:00.000042Z' }]) {
    const late = { ...draft, parent: created.checkpoint, ...extra }
    expect(refused(await worker.checkpoint(late))).toBe('rejected(invalid_structure)')
    await f.expectAdded([rejection('W', 'artifact', 'invalid_structure')])
  }
  expect(await registerOf(f, 'W')).toEqual(['K1'])
})

test('WP-051 an artifact is found only by those who see its workspace (W-CP-11, W-WS-15)', async () => {
  const f = await fixture()
  await f.worker('W')
  const other = await f.worker('W2')
  const { artifacts } = unwrap(await f.checkpoint('W', { payload: { artifacts: [{ path: 'a.txt' }] } }))
  f.name(artifacts[0]!, 'A1')
  await f.mark()
  expect(refused(await other.readArtifact(artifacts[0]!))).toBe('not_found')
  const denied = { user_id: null, capability: 'access:read', action: 'read_artifact', target: 'A1' }
  await f.expectAdded([['capability_denied', 'W2', 'worker', { ...denied, reason: 'permission_denied' }]])
  expect(refused(await other.readArtifact('art_unknown'))).toBe('not_found')
  await f.expectAdded([])
})

test('WP-051 the chain is linear: each checkpoint names the head before it, and observers have one too', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.observer('O')
  for (const [name, type] of [
    ['W', 'artifact'],
    ['O', 'observation'],
  ] as const) {
    let parent: CheckpointId | null = null
    for (let number = 1; number <= 3; number++) {
      await f.mark()
      const made: { readonly checkpoint: CheckpointId } = unwrap(
        await f.agent(name).checkpoint({ ...draft, type, parent }),
      )
      const id = `${name}-K${number}`
      f.name(made.checkpoint, id)
      const body = { checkpoint_id: id, workspace: name, type, status: 'provisional', confidence: 'medium' }
      await f.expectAdded([
        [
          'checkpoint_created',
          name,
          name === 'W' ? 'worker' : 'observer',
          { ...body, parent: parent && f.nameOf(parent), integrity: PROOF },
        ],
        ['signal_emitted', name, 'protocol', expect.objectContaining({ type: 'checkpoint', ref: id })],
        ['signal_delivered', 'R', 'protocol', expect.objectContaining({ from: name, delivered_to: 'R' })],
      ])
      parent = made.checkpoint
    }
    expect(await registerOf(f, name)).toEqual([`${name}-K1`, `${name}-K2`, `${name}-K3`])
  }
})

test('WP-052 a checkpoint that fails a check is rejected on record, and the register stays as it was', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  const observer = await f.observer('O')
  const first = unwrap(await worker.checkpoint(draft)).checkpoint
  f.name(first, 'K1')
  const second = unwrap(await worker.checkpoint({ ...draft, parent: first })).checkpoint
  f.name(second, 'K2')
  await f.mark()
  const next = { ...draft, parent: second }
  const { intent: _intent, ...withoutIntent } = next
  const attempts: [agent: typeof worker, name: string, attempt: object, type: string, reason: string][] = [
    [worker, 'W', withoutIntent, 'artifact', 'invalid_structure'],
    [worker, 'W', { ...next, intent: '' }, 'artifact', 'invalid_structure'],
    [worker, 'W', { ...next, type: 'sketch' }, 'sketch', 'invalid_type'],
    [worker, 'W', { ...next, type: 'observation' }, 'observation', 'permission_denied'],
    [observer, 'O', draft, 'artifact', 'permission_denied'],
    [worker, 'W', { ...next, parent: first }, 'artifact', 'invalid_parent'],
    [worker, 'W', draft, 'artifact', 'invalid_parent'],
    [worker, 'W', { ...next, parent: 'cp_unknown' }, 'artifact', 'invalid_parent'],
    [worker, 'W', { ...next, confidence: 'sure' }, 'artifact', 'invalid_structure'],
    [worker, 'W', { ...next, status: 'done' }, 'artifact', 'invalid_structure'],
    [worker, 'W', { ...next, resource_usage: { cost: -1 } }, 'artifact', 'invalid_structure'],
    [worker, 'W', { ...next, resource_usage: { tokens_consumed: 'ten' } }, 'artifact', 'invalid_structure'],
    [
      worker,
      'W',
      { ...next, payload: { artifacts: [{ artifact_id: 'art_1' }] } },
      'artifact',
      'invalid_structure',
    ],
  ]
  for (const [agent, name, attempt, type, reason] of attempts) {
    expect(refused(await agent.checkpoint(attempt as never)), JSON.stringify(attempt)).toBe(
      `rejected(${reason})`,
    )
    await f.expectAdded([rejection(name, type, reason)])
  }
  expect(refused(await f.root.checkpoint(draft))).toBe('rejected(permission_denied)')
  await f.expectAdded([rejection('R', 'artifact', 'permission_denied')])

  unwrap(await worker.blocked('waiting'))
  await f.mark()
  expect(refused(await worker.checkpoint(next))).toBe('rejected(workspace_not_active)')
  await f.expectAdded([rejection('W', 'artifact', 'workspace_not_active')])
  expect(await registerOf(f, 'W')).toEqual(['K1', 'K2'])
  expect(await registerOf(f, 'O')).toEqual([])
})

test('WP-052 of several faults the first check decides (W-CP-04)', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  const parent = unwrap(await worker.checkpoint(draft)).checkpoint
  unwrap(await worker.blocked('waiting'))
  await f.mark()
  const broken = { ...draft, intent: '', type: 'sketch', parent: 'cp_unknown' }
  const repair = [{ intent: 'why' }, { type: 'observation' }, { type: 'artifact' }, { parent }]
  const reasons: string[] = [refused(await worker.checkpoint(broken))]
  unwrap(await worker.started())
  await f.mark()
  let attempt: object = broken
  for (const fix of [{}, ...repair]) {
    attempt = { ...attempt, ...fix }
    reasons.push(refused(await worker.checkpoint(attempt as never)))
  }
  expect(reasons).toEqual([
    'rejected(workspace_not_active)',
    'rejected(invalid_structure)',
    'rejected(invalid_type)',
    'rejected(permission_denied)',
    'rejected(invalid_parent)',
    'ok',
  ])
  const rejected = ['invalid_structure', 'invalid_type', 'permission_denied', 'invalid_parent']
  const types = ['sketch', 'sketch', 'observation', 'artifact']
  await f.expectAdded([
    ...rejected.map((reason, index) => rejection('W', types[index]!, reason)),
    ['checkpoint_created', 'W', 'worker'],
    ['signal_emitted', 'W', 'protocol'],
    ['signal_delivered', 'R', 'protocol'],
  ])
})

/** Every object inside a value. */
function* objectsIn(value: unknown): Generator<object> {
  if (typeof value !== 'object' || value === null) return
  yield value
  for (const member of Object.values(value)) yield* objectsIn(member)
}

test('WP-053 a checkpoint never changes: not by its copies, not by request, not by a fork', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  const payload = { content: 'part', artifacts: [{ path: 'a.txt', tags: ['x'] }] }
  const submitted = { ...draft, payload }
  const first = unwrap(await worker.checkpoint(submitted)).checkpoint
  payload.content = 'changed by the caller'
  payload.artifacts[0]!.tags.push('y')
  const second = unwrap(await worker.checkpoint({ ...draft, parent: first })).checkpoint
  f.name(first, 'K1')
  f.name(second, 'K2')
  await f.mark()

  const read = async () => unwrap(await worker.readCheckpoint(first))
  const before = structuredClone(await read())
  expect(before.payload).toMatchObject({ content: 'part', artifacts: [{ path: 'a.txt', tags: ['x'] }] })
  for (const copy of [await read(), unwrap(await worker.look()).register]) {
    for (const each of objectsIn(copy)) expect(Object.isFrozen(each), JSON.stringify(each)).toBe(true)
  }
  const copy = (await read()) as { status: string; payload: { content: string } }
  expect(() => {
    copy.status = 'final'
  }).toThrow(TypeError)
  expect(() => {
    copy.payload.content = 'other'
  }).toThrow(TypeError)
  expect(await read()).toEqual(before)

  for (const agent of [worker, f.root])
    expect(refused(await agent.changeCheckpoint(first))).toBe('immutable(frozen)')
  expect(refused(await worker.changeCheckpoint('cp_unknown' as CheckpointId))).toBe('not_found')
  await f.expectAdded([
    denial('W', 'worker', 'set:checkpoint', 'frozen', 'K1', 'change_checkpoint'),
    denial('R', 'system', 'set:checkpoint', 'frozen', 'K1', 'change_checkpoint'),
  ])

  expect(refused(await worker.checkpoint({ ...draft, parent: first }))).toBe('rejected(invalid_parent)')
  await f.expectAdded([rejection('W', 'artifact', 'invalid_parent')])
  expect(await registerOf(f, 'W')).toEqual(['K1', 'K2'])
  expect(await read()).toEqual(before)
  await f.restart()
  expect(unwrap(await f.agent('W').readCheckpoint(first))).toEqual(before)
})

test('WM-001 ids, timestamps and actors are the runtime’s: an agent that brings its own is rejected', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.mark()
  const own = [{ id: 'cp_mine' }, { timestamp: '2020-01-01T00:00:00.000000Z' }, { actor: 'system' }]
  for (const extra of own) {
    expect(refused(await worker.checkpoint({ ...draft, ...extra }))).toBe('rejected(invalid_structure)')
    await f.expectAdded([rejection('W', 'artifact', 'invalid_structure')])
  }
  expect(await registerOf(f, 'W')).toEqual([])

  f.clock.advance(1234)
  const now = f.clock.now()
  const { checkpoint } = unwrap(await worker.checkpoint(draft))
  const [entry, ...signals] = await f.added()
  expect(signals.map(each => each.event_type)).toEqual(['signal_emitted', 'signal_delivered'])
  const { body, integrity, ...header } = entry!
  expect(header).toEqual({
    id: expect.stringMatching(/^e_/),
    timestamp: expect.stringContaining('2026-03-01T09:05:01.234'),
    workspace: worker.workspace,
    actor: 'worker',
    event_type: 'checkpoint_created',
    prev_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    seq: signals[0]!.seq - 1,
  })
  expect(isTimestamp(header.timestamp)).toBe(true)
  expect(now).toBe(f.clock.now())
  expect(integrity).toMatchObject({ algorithm: 'sha-256', entry_hash: expect.any(String) })
  expect(body).toEqual({
    checkpoint_id: checkpoint,
    integrity: PROOF,
    workspace: worker.workspace,
    type: 'artifact',
    status: 'provisional',
    confidence: 'medium',
    parent: null,
    timestamp: header.timestamp,
  })
})
