// What a person reads before a run starts and when it is over.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { following } from '../testing/fake-node.ts'
import { tempFolder } from '../testing/folder.ts'
import { parley } from '../testing/parley.ts'
import { done, node, solve, waiting, working } from '../testing/solving.ts'
import { FakeTerminal } from '../testing/terminal.ts'
import { runView, stepView, taskView } from '../testing/views.ts'

test('a plan is not approved blindly: details show what runs, the prompt, what it may change, check, review and limits', async () => {
  const folder = tempFolder()
  writeFileSync(
    join(folder, 'parley.yaml'),
    `version: 1
name: house
agents:
  writer: { command: [sh, -c, 'rm -r dust'], env: { ROOM: attic }, pass: [BROOM_KEY], timeout: 5m }
  critic: { preset: claude, model: strict }
  helper: { command: [tidy] }
  second: { preset: codex }
limits: { concurrency: 3, timeout: 1h }
plan:
  - id: scan
    title: Scan the house
    agent: writer
    prompt: "Do this: {intent}"
    paths: [dust/**]
    check: [npm, test]
    fallback: helper
    review: { by: critic, prompt: Is it clean?, fallback: [second, helper] }
`,
  )
  const folders = [{ agents: ['writer'], setup: ['npm', 'ci'], carry: ['.env.test'] }]
  const { api } = node(following([{ ...waiting, folders }], [done]))
  const terminal = new FakeTerminal({ interactive: true, keys: ['d', 'y'] })
  const ran = await parley(['solve', 'Tidy the house'], { node: api, terminal, cwd: folder })
  expect(ran.code).toBe(0)
  const furnished = 'setup npm ci and copies of .env.test in every folder'
  const seen = terminal.output.replaceAll('\u001b[K', '')
  expect(seen).toContain(`\n${furnished}\n`)
  expect(seen).toContain(`intent   Tidy the house
limits   3 turns at once, ends after 1h00m
folders  ${furnished}

scan: Scan the house
  agent    writer
  runs     sh -c 'rm -r dust'
  env      ROOM=attic
  gets     BROOM_KEY
  or       helper (tidy)
  prompt   Do this: Tidy the house
  changes  dust/**
  check    npm test
  review   by critic (preset claude, model strict): Is it clean?
  or       second (preset codex)
  command  codex exec --json --sandbox workspace-write --skip-git-repo-check -
  or       helper (tidy)
  limits   2 attempts at most, 5m00s a turn
`)
  const waits = await parley(['solve', 'Tidy the house'], {
    node: node(following([waiting])).api,
    cwd: folder,
  })
  expect(waits.err).toContain("runs     sh -c 'rm -r dust'")
})

test('the details of one agent alone say what it runs, as the node knows it', async () => {
  const agents = [{ name: 'writer', runs: 'preset claude', facts: [{ label: 'command', text: 'claude -p --verbose' }] }]
  const { api } = node(following([waiting], [done]), { '/solve/start': { run: waiting.run, warnings: [], agents } })
  const terminal = new FakeTerminal({ interactive: true, keys: ['d', 'y'] })
  await solve({ node: api, terminal })
  const seen = terminal.output.replaceAll('\u001b[K', '')
  expect(seen).toContain('  agent    writer\n  runs     preset claude\n  command  claude -p --verbose\n  limits ')
})

test('a warning about a line of the team file names the file', async () => {
  const folder = tempFolder()
  writeFileSync(join(folder, 'parley.yaml'), 'version: 1\nname: t\nagents: { a: { command: [x] } }\n')
  const warned = { run: waiting.run, warnings: ['line 3: No task uses b.', 'concurrency is 8'], agents: [] }
  const { api } = node(following([done]), { '/solve/start': warned })
  const { err } = await parley(['solve', 'x', '--yes'], { node: api, cwd: folder })
  expect(err).toBe('warning: parley.yaml: line 3: No task uses b.\nwarning: concurrency is 8\n')
})

