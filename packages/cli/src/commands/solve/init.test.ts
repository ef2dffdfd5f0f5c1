import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { readTeamFile } from '../../team-file.ts'
import { tempFolder } from '../../testing/folder.ts'
import { parley } from '../../testing/parley.ts'
import { BEGIN, END, withSection } from './markers.ts'
import { teamName, teamTemplate } from './team-template.ts'

let folder: string
let project: string
beforeEach(() => {
  folder = tempFolder()
  project = join(folder, 'My Project!')
  mkdirSync(project)
})

const read = (file: string) => readFileSync(join(project, file), 'utf8')
const init = (...args: string[]) => parley(['init', ...args], { cwd: project, env: { PATH: join(folder, 'bin') } })

function install(...programs: string[]) {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  for (const program of programs) {
    writeFileSync(join(folder, 'bin', program), '#!/bin/sh\n')
    chmodSync(join(folder, 'bin', program), 0o755)
  }
}

test('it writes a team file and notes for agents, and a second time changes nothing', async () => {
  const first = await init()
  expect(first.code).toBe(0)
  expect(first.out).toBe(
    'parley.yaml: written, with plain commands as an example, since no known agent was found on PATH\n' +
      'AGENTS.md: notes for agents added between markers\n\nNext: parley run parley.yaml\n',
  )
  const before = [read('parley.yaml'), read('AGENTS.md')]
  const second = await init()
  expect(second.out).toContain('parley.yaml: exists; left unchanged\nAGENTS.md: already has the notes for agents\n')
  expect([read('parley.yaml'), read('AGENTS.md')]).toEqual(before)
  expect(existsSync(join(project, 'CLAUDE.md'))).toBe(false)
})

test('in a repository without a commit it says that one is needed first', async () => {
  const said = async () => (await init()).out.split('\n').slice(-4)
  expect((await said()).join('\n')).not.toContain('commit')
  execFileSync('git', ['init', '--quiet', project])
  expect(await said()).toEqual([
    'This repository has no commit yet, and a run starts from one.',
    'Next: git add . && git commit -m "Begin"',
    'Then: parley run parley.yaml',
    '',
  ])
})

test('the team is made of the agents that are there', async () => {
  install('codex', 'claude')
  const { out } = await init('--json')
  expect(JSON.parse(out)).toMatchObject({
    agents: ['claude', 'codex'],
    files: [
      { file: 'parley.yaml', did: 'written' },
      { file: 'AGENTS.md', did: 'added' },
    ],
  })
  expect(read('parley.yaml')).toContain('name: my-project\n')
  expect(read('parley.yaml')).toContain('preset: claude')
  expect(read('parley.yaml')).toContain('by: codex')
})

