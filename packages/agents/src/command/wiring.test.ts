// The tools of a turn reach each known program by an option of its own; and its conversation goes on in the next turn.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type PresetName, presetNames } from '../presets.ts'
import { Workshop } from '../testing/workshop.ts'

let shop: Workshop
beforeEach(() => {
  shop = new Workshop()
})

/** What a program is given: what it was told, and every private file that it could read. */
interface Given {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly input: string
  readonly files: Readonly<Record<string, { readonly mode: number; readonly text: string }>>
  readonly links: Readonly<Record<string, string>>
}

const LOOK = `
  import { readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
  import { dirname, join, relative } from 'node:path'
  let input = ''
  for await (const chunk of process.stdin) input += chunk
  const folder = dirname(process.env.PARLEY_TOKEN_FILE)
  const files = {}, links = {}
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name)
    const name = relative(folder, file)
    if (entry.isSymbolicLink()) links[name] = readlinkSync(file)
    if (entry.isFile()) files[name] = { mode: statSync(file).mode & 0o777, text: readFileSync(file, 'utf8') }
  }
  writeFileSync('given.json', JSON.stringify({ args: process.argv.slice(2), env: process.env, input, files, links }))`

const SERVER = (turn: string) => ({ command: '/p/bin/parley', args: ['mcp', '--turn', turn] })

async function given(preset: PresetName, env: Readonly<Record<string, string>> = {}): Promise<Given> {
  shop.node(`bin/${preset}`, LOOK)
  const environment = { PATH: shop.path(join(shop.folder, 'bin')), HOME: shop.folder }
  const turn = { token: 'tok-0123456789', environment: { PARLEY_SOCKET: '/s/call.sock', PARLEY_HOME: '/h' } }
  const { result } = await shop.take({ preset, env }, turn, { environment, bin: '/p/bin', tokens: shop.temporary })
  expect(result.outcome).toBe('complete')
  expect(readdirSync(shop.temporary)).toEqual([])
  return JSON.parse(readFileSync(join(shop.work, 'given.json'), 'utf8'))
}

test.each(presetNames)('%s gets the way to its tools in private files, and the token nowhere else', async preset => {
  const { args, env, files } = await given(preset)
  for (const { mode } of Object.values(files)) expect(mode).toBe(0o600)
  const { token, 'turn.json': turn, ...others } = files
  expect(token?.text).toBe('tok-0123456789')
  expect(JSON.parse(turn!.text)).toEqual({
    PARLEY_TOKEN_FILE: env.PARLEY_TOKEN_FILE,
    PARLEY_SOCKET: '/s/call.sock',
    PARLEY_HOME: '/h',
  })
  const everything = JSON.stringify([args, env, others])
  expect(everything).not.toContain('tok-0123456789')
  expect(everything).toContain('/p/bin/parley')
})

const turnOf = ({ env }: Given) => env.PARLEY_TOKEN_FILE!.replace(/token$/, 'turn.json')
const behind = (args: readonly string[], option: string) => args[args.indexOf(option) + 1]

test('claude by --mcp-config, allowed beforehand, beside the servers of its user', async () => {
  const seen = await given('claude')
  const { args, files } = seen
  expect(behind(args, '--allowedTools')).toBe('mcp__parley')
  expect(behind(args, '--mcp-config')).toMatch(/\/mcp\.json$/)
  expect(args).not.toContain('--strict-mcp-config')
  expect(JSON.parse(files['mcp.json']!.text)).toEqual({
    mcpServers: { parley: { type: 'stdio', ...SERVER(turnOf(seen)) } },
  })
})

test('codex by -c, with its approval', async () => {
  const seen = await given('codex')
  const settings = seen.args.filter((_, index) => seen.args[index - 1] === '-c')
  expect(settings).toContain(`mcp_servers.parley.command="/p/bin/parley"`)
  expect(settings).toContain(`mcp_servers.parley.args=["mcp","--turn","${turnOf(seen)}"]`)
  expect(settings).toContain(`mcp_servers.parley.default_tools_approval_mode="approve"`)
  expect(seen.args.at(-1)).toBe('-')
})

test('opencode by OPENCODE_CONFIG_CONTENT, joined with what it holds already', async () => {
  const own = { model: 'a/b', mcp: { mine: { type: 'remote' } }, permission: 'ask' }
  const seen = await given('opencode', { OPENCODE_CONFIG_CONTENT: JSON.stringify(own) })
  const { command, args } = SERVER(turnOf(seen))
  expect(JSON.parse(seen.env.OPENCODE_CONFIG_CONTENT!)).toMatchObject({
    model: 'a/b',
    mcp: { mine: { type: 'remote' }, parley: { type: 'local', command: [command, ...args], enabled: true } },
    permission: 'ask',
  })
})

