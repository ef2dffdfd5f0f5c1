// Each preset against a scripted fake of its program, which prints what the real one prints.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TurnEvent, Usage } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { commandKind } from './command/kind.ts'
import { type PresetName, presetNames, presets } from './presets.ts'
import { Workshop } from './testing/workshop.ts'

const fixtures = join(import.meta.dirname, 'testing', 'fixtures')

/** A fake on a PATH of its own; it notes what it was given and prints a fixture. */
function fake(shop: Workshop, name: PresetName, printed?: string, exitCode = 0): string {
  const lines = printed ?? readFileSync(join(fixtures, `${name}.jsonl`), 'utf8')
  shop.file('printed', lines)
  shop.node(
    join('bin', name),
    `import { readFileSync, writeFileSync } from 'node:fs'
     const input = readFileSync(0, 'utf8')
     const noted = { args: process.argv.slice(2), input, cwd: process.cwd(), env: process.env }
     writeFileSync(${JSON.stringify(join(shop.folder, 'noted'))}, JSON.stringify(noted))
     process.stdout.write(readFileSync(${JSON.stringify(join(shop.folder, 'printed'))}))
     process.stderr.write('loading extensions\\n')
     process.exitCode = ${exitCode}`,
  )
  return shop.path(join(shop.folder, 'bin'))
}

interface Expected {
  readonly args: readonly string[]
  readonly text: string
  readonly usage: Usage
  readonly key: string
  readonly events: readonly TurnEvent[]
}

const tool = (name: string, state: 'started' | 'finished' | 'failed', summary?: string): TurnEvent => ({
  type: 'tool',
  name,
  state,
  ...(summary !== undefined && { summary }),
})
const text = (said: string): TurnEvent => ({ type: 'text', text: said })

const expected: { readonly [Name in PresetName]: Expected } = {
  claude: {
    args: [
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--permission-mode',
      'acceptEdits',
      '--model',
      'm1',
      '--x',
    ],
    text: 'The README is fixed.',
    usage: { tokensIn: 39_519, tokensOut: 412, tokensCached: 38_500, usd: 0.0421 },
    key: 'ANTHROPIC_API_KEY',
    events: [
      { type: 'thinking', text: 'I should read the file first.' },
      text("I'll read the file."),
      tool('Read', 'started', '/project/README.md'),
      tool('Read', 'finished'),
      tool('Bash', 'started', 'npm test'),
      tool('Bash', 'failed'),
      text('The README is fixed.'),
    ],
  },
  codex: {
    args: ['exec', '--json', '--sandbox', 'workspace-write', '--skip-git-repo-check', '--model', 'm1', '--x', '-'],
    text: 'Done: the README says hello.',
    usage: { tokensIn: 24_763, tokensOut: 122, tokensCached: 24_448 },
    key: 'CODEX_API_KEY',
    events: [
      { type: 'thinking', text: '**Looking for the bug**' },
      tool('shell', 'started', 'bash -lc ls'),
      tool('shell', 'finished', 'bash -lc ls'),
      tool('edit', 'finished', 'README.md, docs/a.md'),
      tool('shell', 'failed', "bash -lc 'npm test'"),
      tool('docs/lookup', 'finished'),
      { type: 'notice', text: 'Reconnecting... 1/5' },
      text('I fixed the README.'),
      text('Done: the README says hello.'),
    ],
  },
  gemini: {
    args: ['--output-format', 'stream-json', '--approval-mode', 'auto_edit', '--model', 'm1', '--x'],
    text: 'The README is fixed.',
    usage: { tokensIn: 9000, tokensOut: 100, tokensCached: 7000 },
    key: 'GEMINI_API_KEY',
    events: [
      text("I'll look at the file."),
      tool('read_file', 'started', '/project/README.md'),
      tool('read_file', 'finished'),
      tool('run_shell_command', 'started', 'npm test'),
      tool('run_shell_command', 'failed', 'denied by policy'),
      { type: 'notice', text: 'Loop detected' },
      text('The README is fixed.'),
    ],
  },
  opencode: {
    args: ['run', '--format', 'json', '--model', 'm1', '--x'],
    text: 'The README is fixed.\nNothing else was touched.',
    usage: { tokensIn: 38_263, tokensOut: 259, tokensCached: 37_944, usd: 0.03 },
    key: 'OPENROUTER_API_KEY',
    events: [
      text('I look at the file.'),
      tool('read', 'finished', 'README.md'),
      tool('bash', 'failed', 'The user rejected permission'),
      text('The README is fixed.'),
      text('Nothing else was touched.'),
    ],
  },
  qwen: {
    args: ['--output-format', 'stream-json', '--approval-mode', 'auto-edit', '--model', 'm1', '--x'],
    text: 'The README is fixed.',
    usage: { tokensIn: 1500, tokensOut: 50, tokensCached: 300 },
    key: 'DASHSCOPE_API_KEY',
    events: [
      text('I edit it.'),
      tool('edit', 'started', '/project/README.md'),
      tool('edit', 'finished'),
      text('The README is fixed.'),
    ],
  },
}

