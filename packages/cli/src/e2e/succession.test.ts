// Work that changes hands, with real processes: an agent that takes over, a fallback, time to finish, what failed work
// left, and a node that is killed in the middle.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { GateView, ProofView, RunView } from '../node/views.ts'
import { agentLine as agent } from '../testing/team.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const team = (text: string) =>
  world.team(`version: 1\nname: house\ndescription: Tidy the house\napproval: none\n${text}`)

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 600; looks++) {
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('it never came to that')
}

const at = (name: string) => join(world.folder, name)

/** Keeps something, says so outside, and goes on for ever. */
const keeps = (file: string, more = '') =>
  `${more}echo kept > ${file}; parley ws checkpoint "half of it"; echo lost > stray.txt; touch "$HOME/kept"; while :; do sleep 0.1; done`

test('a task moves to another agent in mid-work and keeps its checkpoint; each step can be proved', async () => {
  team(`agents:\n${agent('slow', keeps('part.txt'))}${agent('quick', 'cat > told.txt; cat part.txt > all.txt')}plan:
  - { id: a, title: Sweep, agent: slow, prompt: x, attempts: 1 }
`)
  await world.up()
  const run = await world.detach()
  await until(() => existsSync(at('kept')))
  const wrong = await world.parley('migrate', 'a', '--to', 'quik')
  expect([wrong.code, wrong.err]).toEqual([5, expect.stringContaining("Did you mean 'quick'?")])
  expect((await world.parley('migrate', 'a')).code).toBe(2)
  expect(await world.ok('migrate', 'a', '--to', 'quick', '--reason', 'Too slow')).toContain('quick#1 continues a')
  const view = await world.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ agent: 'quick', attempt: 1 }] })
  expect(world.result(view, 'all.txt')).toBe('kept')
  expect(world.result(view, 'told.txt')).toContain('slow#1 was followed by quick#1')
  expect(() => world.result(view, 'stray.txt')).toThrow()
  expect(await world.ok('show', run)).toContain('quick#1 takes over from slow#1')
  const { entries } = await world.json<{ entries: { seq: number }[] }>(
    'trail',
    'query',
    run,
    '--type',
    'migration_started',
  )
  const proof = await world.json<ProofView>('trail', 'proof', run, String(entries[0]!.seq))
  expect(proof).toMatchObject({ event_type: 'migration_started', complete: true })
  expect(await world.ok('trail', 'proof', run, String(entries[0]!.seq))).toContain('Every step is verified.')
  await world.ok('trail', 'verify', run)
}, 60_000)

test('a fallback takes over where a program is missing', async () => {
  team(`agents:
  gone: { command: [parley-no-such-program] }
${agent('here', 'echo swept > floor.txt')}plan:
  - { id: a, agent: gone, fallback: here, prompt: x }
`)
  await world.up()
  const view = await world.over(await world.detach())
  expect(view).toMatchObject({ state: 'done', tasks: [{ agent: 'here', attempt: 1 }] })
  expect(view.tasks[0]?.steps[0]?.moves?.[0]?.reason).toContain('cannot be started')
  expect(world.result(view, 'floor.txt')).toBe('swept')
}, 60_000)

test('an agent that is asked to finish does so in time; another does not, and what it kept is salvaged', async () => {
  const reads =
    'touch "$HOME/kept"; while :; do parley ws inbox > mail.txt; grep -q graceful mail.txt && exit 0; sleep 0.2; done'
  team(`agents:\n${agent('polite', reads)}plan:\n  - { id: a, agent: polite, prompt: x, attempts: 1 }\n`)
  await world.up()
  const run = await world.detach()
  await until(() => existsSync(at('kept')))
  expect((await world.parley('abort', run, 'a', '--grace', 'soon')).code).toBe(2)
  expect(await world.ok('abort', run, 'a', '--grace', '1m', '--reason', 'Lunch')).toContain('finish within 1m')
  const done = await world.over(run)
  expect(done).toMatchObject({ state: 'done' })
  expect(world.result(done, 'mail.txt')).toContain('graceful_termination')

  team(`agents:\n${agent('deaf', keeps('half.txt'))}plan:\n  - { id: a, agent: deaf, prompt: x, attempts: 3 }\n`)
  rmSync(at('kept'))
  const second = await world.detach()
  await until(() => existsSync(at('kept')))
  await world.ok('abort', second, 'a', '--grace', '500ms')
  const waiting = async () => (await world.json<{ waiting: GateView[] }>('inbox', '--run', second)).waiting
  await until(async () => (await waiting()).length > 0)
  const shown = await world.ok('show', second)
  expect(shown).toContain('can be salvaged: 1 file of deaf#1')
  expect(shown).toContain('parley salvage a')
  const looked = await world.parley('salvage', 'a')
  expect([looked.code, looked.out]).toEqual([5, expect.stringContaining('+kept')])
  expect(await world.ok('salvage', 'a', '--yes')).toContain('Kept what a left: 1 file.')
  const view = await world.over(second)
  expect(view).toMatchObject({ state: 'failed', tasks: [{ attempt: 1, salvage: { state: 'merged' } }] })
  expect(view.reason).toContain('was not done when its time was over')
  expect(world.result(view, 'half.txt')).toBe('kept')
  expect(await world.ok('show', second)).toContain('salvaged: 1 file of deaf#1')
  expect((await world.parley('salvage', 'a')).code).toBe(5)
}, 90_000)

