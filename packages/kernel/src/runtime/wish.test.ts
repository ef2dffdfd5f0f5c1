// A run that is started for a person's wish: its first commit holds all that its coordinator needs to begin.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { openTrail, type Trail } from '@parley/trail'
import { expect, onTestFinished, test } from 'vitest'
import { Runtime } from './runtime.ts'

const MAIL = { type: 'directive', payload: { format: 'text', content: 'Please.' } } as const
const DRAFT = { owner: 'alice', highway: { gates: { task_approval: false } } } as const

async function opened(...capabilities: readonly 'inject_directive'[]) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-wish-'))
  const trail: Trail = await openTrail(folder, { signer: null })
  const runtime = await Runtime.open({ trail, users: 'house', secret: Buffer.alloc(32, 1) })
  onTestFinished(async () => {
    await runtime.close()
    await trail.close()
    rmSync(folder, { recursive: true })
  })
  unwrap(await runtime.users.accept({ user: 'alice', method: 'test' }))
  for (const capability of capabilities) unwrap(await runtime.users.grant('alice', capability))
  return { trail, runtime }
}

test('the root, its coordinator at work, and the mail under the name of the person', async () => {
  const { trail, runtime } = await opened('inject_directive')
  const run = unwrap(await runtime.start(DRAFT, undefined, { user: 'alice', mail: MAIL }))
  const { entries } = unwrap(await trail.run(run.id).query({ limit: 7 }))
  expect(entries.map(({ event_type, actor }) => [event_type, actor])).toEqual([
    ['workspace_created', 'protocol'],
    ['port_right_created', 'protocol'],
    ['signal_emitted', 'system'],
    ['signal_emitted', 'system'],
    ['workspace_state_changed', 'protocol'],
    ['human_injection', 'alice'],
    ['envelope_created', 'alice'],
  ])
  expect(unwrap(await run.coordinator.consume())).toMatchObject({ payload: { content: 'Please.' } })
})

test('mail that the person may not send refuses the start', async () => {
  const { runtime } = await opened()
  const refused = await runtime.start(DRAFT, undefined, { user: 'alice', mail: MAIL })
  expect(refused).toMatchObject({ ok: false, error: { code: 'permission_denied' } })
})
