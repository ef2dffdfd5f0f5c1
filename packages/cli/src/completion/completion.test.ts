import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CallError } from '@parley/call'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandTable } from '../commands/table.ts'
import { fakeNode } from '../testing/fake-node.ts'
import { parley } from '../testing/parley.ts'
import { hasShell } from '../testing/shell.ts'
import { gateView, runView, taskView } from '../testing/views.ts'
import { bashCompletion } from './bash.ts'
import { fishCompletion } from './fish.ts'
import { type Completion, completionOf } from './words.ts'
import { zshCompletion } from './zsh.ts'

let folder: string
let completion: Completion
beforeAll(async () => {
  completion = await completionOf(commandTable)
  folder = mkdtempSync(join(tmpdir(), 'parley-completion-'))
  writeFileSync(join(folder, 'parley.bash'), bashCompletion(completion))
  writeFileSync(join(folder, 'team.yaml'), '')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What bash offers behind these words; the last one is being typed. */
const offered = (...words: string[]) => offeredWith({}, ...words)

function offeredWith(env: Record<string, string>, ...words: string[]): string[] {
  const script = `source ./parley.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _parley; printf '%s\\n' "\${COMPREPLY[@]}"`
  const printed = execFileSync('bash', ['--norc', '-c', script, 'bash', 'parley', ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  return printed.split('\n').filter(line => line !== '')
}

test('bash accepts the script', () => {
  expect(spawnSync('bash', ['-n', join(folder, 'parley.bash')])).toMatchObject({ status: 0 })
})

test('bash completes commands, second words, flags, their values and files', () => {
  expect(offered('so')).toEqual(['solve'])
  expect(offered('')).toEqual(expect.arrayContaining(['init', 'solve', 'trail', 'ws', 'help']))
  expect(offered('trail', '')).toEqual(expect.arrayContaining(['query', 'follow', 'verify', 'export']))
  expect(offered('trail', 'query', '--n')).toEqual(expect.arrayContaining(['--newest', '--no-color']))
  expect(offered('solve', '--te')).toEqual(['--team'])
  expect(offered('solve', '--team', 'te')).toEqual(['team.yaml'])
  expect(offered('runs', '--state', 'w')).toEqual(['waiting', 'working'])
  expect(offered('runs', '--state', 'da')).toEqual(['damaged'])
  for (const command of ['query', 'follow'])
    expect(offered('trail', command, '--type', 'budget_')).toEqual([
      'budget_warning',
      'budget_exceeded',
      'budget_modified',
    ])
  expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish'])
  expect(offered('--profile', 'work', 'sh')).toEqual(['show'])
  expect(offered('show', 'l')).toEqual(['last'])
  expect(offered('help', 'appr')).toEqual(['approve'])
})

test('bash offers what the node knows, and of nothing else: ids of runs, tasks, agents, what waits', () => {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'parley'), '#!/bin/sh\necho "$@" | tr " " "\\n"\n', { mode: 0o755 })
  const path = { PATH: `${bin}:${process.env.PATH}` }
  expect(offeredWith(path, 'show', '')).toEqual(['last', 'completion', '--offer', 'runs'])
  expect(offeredWith(path, 'log', '--run', 'r')).toEqual(['runs'])
  expect(offeredWith(path, 'log', 't')).toEqual(['tasks'])
  expect(offeredWith(path, 'solve', '--agent', 'a')).toEqual(['agents'])
  expect(offeredWith(path, 'approve', 'w')).toEqual(['waiting'])
  expect(offeredWith(path, '--profile', 'work', 'abort', '')).toEqual(
    expect.arrayContaining(['last', '--profile', 'work', 'runs', 'tasks']),
  )
})

test('what is offered starts no node, is empty without one, and has nothing that a shell would evaluate', async () => {
  const choices: unknown[] = []
  const node = (choice: object) => {
    choices.push(choice)
    return fakeNode({
      '/runs/list': { runs: [runView()] },
      '/tasks/list': { tasks: [taskView('docs'), taskView('$(touch x)')] },
      '/gates/list': { gates: [gateView('run_01m7aaaaaaaaaaaaaaaaaaaaaa', 'docs')] },
    })
  }
  const offer = async (kind: string) => (await parley(['completion', '--offer', kind], { node })).out.split('\n')
  expect(await offer('runs')).toEqual(['run_aaaaaa', ''])
  expect(await offer('tasks')).toEqual(['docs', ''])
  expect(await offer('waiting')).toEqual([expect.stringMatching(/^gate_/), 'run_aaaaaa', ''])
  for (const choice of choices) expect(choice).toMatchObject({ start: false, anyVersion: true })
  const away = () => {
    throw new CallError('node_not_running', 'no node')
  }
  expect(await parley(['completion', '--offer', 'runs'], { node: away })).toEqual({ code: 0, out: '', err: '' })
  writeFileSync(join(folder, 'parley.yaml'), 'version: 1\nname: t\nagents: { scribe: { command: [x] } }\n')
  expect((await parley(['completion', '--offer', 'agents'], { cwd: folder, env: { PATH: '' } })).out).toBe('scribe\n')
})

test('every command and flag is in every script', () => {
  for (const script of [bashCompletion(completion), zshCompletion(completion), fishCompletion(completion)]) {
    for (const { name, flags } of completion.commands) {
      expect(script).toContain(name)
      for (const [flag] of flags) expect(script).toContain(flag)
    }
  }
})

test.runIf(hasShell('zsh'))('zsh accepts the script', () => {
  expect(spawnSync('zsh', ['-n', '-c', zshCompletion(completion)])).toMatchObject({ status: 0 })
})

test.runIf(hasShell('zsh'))('zsh offers what the node knows', () => {
  const bin = join(folder, 'zsh-bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'parley'), '#!/bin/sh\necho run_of_$3\n', { mode: 0o755 })
  writeFileSync(join(folder, 'parley.zsh'), zshCompletion(completion))
  const script = `autoload -U compinit; compinit -u -D; source ./parley.zsh
compadd() { print -r -- $found }
_parley_offer -J x "+last runs"`
  const printed = execFileSync('zsh', ['-f', '-c', script], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
  })
  expect(printed).toBe('last run_of_runs\n')
})

test.runIf(hasShell('fish'))('fish offers what the node knows', () => {
  const bin = join(folder, 'fish-bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'parley'), '#!/bin/sh\necho run_of_$3\n', { mode: 0o755 })
  writeFileSync(join(folder, 'parley.fish'), fishCompletion(completion))
  const printed = execFileSync('fish', ['--no-config', '-c', 'source ./parley.fish; complete -C "parley show "'], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
  })
  expect(printed.split('\n')).toEqual(expect.arrayContaining(['last', 'run_of_runs']))
})

test.runIf(hasShell('fish'))('fish accepts the script', () => {
  expect(spawnSync('fish', ['-n', '-c', fishCompletion(completion)])).toMatchObject({ status: 0 })
})

test('quotes are balanced in the scripts for zsh and fish', () => {
  // A single quote inside quotes is written as '\'' for zsh and as \' for fish.
  const zsh = zshCompletion(completion).replaceAll("'\\''", '')
  const fish = fishCompletion(completion).replaceAll("\\'", '')
  for (const script of [zsh, fish]) {
    for (const line of script.split('\n').filter(each => !each.startsWith('#'))) {
      expect(line.split("'").length % 2, line).toBe(1)
    }
  }
})

test('parley completion prints the script', async () => {
  expect(await parley(['completion', 'bash'])).toEqual({
    code: 0,
    out: bashCompletion(completion),
    err: '',
  })
})