test('gemini by a home of the turn, which leads to all that its own home has', async () => {
  const home = join(shop.folder, 'home')
  shop.file('home/.gemini/settings.json', '{ /* mine */ "ui": { "url": "a//b" }, "mcpServers": { "mine": {} } }')
  shop.file('home/.gemini/oauth_creds.json', 'a login')
  const seen = await given('gemini', { HOME: home })
  expect(seen.env).toMatchObject({ HOME: home, GEMINI_CLI_HOME: expect.stringMatching(/\/home$/) })
  expect(seen.links).toEqual({
    'home/.gemini/history': join(home, '.gemini/history'),
    'home/.gemini/oauth_creds.json': join(home, '.gemini/oauth_creds.json'),
    'home/.gemini/tmp': join(home, '.gemini/tmp'),
  })
  expect(JSON.parse(seen.files['home/.gemini/settings.json']!.text)).toMatchObject({
    ui: { url: 'a//b' },
    mcpServers: { mine: {}, parley: { ...SERVER(turnOf(seen)), trust: true } },
  })
  // What is the user's own is as it was.
  expect(readFileSync(join(home, '.gemini/oauth_creds.json'), 'utf8')).toBe('a login')
  expect(readFileSync(join(home, '.gemini/settings.json'), 'utf8')).toContain('/* mine */')
})

test('qwen by --mcp-config, trusted', async () => {
  const seen = await given('qwen')
  expect(behind(seen.args, '--mcp-config')).toMatch(/\/mcp\.json$/)
  expect(JSON.parse(seen.files['mcp.json']!.text)).toMatchObject({
    mcpServers: { parley: { ...SERVER(turnOf(seen)), trust: true } },
  })
})

test.each([
  ['gemini', 'home/.gemini/settings.json', '/mine'],
  ['qwen', 'defaults.json', undefined],
] as const)('%s sends the telemetry of its user where it has always gone', async (name, file, there) => {
  const HOME = join(shop.folder, 'home')
  const outfile = async () => JSON.parse((await given(name, { HOME })).files[file]!.text).telemetry?.outfile
  expect(await outfile()).toMatch(/\/telemetry$/)
  shop.file(`home/.${name}/settings.json`, '{ "telemetry": { "enabled": true, "outfile": "/mine" } }')
  expect(await outfile()).toBe(there)
})

test('qwen keeps nothing of a turn in the home of its user, unless the system says so, and tries as often as ever', async () => {
  const defaults = async (system: string) => {
    const QWEN_CODE_SYSTEM_DEFAULTS_PATH = shop.file('system.json', system)
    return JSON.parse((await given('qwen', { QWEN_CODE_SYSTEM_DEFAULTS_PATH })).files['defaults.json']!.text)
  }
  expect(await defaults('{}')).toMatchObject({
    memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
    model: { generationConfig: {} },
    telemetry: { outfile: expect.stringMatching(/\/telemetry$/), logPrompts: false },
  })
  const system = { memory: { enableManagedAutoMemory: true }, model: { name: 'x' }, telemetry: { enabled: false } }
  expect(await defaults(JSON.stringify(system))).toMatchObject(system)
})

test.each([
  ['gemini', 'GEMINI_API_KEY', 'home/.gemini/settings.json', 'gemini-api-key'],
  ['qwen', 'OPENAI_API_KEY', 'defaults.json', 'openai'],
] as const)('%s works with %s alone, unless a way to log in is chosen', async (name, key, file, type) => {
  const settings = shop.file('home/.gemini/settings.json', '{}')
  const around = { HOME: join(shop.folder, 'home'), QWEN_CODE_SYSTEM_DEFAULTS_PATH: settings }
  const chosen = async (environment: Record<string, string>) =>
    JSON.parse((await given(name, { ...around, ...environment })).files[file]!.text).security?.auth?.selectedType
  expect(await chosen({ [key]: 'key-0123456789' })).toBe(type)
  expect(await chosen({})).toBeUndefined()
  shop.file('home/.gemini/settings.json', '{ "security": { "auth": { "selectedType": "other" } } }')
  expect(await chosen({ [key]: 'key-0123456789' })).toBe('other')
})

test('a program of its own, or without a command to serve it, is wired to nothing', async () => {
  shop.node('bin/claude', LOOK)
  const environment = { PATH: shop.path(join(shop.folder, 'bin')) }
  const turn = { token: 'tok-0123456789' }
  await shop.take({ preset: 'claude' }, turn, { environment })
  expect(readFileSync(join(shop.work, 'given.json'), 'utf8')).not.toContain('mcp-config')
})