describe.each(presetNames)('the preset %s', name => {
  test('gives the prompt on standard input, reads events, usage and the answer', async () => {
    const shop = new Workshop()
    const { args, text: answer, usage, key, events: wanted } = expected[name]
    const environment = { PATH: fake(shop, name), [key]: 'key-0123456789', SOMETHING_ELSE: 'x' }
    const input = { prompt: 'Fix it', context: [{ kind: 'directive', title: 'How', text: 'Gently.' }] }
    const { result, events } = await shop.take({ preset: name, model: 'm1', args: ['--x'] }, input, {
      environment,
    })
    const noted = JSON.parse(shop.read('noted'))
    expect(noted.args).toEqual(args)
    expect(noted.input).toBe('Fix it\n\n## How\n\nGently.\n')
    expect(noted.env).toMatchObject({ [key]: 'key-0123456789', PWD: shop.work })
    expect(noted.env.SOMETHING_ELSE).toBeUndefined()
    expect(result).toMatchObject({ outcome: 'complete', text: answer })
    expect(result.usage).toEqual(usage)
    const seen = events.filter(event => event.type !== 'usage' && JSON.stringify(event).indexOf('loading') < 0)
    expect(seen).toEqual(wanted)
    const reported = events.filter(event => event.type === 'usage')
    expect(reported.at(-1)).toEqual({ type: 'usage', usage })
  })

  test('output that is cut off anywhere, or strange, never breaks a turn', async () => {
    const shop = new Workshop()
    const lines = readFileSync(join(fixtures, `${name}.jsonl`), 'utf8')
    const strange = lines
      .split('\n')
      .flatMap(line => [line.slice(0, line.length / 2), line.replaceAll(/"(\w+)":/g, '"$1":null,"x$1":'), line])
      .join('\n')
    const environment = { PATH: fake(shop, name, strange.slice(0, -20)) }
    const { result } = await shop.take({ preset: name }, {}, { environment })
    expect(result.outcome).toBe('complete')
  })

  test('says what it needs, and passes on the credentials that it names', () => {
    const { needs } = presets[name]
    expect(needs.hosts.length).toBeGreaterThan(0)
    expect(needs.help).toMatch(/\.$/)
    expect(needs.credentials.variables).not.toEqual([])
    for (const variable of needs.credentials.variables) expect(commandKind.passes({ preset: name })).toContain(variable)
    for (const file of needs.credentials.files) expect(file).toMatch(/^~\//)
  })
})

const failures: readonly [PresetName, object, string][] = [
  [
    'claude',
    {
      type: 'result',
      subtype: 'error_max_turns',
      is_error: false,
      usage: { input_tokens: 5, output_tokens: 1 },
    },
    'error_max_turns',
  ],
  [
    'claude',
    { type: 'result', subtype: 'success', is_error: true, result: 'Invalid API key', total_cost_usd: 0 },
    'Invalid API key',
  ],
  ['codex', { type: 'turn.failed', error: { message: 'stream disconnected' } }, 'stream disconnected'],
  ['gemini', { type: 'result', status: 'error', error: { type: 'FatalAuth', message: 'no login' } }, 'no login'],
  ['opencode', { type: 'error', error: { name: 'ProviderAuthError', data: { message: 'no key' } } }, 'no key'],
  ['qwen', { type: 'result', subtype: 'error_during_execution', is_error: true, error: { message: 'quota' } }, 'quota'],
]

test.each(failures)('%s says that it failed by %j: the turn failed', async (name, line, message) => {
  for (const exitCode of [0, 1]) {
    const shop = new Workshop()
    const environment = { PATH: fake(shop, name, `${JSON.stringify(line)}\n`, exitCode) }
    const { result } = await shop.take({ preset: name }, {}, { environment })
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: exitCode === 0 ? 'agent_error' : 'exit_nonzero', details: { reported: message } },
    })
  }
})

test('gemini with one object instead of a stream, and an older qwen with the shapes of gemini, are understood', async () => {
  const one = {
    response: 'All good.',
    stats: {
      models: {
        a: { tokens: { prompt: 10, candidates: 2, cached: 4 } },
        b: { tokens: { prompt: 5, candidates: 1, cached: 0 } },
      },
    },
  }
  const shop = new Workshop()
  const { result } = await shop.take(
    { preset: 'gemini' },
    {},
    { environment: { PATH: fake(shop, 'gemini', JSON.stringify(one)) } },
  )
  expect(result).toMatchObject({ text: 'All good.', usage: { tokensIn: 15, tokensOut: 3, tokensCached: 4 } })
  const old = new Workshop()
  const lines = readFileSync(join(fixtures, 'gemini.jsonl'), 'utf8')
  const older = await old.take({ preset: 'qwen' }, {}, { environment: { PATH: fake(old, 'qwen', lines) } })
  expect(older.result).toMatchObject({ text: expected.gemini.text, usage: expected.gemini.usage })
})

test('presets are found on a PATH, with the versions that they print', async () => {
  const shop = new Workshop()
  shop.shell('one/claude', 'echo "2.1.302 (Claude Code)"')
  shop.shell('two/claude', 'echo 1.0.0')
  shop.shell('two/codex', 'echo "codex-cli 0.50.0-alpha.3"')
  shop.shell('two/gemini', 'echo broken >&2; exit 1')
  shop.shell('two/opencode', 'echo no digits here')
  shop.file('one/qwen', '#!/bin/sh\necho 9.9.9', 0o644)
  const path = ['', join(shop.folder, 'one'), join(shop.folder, 'gone'), join(shop.folder, 'two')].join(':')
  const place = { path: `${path}:/bin:/usr/bin` }
  const found = presetNames.filter(preset => commandKind.missing({ preset }, place) === undefined)
  expect(found).toEqual(['claude', 'codex', 'gemini', 'opencode'])
  const versions = await Promise.all(presetNames.map(preset => commandKind.version?.({ preset }, place)))
  expect(versions).toEqual(['2.1.302', '0.50.0-alpha.3', undefined, undefined, undefined])
  expect(await commandKind.version?.({ command: ['codex'] }, place)).toBeUndefined()
  expect(existsSync(join(shop.folder, 'one/qwen'))).toBe(true)
})
