// Checkpoints (W-CP-01 to -12): what is rejected, that the chain never changes, and what agents report against what the
// runtime measured.
import { unwrap } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { evolve } from '../evolve.ts'
import { newRun } from '../run/run.ts'
import { type Fixture, fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
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

test('W-CP-11 an artifact is found only by those who see its workspace', async () => {
  const f = await withWorker()
  const other = await f.worker('W2')
  const { artifacts } = unwrap(await f.checkpoint('W', { payload: { artifacts: [{ path: 'a.txt' }] } }))
  f.name(artifacts[0]!, 'A1')
  await f.mark()
  expect(refused(await other.readArtifact(artifacts[0]!))).toBe('not_found')
  await f.expectAdded([denial('W2', 'worker', 'access:read', 'permission_denied', 'A1', 'read_artifact')])
  expect(refused(await other.readArtifact('art_unknown'))).toBe('not_found')
  await f.expectAdded([])
})

test('W-CP-04 a checkpoint of another shape, or behind one that does not exist, is rejected on record', async () => {
  const f = await withWorker()
  const worker = f.agent('W')
  for (const [change, reason] of [
    [{ parent: 'cp_unknown' }, 'invalid_parent'],
    [{ status: 'done' }, 'invalid_structure'],
    [{ resource_usage: { cost: -1 } }, 'invalid_structure'],
    [{ resource_usage: { tokens_consumed: 'ten' } }, 'invalid_structure'],
    [{ payload: { artifacts: [{ artifact_id: 'art_1' }] } }, 'invalid_structure'],
  ] as const) {
    expect(refused(await worker.checkpoint({ ...draft, ...change } as never))).toBe(`rejected(${reason})`)
    await f.expectAdded([rejection('W', 'artifact', reason)])
  }
  expect(unwrap(await worker.look()).register).toEqual([])
})

const used = (tokens_consumed: number, wall_time: number, cost = 0) => ({
  resource_usage: { tokens_consumed, wall_time, cost },
})

const differs = (
  checkpoint: string,
  field: EventBody<'resource_discrepancy'>['field'],
  agent_value: number,
  runtime_value: number,
): Row => [
  'resource_discrepancy',
  'W',
  'protocol',
  { checkpoint_id: checkpoint, workspace: 'W', field, agent_value, runtime_value },
]

/** W after so many milliseconds at work, which are what its meter says since its last checkpoint. */
async function atWork(f: Fixture, milliseconds: number, usage: object = {}): Promise<void> {
  await f.worker('W')
  // What it took to get here is reported.
  unwrap(await f.checkpoint('W'))
  if (Object.keys(usage).length > 0) unwrap(await f.run.meter(f.id('W'), usage))
  await f.advance(milliseconds)
  await f.mark()
}

async function rows(f: Fixture): Promise<readonly Row[]> {
  return (await f.added()).filter(entry => entry.event_type === 'resource_discrepancy').map(entry => f.row(entry))
}

test('W-CP-10 what lies within the tolerance is no discrepancy, and the tolerance is the host’s to set', async () => {
  const f = await fixture()
  await atWork(f, 10_000, { tokens: 1000, cost: 1 })
  unwrap(await f.checkpoint('W', used(1010, 9_900, 0.99)))
  expect(await rows(f)).toEqual([])

  const strict = await fixture({ resourceTolerance: 0 })
  await atWork(strict, 10_000, { tokens: 1000, cost: 1 })
  strict.name(unwrap(await strict.checkpoint('W', used(1010, 9_900, 0.99))).checkpoint, 'K')
  expect(await rows(strict)).toEqual([
    differs('K', 'tokens_consumed', 1010, 1000),
    differs('K', 'wall_time', 9_900, 9_999),
    differs('K', 'cost', 0.99, 1),
  ])
})

test('W-CP-10 amounts are those since the checkpoint before, as the workspace is shown them', async () => {
  const f = await fixture()
  await atWork(f, 2000, { tokens: 100, cost: 0.1 })
  const usage = unwrap(await f.agent('W').look()).unreported
  expect(usage).toMatchObject({ tokens_consumed: 100, cost: 0.1 })
  unwrap(await f.checkpoint('W', { resource_usage: usage }))
  unwrap(await f.run.meter(f.id('W'), { tokens: 50, cost: 0.2 }))
  await f.restart()
  expect(unwrap(await f.agent('W').look()).unreported).toMatchObject({ tokens_consumed: 50, cost: 0.2 })
  await f.mark()
  f.name(unwrap(await f.checkpoint('W', used(150, 0, 0.2))).checkpoint, 'K')
  expect(await rows(f)).toEqual([differs('K', 'tokens_consumed', 150, 50)])
})

test('W-CP-10 what the host does not measure is not contradicted', async () => {
  const f = await fixture()
  await atWork(f, 1000)
  unwrap(await f.checkpoint('W', used(500, 1000, 3)))
  expect(await rows(f)).toEqual([])
  // It measures tokens after all, those of somebody else: then nothing is zero.
  await f.worker('V')
  unwrap(await f.run.meter(f.id('V'), { tokens: 1 }))
  f.name(unwrap(await f.checkpoint('W', used(500, 0, 3))).checkpoint, 'K')
  expect(await rows(f)).toEqual([differs('K', 'tokens_consumed', 500, 0)])
})

test('W-REC-15 where a trail holds reports alone, a contradicted one counts with the runtime’s figure', async () => {
  const f = await fixture()
  await atWork(f, 1000, { tokens: 900 })
  unwrap(await f.checkpoint('W', used(500, 1000)))
  const run = newRun(f.run.id)
  for await (const record of f.trail.run(f.run.id).replay())
    if ('event_type' in record || !['usage', 'settings'].includes(record.kind)) evolve(run, record)
  expect(run.metered).toBe(false)
  expect(run.workspaces.get(f.id('W'))?.meter?.tokens).toBe(900)
})