test('one line too many is shown: to say so would take its place', async () => {
  const text = Array.from({ length: 41 }, (_, index) => `Line ${index} of the answer`).join('\n')
  const answered = runView({ ...done, tasks: [{ ...done.tasks[0]!, steps: [stepView({ text })] }] })
  const terminal = new FakeTerminal({ interactive: true })
  const { out } = await solve({ node: node(following([answered])).api, terminal }, '--yes')
  expect(out).toContain('Line 40 of the answer')
  expect(out).not.toContain('more line')
})

test('what the team has to say is printed at the end: one answer whole', async () => {
  const text = Array.from({ length: 30 }, (_, index) => `Line ${index} of the answer`).join('\n')
  const answered = runView({ ...done, tasks: [{ ...done.tasks[0]!, steps: [stepView({ text })] }] })
  const { out } = await solve({ node: node(following([answered])).api }, '--yes')
  expect(out).toContain(`${text}\n\nDone. 1 of 1 task`)
  expect((await solve({ node: node(following([answered])).api }, '--yes', '--quiet')).out).toMatch(/^Line 0 of/)
})

test('on a terminal a long answer is folded, with a hint where all of it is; a program gets it whole', async () => {
  const text = Array.from({ length: 300 }, (_, index) => `Line ${index} of the answer`).join('\n')
  const answered = runView({ ...done, tasks: [{ ...done.tasks[0]!, steps: [stepView({ text })] }] })
  const terminal = new FakeTerminal({ interactive: true })
  const { out } = await solve({ node: node(following([answered])).api, terminal }, '--yes')
  expect(out).toContain('Line 39 of the answer\n… 260 more lines\nFull text: parley show run_aaaaaa --full\n')
  expect(out).not.toContain('Line 40 of')
  expect((await solve({ node: node(following([answered])).api }, '--yes')).out).toContain(text)
})

test('of several answers the beginning of each is printed, and none of a task that others build on', async () => {
  const long = Array.from({ length: 30 }, (_, index) => `Line ${index}`).join('\n')
  const task = (id: string, text: string, needs: string[] = []) =>
    taskView(id, { state: 'done', needs, steps: [stepView({ text })] })
  const several = runView({
    ...done,
    tasks: [task('first', 'Only a step.'), task('one', long, ['first']), task('two', 'Short.', ['first'])],
  })
  const { out } = await solve({ node: node(following([several])).api }, '--yes')
  expect(out).toContain('one:\n    Line 0\n')
  expect(out).toContain('    … 24 more lines\ntwo:\n    Short.\n')
  expect(out).toContain('parley show run_aaaaaa --full')
  expect(out).not.toContain('Only a step.')
})

test('a warning is told at the start, once, and the failure of a task is told once at the end', async () => {
  const warnings = ['2 uncommitted changes are not part of it.']
  const failed = runView({
    state: 'failed',
    warnings,
    reason: 'scan: no house',
    tasks: [taskView('scan', { state: 'failed', note: 'no house', attempt: 1 })],
  })
  const { api } = node(following([{ ...working, warnings }, { ...working, warnings }, failed]))
  const ran = await solve({ node: api }, '--yes')
  expect(ran.err).toBe(`warning: ${warnings[0]}\n`)
  expect(ran.out.slice(ran.out.indexOf('Failed.')).match(/no house/g)?.length).toBe(1)
})

test('a file that was put back twice is named once', async () => {
  const twice = runView({ ...done, tasks: [{ ...done.tasks[0]!, refused: ['w.txt', 'w.txt'] }] })
  expect((await solve({ node: node(following([twice])).api }, '--yes')).out).toContain(
    '\n    not allowed, reverted: w.txt\n',
  )
})

test('a result that is no branch is taken over in the same way, and says what was deleted', async () => {
  const { branch: _, ...result } = done.result!
  const copied = {
    ...done,
    project: "/home/it's mine",
    result: { ...result, folder: '/profile/result', deleted: [result.files[0]!] },
  }
  const { out } = await solve({ node: node(following([copied])).api }, '--yes')
  expect(out).toContain('result  folder /profile/result\n')
  expect(out).toMatch(/^take {4}parley apply run_\w{6}$/m)
  expect(out).toContain(`  ${result.files[0]} (deleted)\n`)
})
