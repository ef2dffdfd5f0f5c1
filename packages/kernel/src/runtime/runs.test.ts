// Many runs in one runtime: each on its own, finished ones out of memory but readable, and the end of the runtime
// itself.
import { type GateId, type Result, type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, fixture, refused, withWorker } from '../testing/fixture.ts'
import type { AgentHandle } from './handle/agent.ts'
import type { RunHandle } from './handle/run-handle.ts'

async function startRun(f: Fixture): Promise<RunHandle> {
  const run = unwrap(await f.runtime.start({ owner: 'ux' }))
  unwrap(await run.coordinator.started())
  return run
}

test('many runs are at work in one process, each with its own trail and none touched by another', async () => {
  const f = await fixture()
  const runs = await Promise.all(Array.from({ length: 24 }, () => startRun(f)))
  expect(new Set(f.runtime.active)).toEqual(new Set([f.run.id, ...runs.map(({ id }) => id)]))
  await f.mark()
  await Promise.all(
    runs.map(async (run, index) => {
      for (let count = 0; count <= index % 4; count++) {
        unwrap(await run.coordinator.createWorkspace({ role: 'worker', context: { index } }))
      }
    }),
  )
  await f.expectAdded([])
  for (const [index, run] of runs.entries()) {
    const entries = await run.entries()
    expect(entries[0]).toMatchObject({ event_type: 'workspace_created', actor: 'protocol', seq: 1 })
    const created = entries.filter(each => each.event_type === 'workspace_created')
    expect(created).toHaveLength(2 + (index % 4))
    const known = new Set(created.map(each => each.workspace))
    for (const entry of entries) expect(known.has(entry.workspace)).toBe(true)
    expect(await run.read(state => state.workspaces.size)).toBe(created.length)
    expect((await f.trail.run(run.id).verify()).findings).toEqual([])
  }
})

test('a run whose root closed leaves memory, stays readable and takes no more commands', async () => {
  const f = await fixture()
  const worker = await f.worker('W', { context: { topic: 'parsing' } })
  const { checkpoint } = unwrap(await f.checkpoint('W'))
  unwrap(await worker.writeMemory('note', [1, 2]))
  unwrap(await f.root.abort(f.id('W')))
  expect(f.runtime.active).toEqual([f.run.id])
  await f.mark()
  expect(refused(await f.run.close())).toBe('ok')
  const change = { workspace_id: 'R', trigger: 'run_complete', initiator: 'protocol' }
  await f.expectAdded([
    ['workspace_state_changed', 'R', 'protocol', { ...change, from_state: 'active', to_state: 'integrating' }],
    ['workspace_state_changed', 'R', 'protocol', { ...change, from_state: 'integrating', to_state: 'closed' }],
  ])
  expect(f.runtime.active).toEqual([])
  const entries = await f.run.entries()

  for (const again of [f.run, unwrap(await f.runtime.open(f.run.id))]) {
    const agent = unwrap(await again.worker(worker.workspace)) as AgentHandle
    const root = again.coordinator as AgentHandle
    expect(unwrap(await root.look(worker.workspace)).status).toBe('failed')
    expect(unwrap(await agent.readCheckpoint(checkpoint)).intent).toBe('show what was done')
    expect(unwrap(await agent.readMemory('note'))).toEqual([1, 2])
    expect(unwrap(await agent.readContext())).toEqual({ topic: 'parsing' })
    expect(unwrap(await root.query({})).entries).toEqual(entries)
    expect(unwrap(await root.query({ workspace: worker.workspace })).entries.at(-1)).toMatchObject({
      event_type: 'workspace_state_changed',
    })
    const commands = [
      agent.complete(),
      agent.consume(),
      agent.send(f.mail('R', 'query')),
      agent.writeMemory('note', 3),
      agent.checkpoint({ type: 'artifact' } as never),
      root.createWorkspace({ role: 'worker' }),
      root.abort(worker.workspace),
      root.emit({ type: 'failed', reason: 'x' }),
      root.submitGraph([{ name: 'a', description: '' }]),
      again.close(),
      again.stop(),
    ]
    for (const answer of await Promise.all(commands)) expect(refused(answer)).toBe('invalid_state')
  }
  expect(await f.run.entries()).toEqual(entries)
  expect(f.runtime.active).toEqual([])
  await f.restart()
  expect(f.runtime.active).toEqual([])
  expect(await f.run.entries()).toEqual(entries)
})

