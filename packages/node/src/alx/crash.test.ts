// A node dies in the middle of a streamed solve. The next one brings the run to its end, registers what came of it, and
// the client reads on where it was.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAlxClient } from '@parley/alx-client'
import { connectClient, connectUnix } from '@parley/call'
import { expect, onTestFinished, test } from 'vitest'
import type { NodeOperations } from '../operations/index.ts'
import { alxProfile, INTENT } from '../testing/alx.ts'
import { ground } from '../testing/ground.ts'
import { nodeProcess } from '../testing/process.ts'

const WAIT = { timeout: 20_000 }

test('a solve whose node is killed goes on in the next node, with the same events', async () => {
  const place = ground()
  const gate = join(place.home, 'go')
  alxProfile(
    place,
    `version: 1
name: two
approval: none
agents:
  first: { command: [sh, -c, "echo first is done"] }
  second: { command: [sh, -c, "while [ ! -e ${gate} ]; do sleep 0.05; done; echo second is done"] }
plan:
  - { id: one, title: The first, agent: first, prompt: Do it. }
  - { id: two, title: The second, agent: second, prompt: Do it., needs: [one] }
`,
  )
  const config = place.path('default', 'config.yaml')
  writeFileSync(config, `${readFileSync(config, 'utf8')}http: { on: true, port: 0 }\n`)

  const begin = async () => {
    const running = nodeProcess(place)
    await running.up()
    const client = connectClient<NodeOperations>({
      dial: () => connectUnix(place.config().paths.socket),
      maxAttempts: 1,
    })
    onTestFinished(() => client.close())
    await expect.poll(async () => (await client.call('node', 'status', {})).http?.at, WAIT).toBeTruthy()
    const { http } = await client.call('node', 'status', {})
    return { running, client, base: `${http!.at}/alx` }
  }

  const first = await begin()
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
  first.running.child.kill('SIGKILL')
  await first.running.ended()
  first.client.close()

  const second = await begin()
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
