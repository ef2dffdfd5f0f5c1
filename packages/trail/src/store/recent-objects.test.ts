// Objects that were just written are read back from the log, whatever the index knows by then.
import { type ObjectId, type RunId, SeededIds } from '@parley/core'
import { expect, test } from 'vitest'
import type { StoredObject } from '../entry.ts'
import type { TrailIndex } from '../index/contract.ts'
import { trailLimits } from '../limits.ts'
import { memoryDisks } from '../testing/memory/open-memory.ts'
import { SegmentStore } from './segment-store.ts'

const RUN = 'run_1' as RunId
/** What an index answers that is asked for an object. */
const ASKED = new Error('the index was asked')

/** A store whose index knows nothing and says so loudly. */
async function store(disks = memoryDisks()): Promise<SegmentStore> {
  const index = {
    opening: async () => ({ state: 'current', lostHeads: [] }),
    advance: () => undefined,
    object: async () => {
      throw ASKED
    },
    close: async () => undefined,
  } as Partial<TrailIndex> as TrailIndex
  return SegmentStore.open({
    files: disks.trail,
    blobs: disks.blobs,
    index: () => index,
    newTrail: () => '0'.repeat(32),
    firstSegmentBytes: 64 * 1024,
    segmentBytes: 64 * 1024,
  })
}

function object(id: string, data: string, run = RUN): StoredObject {
  return { kind: 'object', run, seq: 1, id: id as ObjectId, objectKind: 'note', data: JSON.stringify(data) }
}

function put(to: SegmentStore, ...objects: StoredObject[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const refused = to.append(objects, error => (error ? reject(error) : resolve()))
    if (refused) reject(refused)
  })
}

test('what was written is there at once, in any frame and segment', async () => {
  const made = await store()
  const ids = new SeededIds(3)
  const written = Array.from({ length: 300 }, (_, index) => object(ids.next('obj'), 'ä'.repeat(index * 7)))
  await Promise.all(written.map(each => put(made, each, object(ids.next('obj'), 'beside it'))))
  for (const each of written) expect(await made.object(RUN, each.id)).toEqual(each)
  await made.close()
})

test('a blob is read from its file', async () => {
  const made = await store()
  const large = object('obj_large', 'x'.repeat(100_000))
  await put(made, large)
  expect(await made.object(RUN, large.id)).toEqual({ ...large, blob: expect.any(String) })
  await made.close()
})

test('an id counts as it was first written, and in its own run', async () => {
  const made = await store()
  await put(made, object('obj_1', 'first'))
  await put(made, object('obj_1', 'second'), object('obj_1', 'another run', 'run_2' as RunId))
  expect(await made.object(RUN, 'obj_1' as ObjectId)).toMatchObject({ data: '"first"' })
  await expect(made.object('run_2' as RunId, 'obj_1' as ObjectId)).rejects.toBe(ASKED)
  await made.close()
})

test('the last ones are remembered, older ones are for the index', async () => {
  const made = await store()
  for (let index = 0; index <= 2 * trailLimits.recentObjects; index += 256)
    await put(made, ...Array.from({ length: 256 }, (_, at) => object(`obj_${index + at}`, 'x')))
  await expect(made.object(RUN, 'obj_0' as ObjectId)).rejects.toBe(ASKED)
  const newest = `obj_${2 * trailLimits.recentObjects}` as ObjectId
  expect(await made.object(RUN, newest)).toMatchObject({ id: newest })
  await made.close()
})
