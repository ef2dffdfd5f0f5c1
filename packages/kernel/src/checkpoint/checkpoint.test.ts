// Checkpoints: what creating one leaves behind, what is rejected, and that the chain never changes (W-CP-01 to
// W-CP-12).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, type Row, refused } from '../testing/fixture.ts'
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
  const f = await fixture()
  await f.worker('W')
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
  const f = await fixture()
  const worker = await f.worker('W')
  await f.mark()
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
