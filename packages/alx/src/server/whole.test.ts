// Both halves of ALX together: a solve that finds, carries out and makes Knowledge Blocks, over HTTP and a real trail.
import { isSolveResponse, type KbRecord, type SolveArtifact } from '@alx/protocol'
import { expect, test } from 'vitest'
import type { TeamOutline } from '../kb/procedure.ts'
import { AlxFixture, INTENT, V } from '../testing/fixture.ts'

const OUTLINE: TeamOutline = {
  team: 'team',
  agents: ['one', 'two'],
  tasks: [
    { id: 'one', title: 'Build it', prompt: 'Do it.', agent: 'one', needs: [] },
    { id: 'two', title: 'Ship it', prompt: 'Do it.', agent: 'two', needs: ['one'] },
  ],
}
const open = () => AlxFixture.open({ teamOf: domain => (domain === 'engineering' ? OUTLINE : undefined) })

test('without a block that fits, the plan of the team is one, and the result is another that cites it', async () => {
  const f = await open()
  const { status, body } = await f.solve()
  expect(status).toBe(200)
  expect(isSolveResponse(body, 'emit')).toBe(true)
  expect([body.artifact?.origin, body.artifact?.type, body.confidence]).toEqual(['generated', 'procedure', 1])
  expect(body.steps.map(({ name }) => name)).toEqual(['Build it', 'Ship it'])
  const made = (await f.events(body.executionId)).flatMap(event =>
    event.type === 'artifact.created' ? [event.artifact as SolveArtifact] : [],
  )
  expect(made.map(({ type }) => type)).toEqual(['procedure', 'synthesis'])
  expect(made[1]!.sources).toEqual([made[0]!.kbHash])
  for (const { kbHash } of made) {
    const record = await f.get<KbRecord>(`/v1/kb/${kbHash}`)
    expect([record.status, record.body.curator]).toEqual([200, 'U'])
    // What was generated is its curator's until it is shared.
    expect((await f.get(`/v1/kb/${kbHash}`, { as: V })).status).toBe(404)
  }
  const rated = await f.post<{ feedbackId: string }>('/v1/feedback', { executionId: body.executionId, rating: 1 })
  expect(rated.status).toBe(200)
  await f.restart()
  const read = await f.get<typeof body>(`/v1/runs/${body.executionId}`)
  expect(read.body.learning?.feedbackId).toBe(rated.body.feedbackId)
  const again = await f.solve()
  expect(again.body.artifact).toMatchObject({ artifactId: body.artifact!.artifactId })
  expect((await f.entries(again.body.executionId, 'task_completed')).length).toBe(2)
})

test('where a domain has no team, the content of the block that fits is the result, and nobody works', async () => {
  const f = await open()
  const payload = { type: 'practice', rationale: 'Test restores monthly.', contexts: ['backup'], failureModes: [] }
  const envelope = { type: 'practice', domain: 'ops', sources: [], tier: 'open', payload }
  const registered = await f.post<{ kbHash: string }>('/v1/kb', { envelope })
  expect(registered.status).toBe(201)
  const intent = { verb: 'test', target: 'restores', domain: 'ops' }
  const { status, body } = await f.solve({ intent, options: { force: true } })
  expect([status, body.artifact?.kbHash, body.steps]).toEqual([200, registered.body.kbHash, []])
  expect(body.result).toContain('Test restores monthly.')
  expect(isSolveResponse(body, 'emit')).toBe(true)
  expect(f.turns).toBe(0)
  expect((await f.entries(body.executionId)).at(-1)!.body).toMatchObject({ to_state: 'closed' })
  const nothing = await f.solve({ intent: { ...INTENT, domain: 'gardening' } })
  expect(nothing.body.error?.code).toBe('NO_ARTIFACT_SELECTED')
})