/** A program that keeps its conversations in files, as those of the presets do. */
const TALKS = `
  import { existsSync, appendFileSync, readFileSync } from 'node:fs'
  let input = ''
  for await (const chunk of process.stdin) input += chunk
  const at = process.argv.indexOf(NAMED)
  const known = at < 0 ? undefined : process.argv[at + 1]
  const say = line => console.log(JSON.stringify(line))
  if (known !== undefined && !existsSync('talk-' + known)) {
    console.error('No conversation found with session ID: ' + known)
    process.exit(1)
  }
  const id = known ?? 'new-1'
  appendFileSync('talk-' + id, input)
  for (const line of LINES(id, readFileSync('talk-' + id, 'utf8'))) say(line)`

const CLAUDE = `(id, text) => [
  { type: 'system', subtype: 'init', session_id: id },
  { type: 'result', subtype: 'success', session_id: id, result: text },
]`
const PROGRAMS: readonly (readonly [PresetName, string, string])[] = [
  ['claude', '--resume', CLAUDE],
  [
    'codex',
    'resume',
    `(id, text) => [{ type: 'thread.started', thread_id: id },
    { type: 'item.completed', item: { type: 'agent_message', text } }]`,
  ],
  [
    'gemini',
    '--resume',
    `(id, text) => [{ type: 'init', session_id: id }, { type: 'message', role: 'assistant', content: text }]`,
  ],
  ['opencode', '--session', `(id, text) => [{ type: 'text', sessionID: id, part: { type: 'text', text } }]`],
  ['qwen', '--resume', CLAUDE],
]
const CONTEXT = [
  { kind: 'intent', title: 'All', text: 'The whole.' },
  { kind: 'envelope', title: 'Mail', text: 'Blue.', news: true },
] as const

test.each(PROGRAMS)(
  '%s goes on with the session of the turn before, and is told what is new',
  async (preset, option, lines) => {
    shop.node(`bin/${preset}`, TALKS.replace('NAMED', JSON.stringify(option)).replace('LINES', `(${lines})`))
    const options = { environment: { PATH: shop.path(join(shop.folder, 'bin')) } }
    const first = await shop.take({ preset }, { prompt: 'Paint.' }, options)
    expect(first.result).toMatchObject({ outcome: 'complete', session: { id: 'new-1', resumed: false } })
    const turn = { prompt: 'Paint.', context: CONTEXT, session: 'new-1' }
    const second = await shop.take({ preset }, turn, options)
    expect(second.result).toMatchObject({ outcome: 'complete', session: { id: 'new-1', resumed: true } })
    const text = second.result.outcome === 'complete' ? second.result.text : ''
    for (const each of ['Paint.', '## Mail', 'Blue.']) expect(text).toContain(each)
    expect(text).not.toContain('The whole.')
  },
)

test('a session that is gone is replaced by a new one, which is told everything, and the turn says so', async () => {
  shop.node('bin/claude', TALKS.replace('NAMED', '"--resume"').replace('LINES', `(${CLAUDE})`))
  const options = { environment: { PATH: shop.path(join(shop.folder, 'bin')) } }
  const turn = { prompt: 'Paint.', context: CONTEXT, session: 'lost-7' }
  const { result, events } = await shop.take({ preset: 'claude' }, turn, options)
  expect(result).toMatchObject({
    outcome: 'complete',
    session: { id: 'new-1', resumed: false },
    text: expect.stringContaining('The whole.'),
  })
  expect(JSON.stringify(events)).toContain('lost-7 could not be resumed (No conversation found')
})

test('work that fails in a resumed session is not taken for a session that is gone', async () => {
  const body = `console.log(JSON.stringify({ type: 'assistant', message: { content: [{ type: 'text', text: 'I try.' }] } }))
    require('node:fs').appendFileSync('starts', 'x'); process.exit(2)`
  shop.node(
    'bin/claude',
    `const { createRequire } = await import('node:module'); const require = createRequire(import.meta.url)\n${body}`,
  )
  const options = { environment: { PATH: shop.path(join(shop.folder, 'bin')) } }
  const { result } = await shop.take({ preset: 'claude' }, { session: 'new-1' }, options)
  expect(result).toMatchObject({ outcome: 'failed', error: { code: 'exit_nonzero' } })
  expect(readFileSync(join(shop.work, 'starts'), 'utf8')).toBe('x')
})
