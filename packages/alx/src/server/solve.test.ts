// Conformance of solves (sections 2 and 3), over HTTP and a real trail.
import { ALX_PROTOCOL_VERSION, isSolveResponse } from '@alx/protocol'
import { expect, test } from 'vitest'
import { AlxFixture, candidate } from '../testing/fixture.ts'

const code = (body: { readonly error?: { readonly code: string } }) => body.error?.code

test('ALX-T08 a solve answers with every canonical member once its run has completed', async () => {
  const f = await AlxFixture.open()
  const { status, body } = await f.solve()
  expect(status).toBe(200)
  expect(isSolveResponse(body, 'emit')).toBe(true)
  expect(body).toMatchObject({ ok: true, success: true, confidence: 0.9, result: 'two is done' })
  expect(body.execution).toMatchObject({ status: 'completed', attempt: 0, dryRun: false, forced: false })
  expect(body.steps.map(({ index, status }) => [index, status])).toEqual([
    [0, 'completed'],
    [1, 'completed'],
  ])
  expect(body).not.toHaveProperty('error')
  expect(body.protocol.protocol_version).toBe(ALX_PROTOCOL_VERSION)
  const integrated = (await f.entries(body.executionId, 'task_status_changed')).filter(
    entry => (entry.body as { to_status?: string }).to_status === 'integrated',
  )
  expect(integrated).toHaveLength(2)
  expect([...f.knowledge.kept.values()].map(({ envelope, curator }) => [envelope.type, curator])).toEqual([
    ['synthesis', 'U'],
  ])
})

test('ALX-T11 a candidate below the limit fails the run with exactly two events', async () => {
  const f = await AlxFixture.open()
  f.candidates = [candidate(0.22)]
  const { status, body } = await f.solve()
  expect([status, code(body), body.error?.type]).toEqual([422, 'LOW_CONFIDENCE', 'approval'])
  expect(body).toMatchObject({ ok: false, success: false, confidence: 0.22 })
  expect(body.artifact).not.toBeNull()
  expect((await f.events(body.executionId)).map(({ type }) => type)).toEqual(['run.started', 'run.failed'])
})
