// What corruption leads to (W-REC-12, -13): isolated violations are left out and recorded once; damage halts the run it
// is in.
import { machineFaultOf, ParleyError, parseTimestamp, type Ticks, unwrap } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { referenceTaxonomy } from '../taxonomy/reference.ts'
import { type Fixture, fixture, type Row, withWorker } from '../testing/fixture.ts'
import { behind, draft, proposal, rewrite } from '../testing/foreign.ts'
import { envelopeType } from '../testing/taxonomies.ts'

async function newest(f: Fixture): Promise<Ticks> {
  return parseTimestamp((await f.run.entries()).at(-1)!.timestamp) as Ticks
}

async function markerOf(f: Fixture): Promise<unknown> {
  return (await f.run.entries()).findLast(entry => entry.event_type === 'recovery_completed')?.body
}

/** Restarts with these entries behind all others, past every check. */
async function restartWith(f: Fixture, forged: readonly EntryDraft[]): Promise<void> {
  await f.settle()
  await f.restart(() => rewrite(f, records => behind(records, f.run.id, forged)))
}

function quarantined(id: string, expected: string | null, actual: string | null): Row {
  const body = { subject_type: 'trail_entry', subject_id: id, violation: 'chain_broken', expected, actual }
  return ['integrity_violation', null, 'protocol', { ...body, action_taken: 'quarantined' }]
}

test('W-REC-13 a missing entry halts the run too', async () => {
  const f = await withWorker()
  await f.settle()
  await f.reopen(() => rewrite(f, records => records.filter(record => record.kind !== 'entry' || record.seq !== 5)))
  expect(f.runtime.halted.get(f.run.id)?.code).toBe('run_halted')
})

test('W-REC-13 a house that is damaged stops the runtime: nobody would know who may do what', async () => {
  const f = await fixture()
  await f.settle()
  const house = f.runtime.house.run
  const sound = f.disks
  const opened = await f
    .reopen(() => rewrite(f, records => records.filter(({ kind, seq }) => kind !== 'entry' || seq !== 3), house))
    .then(
      () => 'opened',
      (cause: unknown) => (cause instanceof ParleyError ? cause.code : cause),
    )
  expect(opened).toBe('run_halted')
  await f.trail.close()
  f.disks = sound
  await f.open()
})

/** Removes every large object of every run. */
function loseBlobs(f: Fixture): void {
  for (const folder of f.disks.blobs.list(''))
    for (const name of f.disks.blobs.list(folder)) f.disks.blobs.remove(`${folder}/${name}`)
}

test('W-REC-13 a large object that is gone takes the entry that names it along, and the run goes on', async () => {
  const f = await withWorker()
  const content = 'x'.repeat(200_000)
  const lost = unwrap(await f.checkpoint('W', { payload: { content } })).checkpoint
  f.name(lost, 'lost')
  unwrap(await f.agent('W').writeMemory('large', content))
  unwrap(await f.agent('W').writeMemory('small', 1))
  const entries = await f.run.entries()
  const entry = entries.find(each => (each.body as { checkpoint_id?: string }).checkpoint_id === lost)!
  f.name(entry.id, 'entry')
  await f.mark()
  await f.restart(() => loseBlobs(f))
  await f.expectAdded([quarantined('entry', 'lost', null)])
  expect(await markerOf(f)).toMatchObject({ quarantined_entries: 1, workspaces_failed: 0 })
  const view = unwrap(await f.root.look(f.id('W')))
  expect([view.register, view.memory]).toEqual([[], ['small']])
  // It is on record once, and the work goes on without it.
  await f.restart()
  await f.expectAdded([])
  unwrap(await f.final('W'))
})

/** Too large for the log itself: a run that has it cannot be opened without a blob. */
const LARGE_TAXONOMY = {
  ...referenceTaxonomy,
  envelope_types: [
    ...referenceTaxonomy.envelope_types,
    ...Array.from({ length: 120 }, (_, index) => ({
      ...envelopeType(`type-${index}`, ['coordinator', 'worker']),
      description: 'x'.repeat(1000),
    })),
  ],
}

test('W-REC-12 a run that a failing disk keeps from being read is not halted, and goes on once it can be read', async () => {
  const f = await fixture({ run: { taxonomy: LARGE_TAXONOMY } })
  const other = unwrap(await f.runtime.start({ owner: 'ux', highway: 'off' }))
  await f.worker('W')
  await f.reopen(() => f.disks.blobs.fail('read', { times: Number.POSITIVE_INFINITY }))
  expect(f.runtime.halted.size).toBe(0)
  expect(f.runtime.active).toEqual([other.id, f.run.id])
  const markers = async () =>
    unwrap(await f.runtime.trail(f.run.id).query({ event_type: 'recovery_completed' })).entries.length
  const before = await markers()
  expect(await f.runtime.open(f.run.id)).toMatchObject({ error: { code: 'trail_unavailable', retryable: true } })
  expect(await f.runtime.submit(f.run.id, { type: 'sweep' } as never)).toMatchObject({
    error: { code: 'trail_unavailable' },
  })
  f.disks.blobs.mend()
  // Both wait for the same try.
  const [run] = await Promise.all([f.runtime.open(f.run.id), f.runtime.open(f.run.id)])
  const worker = unwrap(await unwrap(run).worker(f.id('W')))
  unwrap(await (worker as AgentHandle).writeMemory('after', 1))
  expect(await markers()).toBe(before + 1)
  expect((await f.runtime.trail(f.run.id).verify()).findings).toEqual([])
})