test('commands that wait behind the end of a run answer invalid_state, together with it or a moment later', async () => {
  const f = await fixture()
  await f.mark()
  const closing = f.run.close()
  const together = f.root.createWorkspace({ role: 'worker' })
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  const later = [f.root.createWorkspace({ role: 'worker' }), f.run.close(), f.run.stop()]
  expect(refused(await closing)).toBe('ok')
  expect(refused(await together)).toBe('invalid_state')
  expect((await Promise.all(later)).map(refused)).toEqual(later.map(() => 'invalid_state'))
  expect((await f.added()).map(entry => entry.event_type)).toEqual([
    'workspace_state_changed',
    'workspace_state_changed',
  ])
})

test('a read that meets the end of its run is answered, and a denial is on record in the house (W-WS-08)', async () => {
  const f = await fixture()
  const one = await f.worker('W1')
  const other = await f.worker('W2')
  await f.bring('W1', 'failed')
  await f.bring('W2', 'failed')
  const house = unwrap(await f.runtime.open(f.runtime.house.run))
  await f.mark()
  const before = (await house.entries()).length
  const closing = f.run.close()
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  const reads = [one.look(), f.root.look(f.id('W2')), one.look(f.id('W2')), other.query({ workspace: f.id('W1') })]
  expect(refused(await closing)).toBe('ok')
  expect((await Promise.all(reads)).map(refused)).toEqual(['ok', 'ok', 'not_found', 'ok'])
  await f.expectAdded([
    ['workspace_state_changed', 'R', 'protocol', expect.objectContaining({ to_state: 'integrating' })],
    ['workspace_state_changed', 'R', 'protocol', expect.objectContaining({ to_state: 'closed' })],
  ])
  const denials = (await house.entries()).slice(before).map(entry => f.row(entry))
  expect(denials.map(([type, filed, actor]) => [type, filed, actor]).sort()).toEqual([
    ['capability_denied', null, 'system'],
    ['trail_access_denied', null, 'system'],
  ])
})

test('W-SEC-03 an agent that was replaced is refused after the end of its run too; the house has it on record, and nothing names an entry of the run', async () => {
  const f = await fixture()
  const old = await f.worker('W1')
  await f.bring('W1', 'blocked')
  unwrap(await f.root.migrate(f.id('W1'), 'another', 'it knows more'))
  unwrap(await f.root.abort(f.id('W1')))
  unwrap(await f.run.close())
  const house = unwrap(await f.runtime.open(f.runtime.house.run))
  const before = (await house.entries()).length
  const denied = await old.look()
  expect(denied.ok ? denied : [denied.error.code, denied.error.details]).toEqual([
    'permission_denied',
    { reason: 'invalid_credential' },
  ])
  const added = (await house.entries()).slice(before)
  expect(added.map(entry => entry.event_type)).toEqual(['authentication_failed'])
})

test('any number of finished runs can be read again, whichever was read last', async () => {
  const f = await fixture()
  const runs: RunHandle[] = []
  for (let count = 0; count < kernelLimits.cachedRuns + 4; count++) {
    const run = await startRun(f)
    unwrap(await run.close())
    runs.push(run)
  }
  expect(f.runtime.active).toEqual([f.run.id])
  for (let round = 0; round < 2; round++) {
    for (const run of runs) {
      const opened = unwrap(await f.runtime.open(run.id))
      expect(await opened.read(state => state.root?.status)).toBe('closed')
      expect(unwrap(await opened.coordinator.look()).status).toBe('closed')
      expect(refused(await opened.coordinator.started())).toBe('invalid_state')
    }
  }
  expect(f.runtime.active).toEqual([f.run.id])
})

