// `setup` and `carry` of a team file, from the start of a run to its result.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { findMarked } from '@parley/agents/testing'
import { type RunId, unwrap } from '@parley/core'
import { beforeEach, expect, test } from 'vitest'
import { aborted, Fixture, put, type Scripts, writes } from '../testing/fixture.ts'

let fixture: Fixture
beforeEach(async () => {
  fixture = await Fixture.open()
  fixture.write('.gitignore', 'node_modules/\n.env\n')
  fixture.write('lock', 'sound\n')
  fixture.commit('a lock file')
})

/** Where each setup ran is in this file, outside of all folders. */
const ran = () => {
  const file = join(fixture.folder, 'ran')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
}

/** Installs what the lock file says, and touches a file that git does not ignore. */
const install = (more = '') =>
  `echo "$PWD" >> ${join(fixture.folder, 'ran')}; ${more} mkdir -p node_modules; cp lock node_modules/dep; echo set-up >> README.md`

const team = (parts: { setup: string; agents?: string; plan?: string }) => `version: 1
name: team
setup: ${parts.setup}
agents:
${parts.agents ?? '  coder: { command: [scripted, coder] }\n  critic: { command: [scripted, critic] }'}
plan:
  - ${parts.plan ?? '{ id: work, agent: coder, prompt: x }'}
`

const shell = (script: string) => JSON.stringify(['sh', '-c', script])

const scripts = (coder: Scripts['coder']) => {
  fixture.scripts = {
    coder: coder!,
    critic: ({ folder }) => `${readFileSync(join(folder!, 'node_modules/dep'))}\nACCEPT`,
  }
}

test('while setup or a check runs, the task shows which command, and what it printed last', async () => {
  scripts(writes('new.txt'))
  const seen = new Set<string>()
  const go = join(fixture.folder, 'go')
  const wait = (word: string) => shell(`echo ${word}; until [ -e ${go}-${word} ]; do sleep 0.05; done`)
  const run = await fixture.solve(
    team({ setup: wait('installing'), plan: `{ id: work, agent: coder, prompt: x, check: ${wait('testing')} }` }),
  )
  for (const [word, what] of [
    ['installing', /^setup: .*installing/],
    ['testing', /^check: sh -c .* · testing$/],
  ] as const) {
    await fixture.until(run, ({ tasks }) => what.test(tasks[0]?.activity ?? ''))
    put(fixture.folder, `go-${word}`, '')
    seen.add(word)
  }
  expect((await fixture.over(run)).state).toBe('done')
  expect([...seen]).toEqual(['installing', 'testing'])
})

test('setup runs once in every folder, of work, check and review, and none of what it does is the work', async () => {
  scripts(writes('new.txt'))
  const view = await fixture.finished(
    team({
      setup: shell(install()),
      plan: '{ id: work, agent: coder, prompt: x, check: [grep, sound, node_modules/dep], review: { by: critic } }',
    }),
  )
  expect(view).toMatchObject({
    state: 'done',
    result: { files: ['new.txt'] },
    tasks: [{ attempt: 1, refused: [] }],
    folders: [{ agents: ['coder', 'critic'], setup: ['sh', '-c', install()] }],
  })
  // Each of the three folders says what that took.
  expect(view.tasks[0]!.steps.map(({ kind, setup }) => [kind, setup])).toEqual(
    ['work', 'check', 'review'].map(kind => [kind, { command: ['sh', '-c', install()], wall_ms: expect.any(Number) }]),
  )
  expect(new Set(ran()).size).toBe(3)
  expect(ran()).toHaveLength(3)
  const told = fixture.trail.run(view.run as RunId).query({ event_type: 'checkpoint_created' }, { kind: 'runtime' })
  // Beside one for the work and two for what its judges say.
  const statuses = unwrap(await told).entries.map(({ body }) => 'status' in body && body.status)
  expect(statuses.toSorted()).toEqual([...Array(3).fill('final'), ...Array(3).fill('provisional')])
})

test('what setup made is there again after a restart in the middle of a turn, without running it again', async () => {
  let turns = 0
  const began = Promise.withResolvers<void>()
  scripts(input => {
    put(input.folder!, 'new.txt', `${++turns}`)
    began.resolve()
    expect(existsSync(join(input.folder!, 'node_modules/dep'))).toBe(true)
    return turns === 1 ? aborted(input) : 'done'
  })
  const run = await fixture.solve(team({ setup: shell(install()) }))
  await began.promise
  await fixture.restart()
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'done', result: { files: ['new.txt'] } })
  expect([turns, ran().length]).toEqual([2, 1])
})

test('a setup that fails ends the task without an attempt of the agent, and says what ran, where, its end, and where all of it is', async () => {
  scripts(() => {
    throw new Error('nobody asked me')
  })
  const script = install('echo first; seq 1 2000; echo no such package >&2; exit 3;')
  const view = await fixture.finished(team({ setup: shell(script) }))
  expect(view).toMatchObject({ state: 'failed', tasks: [{ state: 'failed', attempt: 1, attempts: 2 }] })
  // Once more, since a registry may be away for a moment.
  expect(ran()).toHaveLength(2)
  const { note } = view.tasks[0]!
  expect(note).toMatch(
    /^Setup: `sh -c .*` failed \(exit code 3\) in .*\/work\/ws_[^\n]*\.\nThe whole log: .*\n\n\[…\]\n1991\n/,
  )
  expect(note).toContain('no such package')
  const log = /The whole log: (.*)\n/.exec(note!)![1]!
  expect(readFileSync(log, 'utf8')).toContain(`${Array.from({ length: 2000 }, (_, at) => at + 1).join('\n')}\n`)
  expect(statSync(log).mode & 0o777).toBe(0o600)
})