test('a salvage that does not fit what was merged is put to a person', async () => {
  const breaks = `sed -i 's/^1$/left/' list.txt; parley ws checkpoint half; while [ ! -e "$HOME/go" ]; do sleep 0.1; done; exit 3`
  team(`agents:\n${agent('breaks', breaks)}${agent('makes', "sed -i 's/^1$/made/' list.txt")}plan:
  - { id: a, agent: breaks, prompt: x, attempts: 1, salvage: ask }
  - { id: b, agent: makes, prompt: x }
`)
  world.write('list.txt', '1\n2\n3\n')
  world.commit()
  await world.up()
  const run = await world.detach()
  await until(async () => (await world.json<RunView>('show', run)).tasks[1]?.state === 'done')
  writeFileSync(at('go'), '')
  const waiting = async () => (await world.json<{ waiting: GateView[] }>('inbox', '--run', run)).waiting
  await until(async () => (await waiting()).length > 0)
  expect((await waiting())[0]).toMatchObject({ type: 'integration', task: 'a', changes: [] })
  expect(await world.ok('salvage', 'a', '--yes')).toContain('waits for an answer')
  const [gate] = await waiting()
  expect(gate).toMatchObject({ type: 'conflict_resolution' })
  await world.ok('approve', gate!.id)
  const view = await world.over(run)
  expect(world.result(view, 'list.txt').split('\n')[0]).toBe('left')
  expect(view.tasks[0]?.salvage?.state).toBe('merged')
}, 60_000)

test('a node is killed while a task moves: the new agent goes on with what was kept', async () => {
  team(`agents:\n${agent('stubborn', keeps('part.txt', "trap '' TERM; "))}${agent('quick', 'cat part.txt > all.txt')}plan:
  - { id: a, agent: stubborn, prompt: x, attempts: 1 }
`)
  const node = await world.up()
  const run = await world.detach()
  await until(() => existsSync(at('kept')))
  const moving = world.start(['migrate', 'a', '--to', 'quick'])
  await until(async () => (await world.json<RunView>('show', run)).tasks[0]?.state === 'migrating')
  node.child.kill('SIGKILL')
  await node.ended
  await world.up()
  await moving.ended
  const view = await world.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ agent: 'quick', attempt: 2 }] })
  expect(world.result(view, 'all.txt')).toBe('kept')
  await world.ok('trail', 'verify', run)
}, 90_000)

test('what was left is let go like a gate is rejected; a run that is over still has it, and takes nothing by itself', async () => {
  const breaks = 'echo x > part.txt; parley ws checkpoint half; exit 3'
  team(`agents:\n${agent('breaks', breaks)}plan:\n  - { id: a, agent: breaks, prompt: x, attempts: 1, salvage: ask }\n`)
  await world.up()
  const run = await world.detach()
  const waiting = async () => (await world.json<{ waiting: GateView[] }>('inbox', '--run', run)).waiting
  await until(async () => (await waiting()).length > 0)
  await world.ok('reject', run, '--reason', 'No use')
  const view = await world.over(run)
  expect(view).toMatchObject({ state: 'failed', tasks: [{ salvage: { state: 'discarded' } }] })
  const late = await world.parley('salvage', 'a', '--json')
  expect(late.code).toBe(5)
  expect(late.out).toContain('part.txt')
  expect(await world.over(run)).toMatchObject({ state: 'failed', tasks: [{ salvage: { state: 'discarded' } }] })
}, 60_000)
