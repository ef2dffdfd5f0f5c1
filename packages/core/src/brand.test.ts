import { expectTypeOf, test } from 'vitest'
import type { RunId, WorkspaceId } from './ids.ts'
import type { Ticks, Timestamp } from './timestamp.ts'

test('ids, ticks and timestamps of different meaning do not fit into each other', () => {
  expectTypeOf<RunId>().toExtend<string>()
  expectTypeOf<string>().not.toExtend<RunId>()
  expectTypeOf<RunId>().not.toExtend<WorkspaceId>()
  expectTypeOf<number>().not.toExtend<Ticks>()
  expectTypeOf<string>().not.toExtend<Timestamp>()
})