test('a setup that fails for a moment is run again in a fresh folder, and the work goes on', async () => {
  scripts(writes('new.txt'))
  const once = join(fixture.folder, 'once')
  const script = install(`[ -e left ] && exit 4; touch left; [ -e ${once} ] || { touch ${once}; exit 3; };`)
  expect(await fixture.finished(team({ setup: shell(script) }))).toMatchObject({
    state: 'done',
    result: { files: ['new.txt'] },
  })
})

test('work with which setup fails goes back to the agent with what setup printed', async () => {
  const feedback: string[] = []
  scripts(input => {
    feedback.push(...input.context.filter(({ kind }) => kind === 'feedback').map(({ text }) => text))
    put(input.folder!, 'lock', feedback.length === 0 ? 'broken\n' : 'sound, and more\n')
    return 'changed'
  })
  const view = await fixture.finished(
    team({
      setup: shell(install('grep -q sound lock || { echo lock file does not fit; exit 1; };')),
      plan: '{ id: work, agent: coder, prompt: x, review: { by: critic } }',
    }),
  )
  expect(view).toMatchObject({ state: 'done', tasks: [{ attempt: 2 }] })
  expect(feedback).toEqual([expect.stringContaining('lock file does not fit')])
})

test('a setup of the reviewer that fails by itself costs the author no attempt', async () => {
  scripts(writes('new.txt'))
  const agents = `  coder: { command: [scripted, coder], setup: [] }\n  critic: { command: [scripted, critic], setup: [sh, -c, exit 1] }`
  const plan = '{ id: work, agent: coder, prompt: x, review: { by: critic } }'
  const view = await fixture.finished(team({ setup: shell(install()), agents, plan }))
  expect(view).toMatchObject({ state: 'failed', tasks: [{ attempt: 1 }], folders: [{ agents: ['critic'] }] })
  expect(view.tasks[0]!.note).toMatch(/^Setup: `sh -c .*` failed/)
  expect(ran()).toEqual([])
})

test('two versions of a lock file, which no setup can read, are still made one', async () => {
  fixture.scripts = {
    coder: ({ folder, workspace }) => {
      put(folder!, 'lock', `${workspace}\n`)
      return 'changed'
    },
    critic: ({ folder }) => {
      if (readFileSync(join(folder!, 'lock'), 'utf8').includes('<<<<')) put(folder!, 'lock', 'both\n')
      return 'joined'
    },
  }
  const plan = ['one', 'two'].map(id => `{ id: ${id}, agent: coder, prompt: x }`).join('\n  - ')
  const merge = 'merge: { strategy: evaluated, by: critic }\n'
  const view = await fixture.finished(team({ setup: shell(install("grep -q '<<<<' lock && exit 1;")), plan }) + merge)
  expect(view.state, view.reason).toBe('done')
  expect(fixture.result(view, 'lock')).toBe('both\n')
})

test('a setup has a time limit of its own, and neither that nor an abort leaves a process', async () => {
  scripts(() => 'never')
  const hanging = 'echo begun; (setsid sleep 1000 &) ; sleep 1000;'
  const late = await fixture.finished(team({ setup: `{ run: ${shell(install(hanging))}, timeout: 400ms }` }))
  expect(late.tasks[0]!.note).toMatch(/^Setup: `sh -c .*` was not done after 400 ms and was ended/)
  expect(ran()).toHaveLength(1)
  const run = await fixture.solve(team({ setup: shell(install(hanging)) }))
  await fixture.until(run, ({ tasks }) => tasks[0]!.activity === 'setup: begun')
  await fixture.abort(run, { reason: 'enough' })
  expect((await fixture.over(run)).state).toBe('aborted')
  for (const each of [late.run, run]) expect(await findMarked(`${each}/`)).toEqual([])
  expect(fixture.leftovers()).toEqual([])
})

test('carried files are in the folders of those who get them, and a glob that names none is told', async () => {
  fixture.write('.env', 'KEY=1\n')
  const seen: string[] = []
  const look: Scripts[string] = ({ folder, agent }) => {
    if (existsSync(join(folder!, '.env'))) seen.push(agent)
    return 'ACCEPT'
  }
  fixture.scripts = { coder: look, critic: look }
  const agents = `  coder: { command: [scripted, coder] }\n  critic: { command: [scripted, critic], carry: [] }`
  const plan = '{ id: work, agent: coder, prompt: x, check: [test, -s, .env], review: { by: critic } }'
  const yaml = `${team({ setup: '[]', agents, plan })}carry: [.env, 'large/**']\n`
  const view = await fixture.finished(yaml)
  expect(view).toMatchObject({ state: 'done', folders: [{ agents: ['coder'], carry: ['.env', 'large/**'] }] })
  expect(view.warnings).toEqual(['large/** names no ignored file of the project: nothing is carried.'])
  expect(seen).toEqual(['coder#1'])
})
