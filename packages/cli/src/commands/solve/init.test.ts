import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { EXAMPLES, exampleText } from '../../examples.ts'
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

test('below a team file it prepares the project of that file, and says so; a named folder gets its own', async () => {
  const folder = tempFolder()
  mkdirSync(join(folder, '.git'))
  mkdirSync(join(folder, 'deep'))
  writeFileSync(join(folder, 'parley.yaml'), 'name: ours\n')
  const deep = join(folder, 'deep')
  const ran = await parley(['init'], { cwd: deep, env: { PATH: '' } })
  expect(ran.err).toContain(`The project is ${folder}, which has parley.yaml; \`parley init .\``)
  expect(existsSync(join(deep, 'parley.yaml'))).toBe(false)
  expect(existsSync(join(folder, 'AGENTS.md'))).toBe(true)
  await parley(['init', '.'], { cwd: deep, env: { PATH: '' } })
  expect(existsSync(join(deep, 'parley.yaml'))).toBe(true)
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

test('without an agent on PATH the example gets the setup of the project as well', async () => {
  writeFileSync(join(project, 'package-lock.json'), '{}')
  expect((await init()).out).toContain('no known agent was found on PATH, and `setup: [npm, ci]`\n')
  expect(readTeamFile(read('parley.yaml'), 'parley.yaml').setup?.run).toEqual(['npm', 'ci'])
  expect((await init()).out).toContain('parley.yaml: exists; left unchanged\n')
})

test('dependencies outside the project are named: folders of agents do not have them', async () => {
  const dependencies = { money: 'file:../money', own: 'file:./own', other: '^1.0.0' }
  writeFileSync(join(project, 'package.json'), JSON.stringify({ dependencies }))
  expect((await init()).err).toMatch(
    /^warning: money \(file:\.\.\/money\) is outside the project, so .* npm pack \.\.\/money --pack-destination vendor.*\n$/,
  )
  mkdirSync(join(folder, '.git'))
  expect((await init()).err).toBe('')
})

test('a team file without a description is for solve', async () => {
  writeFileSync(join(project, 'parley.yaml'), 'version: 1\nname: x\n')
  expect((await init()).out).toContain('Next: parley solve "what you want"\n')
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

const NOTHING_FOUND =
  'None of the known agents was found on PATH: install claude and codex, or name others under `agents`.'

test.each(EXAMPLES)('--example %s is adapted to the agents and the package manager that are there', async name => {
  const asked = exampleText(name).includes('{intent}')
  const adapted = async (lock: string | undefined, ...agents: string[]) => {
    for (const file of ['parley.yaml', 'uv.lock', 'package-lock.json']) rmSync(join(project, file), { force: true })
    rmSync(join(folder, 'bin'), { recursive: true, force: true })
    if (lock !== undefined) writeFileSync(join(project, lock), '')
    install(...agents)
    const { out, code } = await init('--example', name, '--json')
    expect(code).toBe(0)
    const team = readTeamFile(read('parley.yaml'), 'parley.yaml')
    expect(read('parley.yaml')).not.toContain('$schema')
    const { notes } = JSON.parse(out) as { notes: string[] }
    const presets = Object.values(team.agents).flatMap(({ preset }) => (preset === undefined ? [] : [preset]))
    return { notes, presets: [...new Set(presets)], team, text: read('parley.yaml') }
  }
  const whole = await adapted('package-lock.json', 'claude', 'codex')
  expect(whole.notes).toEqual([])
  expect(whole.text.replaceAll("'! npm test'", '"! npm test"')).toBe(exampleText(name).replace(/^#.*\n/, ''))
  const others = await adapted('package-lock.json', 'gemini', 'qwen')
  expect(others.presets).toEqual(['gemini', 'qwen'].slice(0, whole.presets.length))
  const python = await adapted('uv.lock', 'codex')
  expect(python.presets).toEqual(['codex'])
  expect(python.text).not.toMatch(/^setup: \[npm|check: .*npm/m)
  expect(python.text.includes('uv')).toBe(/^setup:|check: .*npm/m.test(whole.text))
  expect(python.notes.some(each => each.startsWith('Only codex was found'))).toBe(whole.presets.length > 1)
  expect(python.notes.some(each => each.startsWith('It is written for npm'))).toBe(name === 'upgrade-dependencies')
  const bare = await adapted(undefined)
  expect(bare.presets).toEqual(whole.presets)
  expect(bare.notes[0]).toBe(NOTHING_FOUND.replace(' and codex', whole.presets.length > 1 ? ' and codex' : ''))
  expect(bare.text).not.toMatch(/^setup:/m)
  expect((await init('--example', name)).out).toContain(`parley.yaml: is the example ${name} already\n`)
  writeFileSync(join(project, 'parley.yaml'), 'mine')
  const next = asked ? `parley solve --team ${name}.yaml "what you want"` : `parley run ${name}.yaml`
  const beside = (await init('--example', name)).out
  expect(beside).toContain(`${name}.yaml: written, from the example ${name}\n`)
  expect(beside).toContain(`Next: ${next}\n`)
  writeFileSync(join(project, `${name}.yaml`), 'mine too')
  expect((await init('--example', name)).out).toContain(`${name}.yaml: exists; left unchanged\n`)
  expect([read('parley.yaml'), read(`${name}.yaml`)]).toEqual(['mine', 'mine too'])
})

test('a test that must fail does so too where several commands test the project', async () => {
  for (const lock of ['package-lock.json', 'Cargo.lock']) writeFileSync(join(project, lock), '')
  install('claude', 'codex')
  await init('--example', 'fix-issue')
  expect(read('parley.yaml')).toContain("check: [sh, -c, '! { npm test && cargo test --locked; }']")
})

test('--list says what each example is for, and writes nothing', async () => {
  const { out } = await init('--list')
  expect(out).toMatch(/^fix-issue {13}Fixes an issue with a test that failed before/m)
  const { examples } = JSON.parse((await init('--list', '--json')).out) as { examples: object[] }
  expect(examples.map(each => Object.keys(each))).toEqual(EXAMPLES.map(() => ['name', 'description']))
  expect(existsSync(join(project, 'parley.yaml'))).toBe(false)
  const wrong = await init('--example', 'fix-everything')
  expect([wrong.code, wrong.err.includes('nightly-audit')]).toEqual([2, true])
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
