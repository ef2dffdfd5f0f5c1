// When the proof of a deliverable is checked (W-INT-05): at every way into an integration, once more at acceptance,
// before any gate, and after it.
import { type CheckpointId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { RunDraft } from '../run/start.ts'
import { conflictedBy, contradiction, gateOf, overlap } from '../testing/conflicts.ts'
import { type Fixture, fixture, refused, withWorker } from '../testing/fixture.ts'
import { changeObjects, deliveredOnDisk } from '../testing/profile.ts'

const secret = new Uint8Array(32).fill(42)

/** Integrations wait for a human, and nothing else does. */
const gated: Partial<RunDraft> = {
  highway: {
    preset: 'autonomous',
    gates: { task_approval: false, integration: true },
    gate_overrides: { integration: { timeout: null, fallback: 'reject' } },
  },
}

/** Somebody with access to the disk changes the deliverable. */
async function spoil(f: Fixture): Promise<void> {
  await f.restart(() => changeObjects(f, 'checkpoint', data => data.replace('"intent":"show', '"intent":"hide')))
  await f.mark()
}

async function eventsOf(f: Fixture): Promise<string[]> {
  return (await f.added()).map(entry => entry.event_type)
}

const FLAGGED = [
  'integrity_violation',
  'integration_aborted',
  'signal_emitted',
  'workspace_state_changed',
  'signal_delivered',
]

test('W-INT-05 what is changed between begin and accept is found at accept', async () => {
  const f = await deliveredOnDisk()
  unwrap(await f.root.beginIntegration(f.id('W')))
  await spoil(f)
  expect(refused(await f.root.accept(f.id('W')))).toBe('rejected(integrity_violation)')
  const added = await f.added()
  expect(added.map(entry => entry.event_type)).toEqual(FLAGGED)
  expect(added[1]).toMatchObject({ actor: 'protocol', body: { reason: 'integrity_violation' } })
  expect(await f.state('W')).toBe('failed')
  expect(unwrap(await f.root.look()).merges).toEqual([])
})

test('W-INT-05 revise and reject present nothing, so nothing is checked', async () => {
  const f = await deliveredOnDisk()
  await spoil(f)
  unwrap(await f.root.revise(f.id('W')))
  expect(await eventsOf(f)).not.toContain('integrity_violation')
  expect(await f.state('W')).toBe('failed')
})

test('W-SEC-09 an artifact of a changed checkpoint is not shown either', async () => {
  const f = await deliveredOnDisk()
  const worker = await f.workspace('W2', { directive: { format: 'markdown', content: 'work' } })
  unwrap(await worker.receive())
  const made = unwrap(await f.checkpoint('W2', { payload: { artifacts: [{ name: 'a' }] } })) as unknown as {
    readonly artifacts: readonly string[]
  }
  expect(unwrap(await f.root.readArtifact(made.artifacts[0]!)).artifact).toMatchObject({ name: 'a' })
  await spoil(f)
  expect(refused(await f.root.readArtifact(made.artifacts[0]!))).toBe('rejected(integrity_violation)')
  expect(await eventsOf(f)).toEqual(['integrity_violation'])
})

test('W-INT-05 no human is asked about a deliverable that was changed', async () => {
  const f = await deliveredOnDisk({ run: gated })
  await spoil(f)
  expect(refused(await f.root.accept(f.id('W')))).toBe('rejected(integrity_violation)')
  expect(await eventsOf(f)).toEqual(['signal_emitted', 'integration_started', ...FLAGGED])
})

test('W-INT-05 what a gate held up is merged as it was asked for', async () => {
  for (const operation of ['beginIntegration', 'accept'] as const) {
    const f = await withWorker({ secret, run: gated })
    await f.bring('W', 'integrating')
    const gate = gateOf(await f.root[operation](f.id('W')))
    unwrap(await f.runtime.user('ux').approve(f.run.id, gate))
    if (operation === 'beginIntegration') expect(refused(await f.root.accept(f.id('W')))).toBe('ok')
    expect(await f.state('W')).toBe('closed')
  }
})

/** Nothing of W was merged. */
async function expectFailed(f: Fixture): Promise<void> {
  expect(await f.state('W')).toBe('failed')
  expect(unwrap(await f.root.look()).merges.map(({ source }) => source)).not.toContain(f.id('W'))
}

test('W-INT-05 work that was changed while it waited is not merged by a gate whose fallback approves', async () => {
  const integration = { timeout: 10_000, fallback: 'approve' }
  const run = { highway: { ...(gated.highway as object), gate_overrides: { integration } } } as RunDraft
  const f = await deliveredOnDisk({ run })
  gateOf(await f.root.accept(f.id('W')))
  await spoil(f)
  await f.advance(10_000)
  await expect.poll(() => f.state('W'), { timeout: 10_000 }).toBe('failed')
  const ended = ['gate_timeout', 'gate_resolved', 'signal_emitted', 'integration_started', ...FLAGGED]
  expect(await eventsOf(f)).toEqual(ended)
  await expectFailed(f)
})

test('W-INT-05 work that was changed while it waited for another integration is not merged', async () => {
  const f = await deliveredOnDisk({ run: gated })
  const other = await f.workspace('V', { directive: { format: 'markdown', content: 'work' } })
  unwrap(await other.receive())
  unwrap(await f.checkpoint('V', { status: 'final', confidence: 'high', intent: 'another' }))
  unwrap(await other.complete())
  const ux = f.runtime.user('ux')
  const gate = gateOf(await f.root.accept(f.id('W')))
  unwrap(await ux.approve(f.run.id, gateOf(await f.root.beginIntegration(f.id('V')))))
  unwrap(await ux.approve(f.run.id, gate))
  await spoil(f)
  expect(await f.state('W')).toBe('integrating')
  unwrap(await f.root.accept(f.id('V')))
  await expect.poll(() => f.state('W'), { timeout: 10_000 }).toBe('failed')
  expect((await eventsOf(f)).slice(-7)).toEqual(['signal_emitted', 'integration_started', ...FLAGGED])
  await expectFailed(f)
})

test('W-INT-05 work that was changed is not merged by the last conflict that is settled, at a gate or not', async () => {
  for (const strategy of ['coordinator_resolve', 'escalate'] as const) {
    const f = await deliveredOnDisk()
    const [one, last] = await conflictedBy(f, 'W', [overlap, contradiction])
    await spoil(f)
    unwrap(await f.root.resolveConflict(f.id('W'), one!, 'coordinator_resolve', 'mine'))
    await f.mark()
    const answer = await f.root.resolveConflict(f.id('W'), last!, strategy, 'both')
    if (strategy === 'escalate') {
      const { result } = unwrap(await f.runtime.user('ux').approve(f.run.id, gateOf(answer)))
      expect(result && refused(result)).toBe('rejected(integrity_violation)')
    } else expect(refused(answer)).toBe('rejected(integrity_violation)')
    const found = (await eventsOf(f)).filter(type => !type.startsWith('gate'))
    expect(found).toEqual(['integrity_violation', 'conflict_resolved', ...FLAGGED.slice(1)])
    await expectFailed(f)
  }
})

test('W-INT-05 the signal `integrate` of the coordinator is the operation, proof check included', async () => {
  const f = await withWorker({ secret })
  await f.bring('W', 'integrating')
  await f.mark()
  unwrap(await f.root.emit({ type: 'integrate', ref: f.id('W') }))
  expect(await eventsOf(f)).toEqual(['signal_emitted', 'integration_started'])

  const g = await deliveredOnDisk()
  await spoil(g)
  expect(refused(await g.root.emit({ type: 'integrate', ref: g.id('W') }))).toBe('rejected(integrity_violation)')
  expect(await eventsOf(g)).toEqual(['signal_emitted', 'integration_started', ...FLAGGED])
})

test('W-INT-05 without the proof of what is stored now nothing is integrated, and nothing happens', async () => {
  const f = await withWorker({ secret })
  await f.bring('W', 'integrating')
  await f.mark()
  const caller = f.root.workspace
  const begin = { type: 'begin_integration', caller, source: f.id('W'), strategy: 'direct' } as const
  const accept = { type: 'decide_integration', caller, source: f.id('W'), decision: 'accept' } as const
  const other = { checkpoint: 'cp_other' as CheckpointId, proof: null }
  for (const command of [begin, accept, { ...begin, evidence: other }, { ...accept, evidence: other }])
    expect(refused(await f.run.submit(command))).toBe('invalid_argument(evidence_missing)')
  await f.expectAdded([])
  expect(await f.state('W')).toBe('integrating')
})

test('W-INT-05 a deliverable that is finished while its integration is asked for is taken as it is then', async () => {
  const f = await fixture({ secret })
  const worker = await f.worker('W')
  const parent = unwrap(await f.final('W', ['old.txt'])).checkpoint
  const draft = { type: 'artifact', intent: 'newer', confidence: 'high', status: 'final', parent } as const
  // The proof of the old one is on its way to be asked for when the new one is made.
  const [accepted] = await Promise.all([
    f.root.accept(worker.workspace),
    worker.checkpoint({ ...draft, payload: { files_changed: ['new.txt'] } }),
    worker.complete(),
  ])
  expect(refused(accepted)).toBe('ok')
  const { merges } = unwrap(await f.root.look())
  expect(merges[0]?.checkpoint).toBe(unwrap(await f.root.look(worker.workspace)).deliverable)
  expect(merges[0]?.checkpoint).not.toBe(parent)
})

test('W-INT-05 a delegate brings the proof of what its own children delivered', async () => {
  const f = await fixture({ secret })
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('C', {}, delegate)
  await f.bring('C', 'integrating')
  expect(refused(await delegate.accept(f.id('C')))).toBe('ok')
  expect(await f.state('C')).toBe('closed')
  const checkpoint = unwrap(await delegate.look(f.id('C'))).deliverable!
  expect(unwrap(await delegate.readCheckpoint(checkpoint)).integrity).toBeDefined()
})