test('what is asked of a finished run while its trail cannot be read is refused and never thrown; once it can, all is answered', async () => {
  const f = await fixture()
  const worker = await f.worker('W', { context: { topic: 'parsing' } })
  const { checkpoint } = unwrap(await f.checkpoint('W'))
  const sent = unwrap(await worker.send(f.mail('R', 'query')))
  unwrap(await worker.writeMemory('note', [1, 2]))
  unwrap(await f.root.abort(f.id('W')))
  unwrap(await f.run.close())
  const { workspace } = worker
  const questions: Record<string, () => Promise<Result<unknown>>> = {
    worker: () => f.run.worker(workspace),
    attach: () => f.run.attach(workspace, 'agent'),
    bind: () => f.run.bind(workspace, 'worker', f.root.workspace),
    remaining: () => f.run.remaining(workspace),
    gate: () => f.run.gate('gate_1' as GateId),
    settled: () => f.run.settled('gate_1' as GateId),
    proof: () => f.run.proof(1),
    look: () => f.root.look(workspace),
    readMemory: () => worker.readMemory('note'),
    readContext: () => worker.readContext(),
    readCheckpoint: () => worker.readCheckpoint(checkpoint),
    readEnvelope: () => f.root.readEnvelope(sent.envelope),
    thread: () => f.root.thread(sent.envelope),
    rights: () => worker.rights(),
    query: () => worker.query({}),
  }
  const answers = async () => {
    const found: Record<string, string> = {}
    for (const [name, ask] of Object.entries(questions)) found[name] = refused(await ask())
    return found
  }
  // It has left memory when as many others were read after it.
  for (let count = 0; count < kernelLimits.cachedRuns; count++) unwrap(await (await startRun(f)).close())
  f.disks.trail.fail('read', { times: Number.POSITIVE_INFINITY })
  expect(new Set(Object.values(await answers()))).toEqual(new Set(['index_failed']))
  f.disks.trail.mend()
  expect(await answers()).toEqual({
    ...Object.fromEntries(Object.keys(questions).map(name => [name, 'ok'])),
    attach: 'permission_denied(unknown_identity)',
    gate: 'invalid_state(gate_not_pending)',
    settled: 'not_found',
  })
})

test('of those who start a run under one name at once, one begins it, the others are refused, and it goes on', async () => {
  const f = await fixture()
  const id = 'run_twice' as RunId
  const starts = await Promise.all([
    f.runtime.start({ owner: 'ux' }, id),
    f.runtime.start({ owner: 'ux' }, id),
    f.runtime.start({ owner: 'ux' }, id),
  ])
  expect(starts.map(refused).sort()).toEqual(['invalid_state', 'invalid_state', 'ok'])
  const run = unwrap(starts.find(each => each.ok)!)
  unwrap(await run.coordinator.started())
  unwrap(await run.coordinator.createWorkspace({ role: 'worker' }))
  const created = (await run.entries()).filter(each => each.event_type === 'workspace_created')
  expect(created).toHaveLength(2)
  expect(f.runtime.active).toContain(id)
})

test('a run that does not exist is not found, and asking leaves nothing behind', async () => {
  const f = await fixture()
  const runs = await f.trail.runs()
  expect(refused(await f.runtime.open('run_unknown' as RunId))).toBe('not_found')
  expect(f.runtime.active).toEqual([f.run.id])
  expect(await f.trail.runs()).toEqual(runs)
})

test('close waits for what is on its way to disk, refuses everything after it, and can be repeated', async () => {
  const f = await withWorker()
  const worker = f.agent('W')
  const onItsWay = worker.blocked('waiting')
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  const waiting = worker.started()
  const closing = f.runtime.close()
  const after = worker.started()
  await Promise.all([closing, f.runtime.close()])
  expect(refused(await onItsWay)).toBe('ok')
  expect(refused(await waiting)).toBe('trail_unavailable')
  expect(refused(await after)).toBe('trail_unavailable')
  expect(refused(await worker.complete())).toBe('trail_unavailable')
  expect(refused(await f.runtime.start({ owner: 'ux' }))).toBe('trail_unavailable')
  const change = { workspace_id: 'W', from_state: 'active', to_state: 'blocked' }
  await f.expectAdded([
    ['signal_emitted', 'W', 'worker', { signal_id: 'sig1', from: 'W', type: 'blocked', reason: 'waiting' }],
    ['workspace_state_changed', 'W', 'protocol', { ...change, trigger: 'agent_blocked', initiator: 'worker' }],
    ['signal_delivered', 'R', 'protocol', { signal_id: 'sig1', from: 'W', delivered_to: 'R' }],
  ])
  expect(f.clock.pending).toBe(0)
})

test('a run that is being started while the runtime closes is there as a whole or not at all, and never later', async () => {
  const f = await fixture()
  const starting = f.runtime.start({ owner: 'ux' })
  await f.runtime.close()
  const runs = await f.trail.runs()
  const started = await starting
  await f.settle()
  expect(await f.trail.runs()).toEqual(runs)
  expect(refused(started)).toBe('trail_unavailable')
})

test('W-TRAIL-02 a host cannot record what is no type of entries', async () => {
  const f = await fixture()
  await f.mark()
  const entry = { event_type: 'made_up', workspace: null, actor: 'protocol', body: {} } as never
  expect(refused(await f.run.record([entry]))).toBe('invalid_argument')
  await f.expectAdded([])
})
