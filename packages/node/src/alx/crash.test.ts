// A node dies in the middle of a streamed solve. The next one brings the run to its end, registers what came of it, and
// the client reads on where it was.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAlxClient } from '@parley/alx-client'
import { expect, test } from 'vitest'
import { alxProfile, INTENT } from '../testing/alx.ts'
import { alxProcess, waitingTeam } from '../testing/alx-process.ts'
import { ground } from '../testing/ground.ts'

test('a solve whose node is killed goes on in the next node, with the same events', async () => {
  const place = ground()
  const gate = join(place.home, 'go')
  alxProfile(place, waitingTeam(gate))

  const first = await alxProcess(place)
  const { secret: token } = await first.client.call('tokens', 'create', { user: 'ann' })
  const ann = createAlxClient({ baseUrl: first.base, token, maxRetries: 0 })
  const stream = ann.solveStream({ intent: INTENT })
  stream.response.catch(() => undefined)
  const seen: string[] = []
  for await (const { type, seq } of stream) {
    seen.push(`${seq} ${type}`)
    if (type === 'step.completed') break
  }
  const run = stream.executionId!
  await first.kill()

  const second = await alxProcess(place)
  writeFileSync(gate, '')
  const again = createAlxClient({ baseUrl: second.base, token, maxRetries: 0 })
  const later: string[] = []
  const made: string[] = []
  for await (const event of again.watchRun(run, { after: seen.length })) {
    later.push(`${event.seq} ${event.type}`)
    if (event.type === 'artifact.created') made.push(event.artifact.kbHash)
  }
  expect([...seen, ...later].map(each => each.split(' ')[1])).toEqual([
    'run.started',
    'artifact.created',
    'step.started',
    'step.completed',
    'step.started',
    'step.completed',
    'artifact.created',
    'run.completed',
  ])
  const solved = await again.getRun(run)
  expect(solved).toMatchObject({ success: true, result: expect.stringContaining('second is done') })
  expect(await again.getKb(made[0]!)).toMatchObject({ envelope: { type: 'synthesis' }, curator: 'ann' })
  // The same call again is answered with it.
  const repeated = await again.solve({ intent: INTENT, options: { idempotencyKey: stream.idempotencyKey } })
  expect(repeated).toMatchObject({ executionId: run, cached: true })
  const { runs } = await second.client.call('runs', 'list', {})
  expect(runs).toHaveLength(1)
}, 60_000)
