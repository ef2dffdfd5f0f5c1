// Rotations on the record where the disk fails in between.
import { ok } from '@parley/core'
import { Trail } from '@parley/trail'
import { openMemoryStore } from '@parley/trail/testing'
import { expect, test } from 'vitest'
import { recordRotations } from './key-rotation.ts'

test('a rotation is on record although the note that it is cannot be written: that is an answer, not a defect', async () => {
  const accepted: string[] = []
  const users = { accept: async (_who: unknown, method: string) => ok(void accepted.push(method)) }
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
  const key = { key: 'A'.repeat(43).concat('='), since: null, until: null }
  const keys = { keys: [key], unrecorded: [key.key], recorded: () => Promise.reject(full) }
  const store = await openMemoryStore()
  const trail = new Trail({ store, keys: keys as never })
  const recorded = await recordRotations(trail, { users } as never, { kind: 'user', id: 'mira' } as never)
  expect(recorded).toMatchObject({ ok: false, error: { code: 'trail_full', retryable: true } })
  expect(accepted).toHaveLength(1)
  await store.close()
})
