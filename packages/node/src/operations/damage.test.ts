// One damaged run: it is told what is wrong, and the node stays usable, above all for those who want to verify, look or
// stop.
import { ParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import { refusal, solve } from '../testing/calls.ts'
import { startedNode } from '../testing/started.ts'

async function damagedNode() {
  const started = await startedNode()
  const { run } = await started.client.call('solve', 'start', { ...solve, agent: 'claude' })
  const fail = async (): Promise<never> => {
    throw new ParleyError('trail_damaged', `Entry 14 of run ${run} does not match its hash.`)
  }
  const { coordinator } = started
  Object.assign(coordinator.runs, { list: fail })
  Object.assign(coordinator.views, { view: fail })
  Object.assign(coordinator.gates, { list: fail })
  return { ...started, run }
}

test('the node says how it is, and stops when it is asked to', async () => {
  const { client, node, log } = await damagedNode()
  const runs = { working: 0, waiting: 0, for_peers: 0 }
  expect(await client.call('node', 'status', {})).toMatchObject({ pid: process.pid, runs })
  expect(log.lines.at(-1)).toMatchObject({ level: 'error', message: expect.stringContaining('Entry 14') })
  await client.call('node', 'stop', { reason: 'down' })
  expect(await node.stopped).toEqual({ reason: 'down', hanging: [] })
})

test('who asks for the run is told what is wrong with it, as no defect of the node', async () => {
  const { client, run } = await damagedNode()
  const calls = [
    client.call('runs', 'list', {}),
    client.call('runs', 'show', { run }),
    client.call('tasks', 'list', { run }),
    client.call('gates', 'list', {}),
  ]
  const damaged = { code: 'trail_damaged', message: expect.stringContaining('Entry 14') }
  for (const call of calls) expect(await refusal(call)).toMatchObject(damaged)
})
