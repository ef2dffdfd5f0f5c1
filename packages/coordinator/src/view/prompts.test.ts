// What agents were told, on a real trail: while they work, after their end, and in another node.
import { type RunId, type TurnResult, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { coordinatorLimits } from '../limits.ts'
import { Fixture, hanging, planned, refusal } from '../testing/fixture.ts'

test('what each turn was told can be read while it works, after it was ended, and after a restart', async () => {
  const { script, begun } = hanging()
  let taken = 0
  const asks = (): TurnResult => {
    const session = { id: 's1', resumed: taken++ > 0 }
    const end = { session, usage: {} }
    return taken === 1
      ? { ...end, outcome: 'blocked', reason: 'Which colour?' }
      : { ...end, outcome: 'complete', text: 'x' }
  }
  const fixture = await Fixture.open({ asks, hangs: script })
  const long = 'y'.repeat(coordinatorLimits.promptLength)
  const run = await fixture.solve(
    planned(
      '{ id: door, agent: asks, prompt: Paint the door., check: ["true"] }',
      `{ id: wall, agent: hangs, needs: [door], prompt: ${long} }`,
    ),
  )
  const { gates } = await fixture.until(run, view => view.gates.length > 0)
  await fixture.reply(gates[0]!.id, { answer: 'envelope', text: 'Blue.' })
  await begun
  const told = async () => unwrap(await fixture.coordinator.views.prompts(run))
  const atWork = await told()
  expect(atWork).toMatchObject({
    left_out: 0,
    prompts: [
      { task: 'door', agent: 'asks#1', turn: 1, text: expect.stringMatching(/^Paint the door\.\n.*Do it\.\n/s) },
      { task: 'door', agent: 'asks#1', turn: 2, text: expect.stringContaining('Blue.') },
      { task: 'wall', agent: 'hangs#1', turn: 1, text: expect.stringMatching(/^y+\n… and \d+ more characters\n$/) },
    ],
  })
  // Its program has been told the task already.
  expect(atWork.prompts[1]!.text).not.toContain('Paint the door.')
  await fixture.abort(run, { reason: 'enough' })
  await fixture.over(run)
  expect(await told()).toEqual(atWork)
  await fixture.restart()
  expect(await told()).toEqual(atWork)
  expect(await fixture.coordinator.views.prompts('run_00000000000000000000000000' as RunId)).toMatchObject(
    refusal('not_found'),
  )
})

test('a program that could not go on with its conversation is shown with all that it was told then', async () => {
  let taken = 0
  const asks = (): TurnResult => {
    const end = { session: { id: `s${++taken}`, resumed: false }, usage: {} }
    return taken === 1 ? { ...end, outcome: 'blocked', reason: 'Which?' } : { ...end, outcome: 'complete', text: 'x' }
  }
  const fixture = await Fixture.open({ asks })
  const run = await fixture.solve(planned('{ id: door, agent: asks, prompt: Paint the door. }'))
  const { gates } = await fixture.until(run, view => view.gates.length > 0)
  await fixture.reply(gates[0]!.id, { answer: 'envelope', text: 'Blue.' })
  await fixture.over(run)
  const { prompts } = unwrap(await fixture.coordinator.views.prompts(run))
  expect(prompts.map(({ text }) => text.includes('Paint the door.'))).toEqual([true, true])
})
