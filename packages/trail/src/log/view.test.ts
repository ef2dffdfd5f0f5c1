// Taking a view apart that was damaged: whatever the bytes are now, nothing is thrown.
import { expect, test } from 'vitest'
import { viewTail } from './view.ts'

const NAME = 'ws_000000000000000000000000'
const HASH = 'a'.repeat(64)
const view = (workspace: string) =>
  `{"actor":"worker","integrity":{"algorithm":"sha-256","local_hash":"${HASH}"},"prev_hash":"${HASH}","timestamp":"2026-11-15T12:00:00.000000Z","workspace":"${workspace}"}`

test('W-TRAIL-16 a view whose workspace has become no text is none, and nobody is thrown at', () => {
  expect(viewTail(view(NAME))?.workspace).toBe(NAME)
  expect(viewTail(view('ws_\\u0041'))?.workspace).toBe('ws_A')
  for (const damaged of ['ws_\\x0', 'ws_\\', 'ws_"\\0', 'ws_\\u00g0', 'ws_\\n\n'])
    expect(viewTail(view(damaged))).toBeUndefined()
})
