// A node that is held up by its machine, as each command tells it.
import { CallError } from '@parley/call'
import { expect, test } from 'vitest'
import type { MachineView, RunView } from '../node/views.ts'
import { examined, nodeWith } from '../testing/doctor.ts'
import { fakeNode, following } from '../testing/fake-node.ts'
import { tempFolder } from '../testing/folder.ts'
import { parley } from '../testing/parley.ts'
import { FakeTerminal, screenOf } from '../testing/terminal.ts'
import { at, runView, taskView } from '../testing/views.ts'

const machine: MachineView = {
  code: 'ENOSPC',
  where: '/home/mira',
  since: at(0),
  message: 'Held up by the machine: the disk is full (ENOSPC at /home/mira).',
}
const working = runView({ tasks: [taskView('scan', { state: 'working', attempt: 1, started: at(0) })] })
const held: RunView = { ...working, machine }
const done: RunView = { ...working, state: 'done', ended: at(5) }
const { run } = working

const follow = (node: Parameters<typeof fakeNode>[0], terminal = new FakeTerminal({}), ...flags: string[]) =>
  parley(['show', '--follow', ...flags], { node: fakeNode({ '/runs/show': working, ...node }), terminal })

test('whoever follows a run is told at once that it is held up, once, and that it goes on', async () => {
  const ran = await follow({ '/runs/follow': following([working, held, held, working, done]) })
  expect(ran.code).toBe(0)
  expect(ran.err.trim().split('\n')).toEqual([
    expect.stringMatching(/^Held up by the machine: the disk is full \(ENOSPC at \/home\/mira\)\. \(for /),
    'The machine is sound again: the work goes on.',
  ])
  const lines = (await follow({ '/runs/follow': following([held, done]) }, new FakeTerminal({}), '--json')).out
    .trim()
    .split('\n')
  expect(JSON.parse(lines[0]!)).toMatchObject({ machine: { code: 'ENOSPC' } })
  const terminal = new FakeTerminal({ live: true, interactive: true })
  const leaves = follow({ '/runs/follow': following([held]) }, terminal)
  await expect.poll(() => screenOf(terminal.output).join('\n')).toContain('held up by the machine (ENOSPC)')
  expect(screenOf(terminal.output).join('\n')).toContain('the disk is full')
  terminal.interrupt()
  terminal.interrupt()
  expect((await leaves).code).toBe(7)
})

test('a command that ends while the node is held up ends with 7: left, without its node, or refused', async () => {
  const terminal = new FakeTerminal({})
  const left = follow({ '/runs/follow': following([held]) }, terminal)
  await expect.poll(() => terminal.errors).toContain('Held up by the machine')
  terminal.interrupt()
  expect((await left).code).toBe(7)
  const lost = await follow({
    '/runs/follow': async function* () {
      yield held
      throw new CallError('unavailable', 'The node is stopping.', { retryable: true })
    },
  })
  expect(lost).toMatchObject({ code: 7, err: expect.stringContaining('parley: Held up by the machine') })
  const refused = await parley(['solve', 'x', '--agent', 'a', '--json'], {
    node: fakeNode({
      '/solve/start': new CallError('machine_fault', `${machine.message} Nothing was started; ask again then.`, {
        retryable: true,
      }),
    }),
  })
  expect(refused.code).toBe(7)
  expect(JSON.parse(refused.err)).toMatchObject({
    error: { code: 'machine_fault', next: [expect.stringContaining('Free some space')] },
  })
})

test('runs, inbox, gates, escalations, tasks, tree and show say it beside what they list', async () => {
  const node = fakeNode({
    '/runs/list': { runs: [] },
    '/gates/list': { gates: [] },
    '/escalations/list': { gates: [] },
    '/tasks/list': { tasks: held.tasks },
    '/runs/show': held,
    '/node/status': { machine },
  })
  for (const command of [['runs'], ['inbox'], ['gates'], ['escalations'], ['tasks', run], ['tree', run]]) {
    expect((await parley(command, { node })).err, command[0]).toContain('Held up by the machine: the disk is full')
    expect(JSON.parse((await parley([...command, '--json'], { node })).out)).toMatchObject({ machine })
  }
  const shown = await parley(['show', run], { node })
  expect(shown.out).toMatch(/^held up +Held up by the machine/m)
})

test('doctor tells what really happens while the disk is full', async () => {
  const home = tempFolder()
  const asked = async (found: MachineView | null) =>
    (await examined(home, { freeBytes: () => 1000 }, { node: nodeWith({ machine: found }) })).checks
  const checks = await asked(machine)
  expect(checks.find(({ check }) => check === 'machine')).toMatchObject({
    state: 'problem',
    text: expect.stringContaining('ENOSPC at /home/mira'),
  })
  const disk = checks.find(({ check }) => check === 'disk')
  expect(disk?.remedy).toContain(
    'starts no turns and counts nothing as failed; it continues by itself when there is room',
  )
  const well = await asked(null)
  expect(well.find(({ check }) => check === 'machine')).toMatchObject({ state: 'ok' })
})
