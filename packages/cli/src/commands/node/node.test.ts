import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CallError } from '@parley/call'
import { ManualClock, ParleyError } from '@parley/core'
import { beforeEach, expect, test } from 'vitest'
import { fakeNode } from '../../testing/fake-node.ts'
import { tempFolder } from '../../testing/folder.ts'
import { parley } from '../../testing/parley.ts'

let folder: string
beforeEach(() => {
  folder = tempFolder()
})

test('agents shows what is there and what each needs', async () => {
  const needs = { hosts: ['api.example.org'], variables: ['EXAMPLE_KEY'], files: [], help: '' }
  const node = fakeNode({
    '/agents/list': {
      agents: [
        {
          name: 'claude',
          source: 'preset',
          kind: 'command',
          program: 'claude',
          found: true,
          version: '2.1.0',
          default: true,
          needs,
        },
      ],
    },
  })
  expect((await parley(['agents'], { node, env: { PATH: '/mine' } })).out).toBe(
    'AGENT   SOURCE           FOUND  VERSION  NEEDS\nclaude  preset, default  yes    2.1.0    api.example.org; EXAMPLE_KEY\n',
  )
  // The node may have been started with another one.
  expect(node.asked('/agents/list')).toEqual([{ path: '/mine' }])
  const file = join(folder, 'parley.yaml')
  const text = 'version: 1\nname: x\nagents: { a: { command: [sh] } }\n'
  writeFileSync(file, text)
  await parley(['agents'], { node, cwd: folder })
  expect(node.asked('/agents/list')[1]).toEqual({ team: { text, file } })
  writeFileSync(file, 'no: team\n')
  expect((await parley(['agents'], { node, cwd: folder })).err).toContain('The agents of the team file are left out')
})

test('config shows each value and where it came from, and needs no node', async () => {
  mkdirSync(join(folder, 'work'))
  const env = { HOME: folder, PARLEY_HOME: folder, PARLEY_TURNS: '3' }
  const people = await parley(['config', '--profile', 'work'], { env })
  expect(people.code).toBe(0)
  expect(people.out).toContain(`profile work in ${join(folder, 'work')}`)
  expect(people.out).toMatch(/turns +3 +environment PARLEY_TURNS/)
  expect(people.out).toMatch(/^alp\.tcp_port +\(none\)/m)
  expect(people.out).toMatch(/^budget\.daily_usd +\(no cap\)/m)
  const values = JSON.parse((await parley(['config', '--json'], { env })).out)
  expect(values).toMatchObject({
    profile: 'default',
    values: expect.arrayContaining([{ key: 'turns', value: 3, from: 'environment PARLEY_TURNS' }]),
  })
  const wrong = await parley(['config'], { env: { ...env, PARLEY_TURNS: 'many' } })
  expect(wrong.code).toBe(6)
  // It cannot show what it cannot read, so it does not send anybody to itself.
  expect(wrong.err).not.toContain('`parley config` shows')
  expect(wrong.err.match(/environment PARLEY_TURNS: /g)?.length).toBe(1)
  expect((await parley(['config', '--profile', '../x'], { env })).code).toBe(2)
})

/** More than any system gives to a process. */
const NOBODY = 2 ** 30

test('down says so where the process of the node does not end, asked now or before', async () => {
  const clock = new ManualClock()
  const status = { pid: process.pid, profile: 'default', runs: { working: 0, waiting: 0 } } as never
  const deaf = () => {
    throw new ParleyError('node_not_running', 'none', { details: { pid: process.pid, socket: '/s' } })
  }
  for (const [node, says] of [
    [fakeNode({ '/node/status': status, '/node/stop': {} }), `process ${process.pid} has not ended`],
    [deaf, `Process ${process.pid} is running, but it is not listening at /s.`],
  ] as const) {
    let over = false
    const down = parley(['down'], { node, clock }).finally(() => {
      over = true
    })
    while (!over) {
      clock.advance(1_000)
      await new Promise(setImmediate)
    }
    const ran = await down
    expect(ran).toMatchObject({ code: 4, out: '' })
    expect(ran.err).toContain(says)
  }
})

test('down stops a node of any version, and does nothing where none runs', async () => {
  const status = { pid: NOBODY, profile: 'default', clients: 1, runs: { working: 1, waiting: 0 } }
  const node = (more: object = {}) => fakeNode({ '/node/status': { ...status, ...more } as never, '/node/stop': {} })
  const choices: unknown[] = []
  const stopped = node()
  const ran = await parley(['down'], {
    node: choice => {
      choices.push(choice)
      return stopped
    },
  })
  expect(ran.out).toContain('1 run will continue with the next node.')
  expect(ran.out).not.toContain('connected')
  expect(choices).toMatchObject([{ start: false, anyVersion: true }])
  expect(stopped.asked('/node/stop').length).toBe(1)
  const alone = await parley(['down'], { node: node({ runs: { working: 1, waiting: 0, for_peers: 1 } }) })
  expect(alone.out).not.toContain('will continue')
  const warned = await parley(['down'], { node: node({ clients: 2 }) })
  expect(warned.out).toContain('1 other command is connected: a command that watches a run starts another node.')
  const none = await parley(['down'], {
    node: () => {
      throw new CallError('node_not_running', 'none')
    },
  })
  expect(none).toEqual({ code: 0, out: 'No node is running.\n', err: '' })
})
