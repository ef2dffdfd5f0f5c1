import type { Ticks } from '@parley/core'
import { expect, test } from 'vitest'
import { FaultyFiles } from '../testing/memory/faulty-files.ts'
import { readWhole, writeWhole } from './files.ts'
import { openLog } from './open.ts'
import { SegmentReader } from './reader.ts'
import { SEGMENT_HEADER, segmentName, writeSegmentHeader } from './segment.ts'

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
