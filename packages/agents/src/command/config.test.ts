import { expect, test } from 'vitest'
import { planOf } from '../testing/command.ts'
import { commandFields } from './config.ts'

test('what is left out has a default', () => {
  expect(planOf({ command: ['run', 'it'] })).toEqual({
    ok: true,
    value: {
      command: ['run', 'it'],
      prompt: 'stdin',
      output: 'text',
      env: {},
      pass: [],
      timeoutMs: 30 * 60_000,
      maxOutput: 8 * 2 ** 20,
    },
  })
})

test.each([
  [['x', '{prompt}'], 'argument'],
  [['x', '--file={prompt_file}'], 'file'],
  [['x', '{folder}'], 'stdin'],
])('how the prompt goes in is seen from the command %j', (command, prompt) => {
  expect(planOf({ command })).toMatchObject({ ok: true, value: { prompt } })
})

test('a preset brings its command, and takes a model and arguments', () => {
  const plan = planOf({ preset: 'codex', model: 'm1', args: ['--x'], pass: ['MINE'] })
  expect(plan).toMatchObject({
    ok: true,
    value: {
      command: [
        'codex',
        'exec',
        '--json',
        '--sandbox',
        'workspace-write',
        '--skip-git-repo-check',
        '--model',
        'm1',
        '--x',
        '-',
      ],
      prompt: 'stdin',
      output: 'codex',
    },
  })
  expect(plan.ok && plan.value.pass).toEqual(expect.arrayContaining(['CODEX_API_KEY', 'MINE']))
})

test.each([
  [{}, 'give a `command`, or a `preset`'],
  [{ command: [] }, 'command'],
  [{ command: [''] }, 'is empty'],
  [{ command: ['a\0b'] }, 'command'],
  [{ command: ['x'], shell: true }, 'shell'],
  [{ command: ['x'], model: 'm' }, 'only a preset has a model'],
  [{ command: ['x'], args: [] }, 'only a preset takes `args`'],
  [{ preset: 'claude', command: ['x'] }, 'brings its own'],
  [{ preset: 'claude', prompt: 'file' }, 'brings its own'],
  [{ preset: 'claude', output: 'text' }, 'brings its own'],
  [{ preset: 'chatty' }, 'preset'],
  [{ command: ['{prompt}'] }, 'cannot name the program'],
  [{ command: ['x', '{prompt}', '{prompt_file}'] }, 'not both'],
  [{ command: ['x', '{prompt}'], prompt: 'stdin' }, 'does not fit'],
  [{ command: ['x', '{prompt_file}'], prompt: 'none' }, 'does not fit'],
  [{ command: ['x'], prompt: 'argument' }, 'needs {prompt}'],
  [{ command: ['x'], prompt: 'file' }, 'needs {prompt_file}'],
  [{ command: ['x'], output: 'xml' }, 'output'],
  [{ command: ['x'], max_output: '2GiB' }, 'is not between'],
  [{ command: ['x'], max_output: 'lots' }, 'max_output'],
  [{ command: ['x'], env: { 'A B': 'x' } }, 'agent'],
  [{ command: ['x'], env: { A: 1 } }, 'env'],
  [{ command: ['x'], pass: ['A=B'] }, 'pass'],
])('%j is refused: %s', (config, words) => {
  const plan = planOf(config)
  expect(plan).toMatchObject({ ok: false, error: { code: 'invalid_agent' } })
  expect(!plan.ok && plan.error.message).toContain(words)
})

test('every field of the schema says what it is, for editors', () => {
  for (const [name, field] of Object.entries(commandFields))
    expect([name, (field as { description?: string }).description]).toEqual([name, expect.stringMatching(/\.$/)])
})

test('the schema has no reference to anything outside: it can be embedded', () => {
  expect(JSON.stringify(commandFields)).not.toContain('$ref')
})