test('W-REC-12 a disk that fails at any one read while a runtime opens halts no run and replaces no house', async () => {
  const f = await fixture({ run: { taxonomy: LARGE_TAXONOMY } })
  const other = unwrap(await f.runtime.start({ owner: 'ux', highway: 'off' }))
  const house = f.runtime.house.run
  const outcomes = new Set<string>()
  for (const disk of [f.disks.trail, f.disks.blobs])
    for (let after = 0; after < 25; after++) {
      await f.runtime.close()
      await f.trail.close()
      disk.fail('read', { after })
      const refused = await f.open().catch((error: unknown) => error)
      disk.mend()
      // A node that meets this refuses to start, and starts again when the machine is sound.
      if (refused !== undefined) {
        expect(machineFaultOf(refused)).toMatchObject({ code: 'EIO' })
        expect(refused).not.toMatchObject({ code: 'run_halted' })
      } else expect(f.runtime.halted.size).toBe(0)
      outcomes.add(refused === undefined ? 'opened' : 'refused')
      if (refused === undefined) for (const run of [other.id, f.run.id]) unwrap(await f.runtime.open(run))
      else await f.open()
      expect([f.runtime.house.run, ...f.runtime.active].toSorted()).toEqual([house, other.id, f.run.id].toSorted())
    }
  expect(outcomes).toEqual(new Set(['opened', 'refused']))
})

test('W-REC-13 what no entry can be left out for halts the run that needs it, with a report that names it', async () => {
  const f = await fixture({ run: { taxonomy: LARGE_TAXONOMY } })
  const other = unwrap(await f.runtime.start({ owner: 'ux', highway: 'off' }))
  await f.reopen(() => loseBlobs(f))
  expect(f.runtime.halted.get(f.run.id)?.message).toMatch(/blob [0-9a-f]{64} is not there/)
  expect(f.runtime.active).toEqual([other.id])
})

/** `W` and `R` stand for the ids of the worker and the root. */
const ORPHANS: readonly (readonly [what: string, ...Row])[] = [
  ['a delivery of nothing', 'envelope_delivered', 'W', 'protocol', { envelope_id: 'nothing', from: 'R', to: 'W' }],
  ['a signal for nobody', 'signal_delivered', null, 'protocol', { signal_id: 'sig', from: 'W', delivered_to: 'no' }],
  [
    'an entry of a workspace that was never created',
    'workspace_state_changed',
    'nobody',
    'protocol',
    { workspace_id: 'W', from_state: 'active', to_state: 'blocked', trigger: 'agent_blocked' },
  ],
  ['a child of nobody', 'workspace_created', 'child', 'system', { workspace_id: 'child', parent: 'nobody' }],
  ['a second root', 'workspace_created', 'root', 'protocol', { workspace_id: 'root', parent: null }],
  ['a right that nobody has', 'port_right_revoked', 'W', 'system', { right_id: 'no', holder: 'W', target: 'R' }],
  ['a task that was never created', 'task_status_changed', 'R', 'protocol', { task_id: 'no', to_status: 'pending' }],
  ['an integration of nobody', 'integration_started', 'W', 'system', { source: 'no', target: 'R', mode: 'normal' }],
]

test.for(ORPHANS)('W-ID-08 W-REC-22 %s is left out, recorded, and harms nothing', async ([, ...row]) => {
  const f = await withWorker()
  await f.settle()
  const before = await f.picture()
  const named = JSON.parse(JSON.stringify(row), (_key, value) => (/^[WR]$/.test(value) ? f.id(value) : value)) as Row
  const orphan = draft(f, proposal(...named), ((await newest(f)) + 1) as Ticks)
  await restartWith(f, [orphan])
  // A workspace whose creation was left out counts as failed.
  const workspaces_failed = row[0] === 'workspace_created' ? 1 : 0
  expect(await markerOf(f)).toMatchObject({ quarantined_entries: 1, workspaces_failed })
  const violations = (await f.run.entries()).filter(entry => entry.event_type === 'integrity_violation')
  expect(violations.map(({ body }) => (body as { subject_id?: string }).subject_id)).toEqual([orphan.id])
  expect(await f.picture()).toEqual(before)
})
