// Each preset against a scripted fake of its program, which prints what the real one prints.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TurnEvent, Usage } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { commandKind } from './command/kind.ts'
import { loginFiles } from './logins.ts'
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
      '--input-format',
      'stream-json',
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
      tool('Read', 'finished', '/project/README.md'),
      tool('Bash', 'started', 'npm test'),
      tool('Bash', 'failed', 'npm test'),
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
      { type: 'notice', text: 'The API refuses: no reason given; retry 1 of 5.' },
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
      tool('read_file', 'finished', '/project/README.md'),
      tool('run_shell_command', 'started', 'npm test'),
      tool('run_shell_command', 'failed', 'denied by policy'),
      { type: 'notice', text: 'Loop detected' },
      text('The README is fixed.'),
    ],
  },
  opencode: {
    args: ['run', '--format', 'json', '--print-logs', '--log-level', 'ERROR', '--model', 'm1', '--x'],
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
    usage: { tokensIn: 1200, tokensOut: 50, tokensCached: 300 },
    key: 'OPENAI_API_KEY',
    events: [
      text('I edit it.'),
      tool('edit', 'started', '/project/README.md'),
      tool('edit', 'finished', '/project/README.md'),
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
    expect(noted.input).toContain('Fix it\n\n## How\n\nGently.\n'.replaceAll('\n', name === 'claude' ? '\\n' : '\n'))
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

describe('words of agents and peers are only words to a program', () => {
  const task = {
    prompt: '/help @/etc/passwd',
    context: [{ kind: 'diff', title: 'D', text: '+@inside.txt \\@x $a-skill $(b) $ 5' }],
  }
  const said = '/help @/etc/passwd\n\n## D\n\n+@inside.txt \\@x $a-skill $(b) $ 5\n'
  const signed = said.replaceAll('@', '\\@')
  const block = (text: string) => ({ type: 'text', text })
  const message = { role: 'user', content: [block(`Your task:\n\n${said}`), block('That is all of your task.')] }
  const expectedInput: { readonly [Name in PresetName]: string } = {
    claude: `${JSON.stringify({ type: 'user', message })}\n`,
    codex: `Your task: (in it, each $ before a name is written $\\)\n\n${said.replace('$a', '$\\a')}`,
    gemini: `Your task: (in it, each @ is written \\@)\n\n${signed}`,
    opencode: `Your task:\n\n${said}`,
    qwen: `Your task: (in it, each @ is written \\@)\n\n${signed}`,
  }

  test.each(presetNames)('%s gets none of its commands, and no path that it would read a file from', async name => {
    const shop = new Workshop()
    await shop.take({ preset: name }, task, { environment: { PATH: fake(shop, name) } })
    const { input } = JSON.parse(shop.read('noted'))
    expect(input).toBe(expectedInput[name])
    expect(input).not.toMatch(/^[/!#@$]/)
  })
})

describe('codex', () => {
  const keyOf = async (environment: Record<string, string>, files: Record<string, string> = {}) => {
    const shop = new Workshop()
    for (const [file, content] of Object.entries(files)) shop.file(file, content)
    const around = { PATH: fake(shop, 'codex'), HOME: shop.folder, ...environment }
    await shop.take({ preset: 'codex' }, {}, { environment: around })
    return JSON.parse(shop.read('noted')).env.CODEX_API_KEY
  }

  test('sends the key of OPENAI_API_KEY where it has no other login', async () => {
    expect(await keyOf({ OPENAI_API_KEY: 'key-0123456789' })).toBe('key-0123456789')
    expect(await keyOf({ OPENAI_API_KEY: 'key-0123456789', CODEX_API_KEY: 'own-0123456789' })).toBe('own-0123456789')
    expect(await keyOf({})).toBeUndefined()
  })

  test.each([
    ['.codex/auth.json', '{}'],
    ['.codex/config.toml', 'model = "x"\ncli_auth_credentials_store = "keyring"\n'],
  ])('keeps its login, which somebody else pays for: %s', async (file, content) => {
    expect(await keyOf({ OPENAI_API_KEY: 'key-0123456789' }, { [file]: content })).toBeUndefined()
  })
})

test('gemini works in folders that are new to it, and where its user has put the model', async () => {
  const shop = new Workshop()
  const environment = { PATH: fake(shop, 'gemini'), GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:9' }
  await shop.take({ preset: 'gemini' }, {}, { environment })
  const trusted = { GEMINI_CLI_TRUST_WORKSPACE: 'true' }
  expect(JSON.parse(shop.read('noted')).env).toMatchObject({ ...environment, ...trusted })
  // What the configuration says goes first.
  await shop.take({ preset: 'gemini', env: { GEMINI_CLI_TRUST_WORKSPACE: 'false' } }, {}, { environment })
  expect(JSON.parse(shop.read('noted')).env.GEMINI_CLI_TRUST_WORKSPACE).toBe('false')
})

test('a login is looked for where a variable has put it', () => {
  const { credentials } = presets.codex.needs
  expect(loginFiles(credentials, {})).toEqual(['~/.codex/auth.json'])
  expect(loginFiles(credentials, { CODEX_HOME: '/elsewhere' })).toEqual(['/elsewhere/auth.json'])
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
