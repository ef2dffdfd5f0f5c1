import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandTable } from '../commands/table.ts'
import { parley } from '../testing/parley.ts'
import { hasShell } from '../testing/shell.ts'
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
function offered(...words: string[]): string[] {
  const script = `source ./parley.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _parley; printf '%s\\n' "\${COMPREPLY[@]}"`
  const printed = execFileSync('bash', ['--norc', '-c', script, 'bash', 'parley', ...words], {
    cwd: folder,
    encoding: 'utf8',
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
