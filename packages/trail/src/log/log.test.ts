// Parts of the log: blobs, the reader of segments, views of entries.
import type { Ticks } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { FaultyFiles } from '../testing/memory/faulty-files.ts'
import { seededRandom } from '../testing/random.ts'
import { Blobs, blobName } from './blobs.ts'
import { readEnds } from './ends.ts'
import { readWhole, writeWhole } from './files.ts'
import { openLog } from './open.ts'
import { SegmentReader } from './reader.ts'
import { SEGMENT_HEADER, segmentName, writeSegmentHeader } from './segment.ts'
import { viewTail } from './view.ts'

const DATA = 'a payload that is too large for the log'
const NAME = blobName(DATA)

describe('blobs', () => {
  test('what was kept survives a power loss and is read back', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const files = new FaultyFiles()
      await new Blobs(files).put(NAME, DATA)
      expect(new Blobs(files.crash(seededRandom(seed))).get(NAME)).toBe(DATA)
    }
  })

  test('keeping the same data twice, also at once, is harmless', async () => {
    const files = new FaultyFiles()
    const blobs = new Blobs(files)
    await Promise.all([blobs.put(NAME, DATA), blobs.put(NAME, DATA)])
    await blobs.put(NAME, DATA)
    expect(blobs.check(new Set([NAME]))).toEqual({
      blobs: 1,
      bytes: DATA.length,
      garbage: [],
      damaged: [],
      missing: [],
    })
  })

  test('a blob that does not match its name, or is gone, is never handed out', async () => {
    const files = new FaultyFiles()
    const blobs = new Blobs(files)
    await blobs.put(NAME, DATA)
    files.flip(`${NAME.slice(0, 2)}/${NAME}`, 3)
    expect(() => blobs.get(NAME)).toThrow('does not match its name')
    expect(() => blobs.get('0'.repeat(64))).toThrow('is not there')
    // Keeping the data again mends it.
    await blobs.put(NAME, DATA)
    expect(blobs.get(NAME)).toBe(DATA)
  })

  test('the check finds garbage, damage and what is missing', async () => {
    const files = new FaultyFiles()
    const blobs = new Blobs(files)
    const other = blobName('nobody refers to this')
    await blobs.put(NAME, DATA)
    await blobs.put(other, 'nobody refers to this')
    files.flip(`${NAME.slice(0, 2)}/${NAME}`, 0)
    const gone = 'f'.repeat(64)
    expect(blobs.check(new Set([NAME, gone]))).toMatchObject({
      blobs: 2,
      garbage: [other],
      damaged: [NAME],
      missing: [gone],
    })
  })
})

/** Segments without frames; the first has bytes behind its end, as a failed sync leaves them. */
async function log(): Promise<FaultyFiles> {
  const files = new FaultyFiles()
  for (const segment of [1, 2, 3]) {
    const bytes = Buffer.alloc(segment === 1 ? 400 : SEGMENT_HEADER, 'x')
    const previousEnd = segment === 1 ? 0 : SEGMENT_HEADER
    const previous = segment - 1
    writeSegmentHeader(bytes, {
      segment,
      previous,
      previousEnd,
      firstFrame: 1,
      floor: 0 as Ticks,
      trail: '0'.repeat(32),
    })
    await writeWhole(files, segmentName(segment), bytes)
  }
  return files
}

test('when a segment goes, what it says of the end of the one before it lasts', async () => {
  const files = await log()
  const { segments } = await openLog(files)
  expect([...segments]).toEqual([
    [1, SEGMENT_HEADER],
    [2, SEGMENT_HEADER],
    [3, SEGMENT_HEADER],
  ])
  const reader = new SegmentReader(files, segments)
  await reader.drop(2)
  expect(reader.segments()).toEqual([1, 3])
  const after = files.crash(() => 0)
  expect(readWhole(after, segmentName(1))).toHaveLength(SEGMENT_HEADER)
  expect([...(await openLog(after)).segments]).toEqual([
    [1, SEGMENT_HEADER],
    [3, SEGMENT_HEADER],
  ])
})

test('a segment that is dropped while an index looks for the ends of all is left out', async () => {
  const files = await log()
  const open = files.open.bind(files)
  files.open = (path, how) => {
    if (path === segmentName(2) && files.exists(path)) files.remove(path)
    return open(path, how)
  }
  expect([...readEnds(files, '0'.repeat(32), 3).keys()]).toEqual([1, 3])
})

const WORKSPACE = 'ws_000000000000000000000000'
const HASH = 'a'.repeat(64)
const view = (workspace: string) =>
  `{"actor":"worker","integrity":{"algorithm":"sha-256","local_hash":"${HASH}"},"prev_hash":"${HASH}","timestamp":"2026-11-15T12:00:00.000000Z","workspace":"${workspace}"}`

test('W-TRAIL-16 a view whose workspace has become no text is none, and nobody is thrown at', () => {
  expect(viewTail(view(WORKSPACE))?.workspace).toBe(WORKSPACE)
  expect(viewTail(view('ws_\\u0041'))?.workspace).toBe('ws_A')
  for (const damaged of ['ws_\\x0', 'ws_\\', 'ws_"\\0', 'ws_\\u00g0', 'ws_\\n\n'])
    expect(viewTail(view(damaged))).toBeUndefined()
})