const two = "[sh, -c, 'npm ci && cargo fetch --locked']"
test.each([
  ['package-lock.json', '[npm, ci]', '[npm, test]'],
  ['pnpm-lock.yaml', '[pnpm, install, --frozen-lockfile]', '[pnpm, test]'],
  ['yarn.lock', '[yarn, install, --frozen-lockfile]', '[yarn, test]'],
  ['yarn.lock .yarnrc.yml', '[yarn, install, --immutable]', '[yarn, test]'],
  ['uv.lock requirements.txt', '[uv, sync, --locked]', '[uv, run, pytest, -q]'],
  [
    'requirements.txt',
    "'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt']",
    ".venv/bin/pytest -q']",
  ],
  ['Cargo.lock', '[cargo, fetch, --locked]', '[cargo, test, --locked]'],
  ['go.sum', '[go, mod, download]', '[go, test, ./...]'],
  ['Cargo.lock npm-shrinkwrap.json', two, "[sh, -c, 'npm test && cargo test --locked']"],
])('for a project with %s the team sets up its folders', async (locks, setup, check) => {
  for (const lock of locks.split(' ')) writeFileSync(join(project, lock), '')
  install('claude', 'codex')
  const { out } = await init()
  expect(out).toContain('parley.yaml: written, with claude and codex, and `setup: [')
  expect(read('parley.yaml')).toMatch(/^setup: \[/m)
  expect(read('parley.yaml')).toContain(setup)
  expect(read('parley.yaml')).toContain(check)
  const team = readTeamFile(read('parley.yaml'), 'parley.yaml')
  expect(team.agents.claude?.setup?.run).toEqual((JSON.parse((await init('--json')).out) as { setup: string[] }).setup)
})

test('a team file without a setup is left as it is, and the setup is offered', async () => {
  writeFileSync(join(project, 'parley.yaml'), 'mine')
  writeFileSync(join(project, 'go.sum'), '')
  expect((await init()).out).toContain('left unchanged; `setup: [go, mod, download]` in it would install what go.sum')
  expect(read('parley.yaml')).toBe('mine')
})

test('what a person wrote stays, outside the markers and in the team file', async () => {
  writeFileSync(join(project, 'parley.yaml'), 'mine')
  writeFileSync(join(project, 'AGENTS.md'), `# Ours\n\n${BEGIN}\nold notes\n${END}\n\nMore of ours`)
  writeFileSync(join(project, 'CLAUDE.md'), 'Be kind.')
  const { out } = await init()
  expect(out).toContain('AGENTS.md: notes for agents updated between the markers')
  expect(out).toContain('CLAUDE.md: notes for agents added')
  expect(read('parley.yaml')).toBe('mine')
  expect(read('AGENTS.md')).toMatch(
    /^# Ours\n\n<!-- parley:begin -->\n## Working[\s\S]*<!-- parley:end -->\n\nMore of ours$/,
  )
  expect(read('AGENTS.md')).not.toContain('old notes')
  expect(read('CLAUDE.md')).toMatch(/^Be kind\.\n\n<!-- parley:begin -->/)
})

test('markers that are no pair are left alone, and it says so', async () => {
  const text = `${END}\nours\n${BEGIN}\n`
  writeFileSync(join(project, 'AGENTS.md'), text)
  const { out, code } = await init()
  expect(code).toBe(0)
  expect(out).toContain('AGENTS.md: left unchanged')
  expect(read('AGENTS.md')).toBe(text)
})

test('CLAUDE.md that is a link to AGENTS.md gets the notes once', async () => {
  writeFileSync(join(project, 'AGENTS.md'), 'Ours.\n')
  symlinkSync('AGENTS.md', join(project, 'CLAUDE.md'))
  await init()
  await init()
  expect(read('AGENTS.md').split(BEGIN).length).toBe(2)
})

test('a folder that is not there is refused', async () => {
  expect((await init('nowhere')).code).toBe(3)
})

test('sections are added, updated or the same', () => {
  const added = withSection('text', 'section')
  expect(added).toEqual({ kind: 'added', text: `text\n\n${BEGIN}\nsection\n${END}\n` })
  expect(withSection(added.kind === 'broken' ? '' : added.text, 'section').kind).toBe('same')
  expect(withSection(`${BEGIN}\n${BEGIN}\n${END}`, 'x').kind).toBe('broken')
  expect(withSection(`${BEGIN} only`, 'x').kind).toBe('broken')
})

test('any folder gives a name that a team may have', () => {
  for (const name of ['My Project!', '---', 'Übung 3', '日本', 'a'.repeat(100), '-x-', '.hidden'])
    expect(teamName(name)).toMatch(/^[a-z0-9][a-z0-9-]{0,63}$/)
})

test('every template has what a team file needs', () => {
  for (const agents of [[], ['claude'], ['claude', 'codex', 'qwen']]) {
    const text = teamTemplate(agents, 'x')
    for (const key of ['version: 1', 'name: x', 'description: ', 'agents:', 'approval: ask'])
      expect(text).toContain(`\n${key}`)
    expect(text).not.toContain('\t')
  }
})
