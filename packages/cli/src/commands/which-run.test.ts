// Which run is meant where none is named, against a node that answers from a list.
import { expect, test } from 'vitest'
import { type Brought, fakeNode } from '../testing/fake-node.ts'
import { parley } from '../testing/parley.ts'
import { FakeTerminal } from '../testing/terminal.ts'
import { runView } from '../testing/views.ts'

const mine = runView({ run: 'run_01m7aaaaaaaaaaaaaaaaaaaaaa', project: '/projects/shop' })
const other = runView({ run: 'run_01m7bbbbbbbbbbbbbbbbbbbbbb', project: '/projects/blog', intent: 'Write it' })

const node = (...runs: (typeof mine)[]) =>
  fakeNode({
    '/runs/list': async ({ folder }) => ({
      runs: runs.filter(({ project }) => folder === undefined || project === folder),
    }),
    '/runs/show': async ({ run }) => runs.find(each => each.run === run) ?? mine,
    '/workspaces/suspend': {},
  } as Brought)

test.each([[[]], [['last']]])(
  'the newest run of the project here is meant, never one of another: show %j',
  async words => {
    const api = node(other, mine)
    await parley(['show', ...words], { node: api, cwd: '/projects/shop' })
    expect(api.asked('/runs/show')).toEqual([{ run: mine.run }])
  },
)

test('where this project has no run it is said, with the newest elsewhere', async () => {
  for (const command of ['show', 'apply', 'diff', 'pr', 'log x', 'trail query', 'tree']) {
    const ran = await parley(command.split(' '), { node: node(other), cwd: '/projects/shop' })
    expect(ran.code, command).not.toBe(0)
    expect(ran.err).toContain('There is no run of the project in /projects/shop.')
    expect(ran.err).toContain('The newest run elsewhere is run_bbbbbb, of /projects/blog.')
  }
})

test('what is paused without a name is the only run at work, and none of several', async () => {
  const one = node(other)
  await parley(['suspend'], { node: one, cwd: '/projects/shop' })
  expect(one.asked('/workspaces/suspend')).toMatchObject([{ run: other.run }])
  for (const command of ['suspend', 'resume', 'abort']) {
    const ran = await parley([command], { node: node(other, mine), cwd: '/projects/shop' })
    expect(ran.err).toMatch(/2 runs are at work.*run_bbbbbb {2}Write it.*Name one of them/s)
    expect((await parley([command], { node: node(), cwd: '/' })).err).toContain('No run is at work.')
  }
})

test('a list with runs of several projects says which is whose', async () => {
  const terminal = () => new FakeTerminal({ columns: 120 })
  expect((await parley(['runs'], { node: node(other, mine), terminal: terminal() })).out).toMatch(
    /PROJECT.*\n.*blog.*\n.*shop/,
  )
  expect((await parley(['runs'], { node: node(mine), terminal: terminal() })).out).not.toContain('PROJECT')
})

test('a run whose work a person has suspended is listed as suspended', async () => {
  const times = { working: 0, person: 0, slot: 0, other: 0, doing: 'person', since: mine.started } as const
  expect((await parley(['runs'], { node: node(runView({ ...mine, times })) })).out).toMatch(/run_\w+ +suspended/)
})

test('a command that starts the node says which work goes on with it', async () => {
  const ran = await parley(['runs'], {
    node: choice => {
      choice.onContinued?.(2)
      return node(mine)
    },
  })
  expect(ran.err).toBe('Started the node, which continues 2 runs that had been interrupted.\n')
})
