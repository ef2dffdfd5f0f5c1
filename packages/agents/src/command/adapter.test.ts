import { readdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TaskId, TurnEvent } from '@parley/core'
import { beforeEach, expect, test } from 'vitest'
import { Workshop } from '../testing/workshop.ts'

let shop: Workshop
beforeEach(() => {
  shop = new Workshop()
})

/** Prints what it was given. */
const MIRROR = `
  import { readFileSync, statSync } from 'node:fs'
  let input = ''
  for await (const chunk of process.stdin) input += chunk
  const file = process.argv.find(arg => arg.endsWith('prompt.md'))
  console.log(JSON.stringify({
    args: process.argv.slice(2), input, cwd: process.cwd(), env: process.env,
    file: file && { text: readFileSync(file, 'utf8'), mode: statSync(file).mode & 0o777},
  }))`

interface Mirrored {
  readonly args: readonly string[]
  readonly input: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly file?: { readonly text: string; readonly mode: number }
}

async function mirror(
  args: readonly string[],
  config: object = {},
  input: object = {},
  options: object = {},
): Promise<Mirrored> {
  shop.node('bin/mirror.mjs', MIRROR)
  const { result } = await shop.take({ command: ['./bin/mirror.mjs', ...args], ...config }, input, options)
  if (result.outcome !== 'complete') throw new Error(JSON.stringify(result))
  return JSON.parse(result.text)
}

const CONTEXT = [
  { kind: 'directive', title: 'The task', text: 'Mend it.\n\n' },
  { kind: 'envelope', title: 'Mail\nfrom bob', text: 'Hurry {folder}' },
]
const PROMPT = 'Go {agent}\n\n## The task\n\nMend it.\n\n## Mail from bob\n\nHurry {folder}\n'

test('the prompt with its context comes on standard input', async () => {
  const { input, args, cwd } = await mirror([], {}, { prompt: 'Go {agent}', context: CONTEXT })
  expect(input).toBe(PROMPT)
  expect(args).toEqual([])
  expect(realpathSync(cwd)).toBe(realpathSync(shop.work))
})

test('or as an argument, filled in once', async () => {
  const args = ['--say={prompt}', '{agent}', '{task}', '{folder}/x', '{base}', '{other}', '{"a":1}']
  const seen = await mirror(args, {}, { prompt: 'Go {agent}', context: CONTEXT, task: 'task_7' as TaskId })
  expect(seen.args).toEqual([
    `--say=${PROMPT}`,
    'tester#1',
    'task_7',
    `${shop.work}/x`,
    shop.folder,
    '{other}',
    '{"a":1}',
  ])
  expect(seen.input).toBe('')
})

test('or in a file that only its owner may read, and that is gone afterwards', async () => {
  const seen = await mirror(['{prompt_file}'], {}, { prompt: 'Go {agent}', context: CONTEXT })
  expect(seen.file).toMatchObject({ text: PROMPT, mode: 0o600 })
  expect(seen.args.join()).not.toContain('Mend')
  expect(readdirSync(shop.temporary)).toEqual([])
})

test('or not at all', async () => {
  expect((await mirror([], { prompt: 'none' })).input).toBe('')
})

test('a prompt with a NUL byte can be an argument', async () => {
  expect((await mirror(['{prompt}'], {}, { prompt: 'a\0b' })).args).toEqual(['a\ufffdb\n'])
})

test('a turn without a folder gets an empty one that is gone afterwards', async () => {
  const seen = await mirror([], {}, { folder: undefined })
  expect(realpathSync(join(seen.cwd, '..'))).toBe(realpathSync(shop.temporary))
  expect(readdirSync(shop.temporary)).toEqual([])
})

test('the environment is small: the usual variables, what is passed, what is set, the turn, and its marker', async () => {
  const environment = {
    PATH: process.env.PATH,
    HOME: '/nowhere',
    LC_ALL: 'C',
    https_proxy: 'http://127.0.0.1:9',
    SECRET_OF_THE_NODE: 'x',
    WANTED: 'yes',
    PARLEY_TURN: 'of another node',
    PWD: '/elsewhere',
  }
  const config = { pass: ['WANTED', 'ABSENT'], env: { MODE: 'test', HOME: '/set', PARLEY_TURN: 'forged' } }
  const { env } = await mirror([], config, { environment: { MODE: 'turn' }, token: 'short', epoch: 4 }, { environment })
  expect(env).toEqual({
    PATH: process.env.PATH,
    HOME: '/set',
    LC_ALL: 'C',
    https_proxy: 'http://127.0.0.1:9',
    WANTED: 'yes',
    MODE: 'turn',
    PARLEY_TOKEN_FILE: expect.stringContaining(join(shop.temporary, 'parley-token-')),
    PWD: shop.work,
    PARLEY_TURN: `${shop.run}/ws_1/4`,
  })
})

test('secrets of its environment that an agent prints are hidden everywhere', async () => {
  const script = shop.shell('leak', 'echo "key $API_KEY"; echo "$PEM_KEY"; cat "$PARLEY_TOKEN_FILE" >&2; exit 1')
  const { result, events } = await shop.take(
    { command: [script], pass: ['API_KEY', 'PEM_KEY'] },
    { token: 'tok-0123456789' },
    { environment: { PATH: process.env.PATH, API_KEY: 'sk-abcdefgh', PEM_KEY: 'first-0123\nsecond-4567' } },
  )
  const everything = JSON.stringify([result, result.outcome === 'failed' && result.error, events])
  expect(everything).not.toMatch(/sk-abcdefgh|tok-0123456789|first-0123|second-4567/)
  expect(everything).toContain('[PEM_KEY]')
  expect(everything).toContain('key [API_KEY]')
  expect(everything).toContain('[PARLEY_TOKEN]')
})

test('the token of a turn is in a file of its owner alone, in no environment, and gone after the turn', async () => {
  const tokens = join(shop.folder, 'tokens')
  const look =
    'stat -c %a "$PARLEY_TOKEN_FILE" "$(dirname "$PARLEY_TOKEN_FILE")"; tr -d t < "$PARLEY_TOKEN_FILE"; echo; env'
  const script = shop.shell('look', look)
  const { result } = await shop.take({ command: [script] }, { token: 'top-token' }, { tokens })
  expect(result).toMatchObject({ outcome: 'complete', text: expect.stringMatching(/^600\n700\nop-oken\n/) })
  expect(JSON.stringify(result)).not.toMatch(/PARLEY_TOKEN=|top-token/)
  expect(readdirSync(tokens)).toEqual([])
  expect(statSync(tokens).mode & 0o777).toBe(0o700)
  const failed = await shop.take({ command: [join(shop.folder, 'absent')] }, { token: 'top-token' }, { tokens })
  expect(failed.result.outcome).toBe('failed')
  expect(readdirSync(tokens)).toEqual([])
})

test('in text mode every line is an event and all of it the answer', async () => {
  const script = shop.shell('talk', `printf 'one\\r\\n\\n\\033[31mtwo\\033[0m\\n10%%\\r50%%\\r100%%\\nlast'`)
  const { result, events } = await shop.take({ command: [script] })
  expect(result).toMatchObject({ outcome: 'complete', text: 'one\n\ntwo\n100%\nlast', usage: {} })
  expect(events).toEqual(['one', 'two', '100%', 'last'].map(text => ({ type: 'text', text })))
})

test('a long answer keeps its end and says what was cut', async () => {
  const script = shop.node('long.mjs', `for (let i = 0; i < 40000; i++) console.log('line ' + i)`)
  const { result, events } = await shop.take({ command: [script] })
  const text = result.outcome === 'complete' ? result.text : ''
  expect(text).toMatch(/^\[the first \d+ characters of the output were cut\]\n/)
  expect(text.endsWith('line 39998\nline 39999')).toBe(true)
  expect(text.length).toBeLessThan(262_144)
  const texts = events.filter(({ type }) => type === 'text')
  const hidden = events.flatMap(event =>
    event.type === 'notice' ? [Number(/^(\d+) more lines/.exec(event.text)?.[1])] : [],
  )
  expect(texts.length).toBeLessThan(40_000)
  expect(texts.length + hidden.reduce((sum, count) => sum + count, 0)).toBe(40_000)
})

test('JSON lines give events, usage and the answer; lines that are none are text', async () => {
  const lines = [
    'warming up',
    { type: 'text', text: 'I look at it' },
    { type: 'thinking', text: 'hm' },
    { type: 'tool', name: 'grep', state: 'started', summary: 'TODO' },
    { type: 'tool', name: 'grep', state: 'wrong' },
    '{"type":"text","text":',
    '["type"]',
    'null',
    { type: 'usage', tokens_in: 100, tokens_out: 1, usd: 0.5 },
    { type: 'usage', tokens_out: 20, tokens_in: -5, tokens_cached: 'many' },
    { type: 'unknown', text: 'ignored' },
    { type: 'notice', text: 'nearly' },
    { type: 'result', text: 'The answer\u001b[0m' },
    { type: 'text', text: 'an afterthought' },
  ]
  const printed = lines.map(line => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  const script = shop.node('json.mjs', `console.log(${JSON.stringify(printed)})`)
  const { result, events } = await shop.take({ command: [script], output: 'json-lines' })
  expect(result).toMatchObject({
    outcome: 'complete',
    text: 'The answer',
    usage: { tokensIn: 100, tokensOut: 20, usd: 0.5 },
    meter: { outputBytes: Buffer.byteLength(printed) + 1 },
  })
  expect(events).toEqual([
    { type: 'text', text: 'warming up' },
    { type: 'text', text: 'I look at it' },
    { type: 'thinking', text: 'hm' },
    { type: 'tool', name: 'grep', state: 'started', summary: 'TODO' },
    { type: 'text', text: '{"type":"text","text":' },
    { type: 'text', text: '["type"]' },
    { type: 'text', text: 'null' },
    { type: 'usage', usage: { tokensIn: 100, tokensOut: 1, usd: 0.5 } },
    { type: 'usage', usage: { tokensIn: 100, tokensOut: 20, usd: 0.5 } },
    { type: 'notice', text: 'nearly' },
    { type: 'text', text: 'an afterthought' },
  ] satisfies TurnEvent[])
})

test('without a result line the last message is the answer, and without a message the text', async () => {
  const said = shop.shell(
    'said',
    `echo noise; echo '{"type":"text","text":"first"}'; echo '{"type":"text","text":"second"}'`,
  )
  expect((await shop.take({ command: [said], output: 'json-lines' })).result).toMatchObject({
    text: 'second',
  })
  const plain = shop.shell('plain', 'echo just text')
  expect((await shop.take({ command: [plain], output: 'json-lines' })).result).toMatchObject({
    text: 'just text',
  })
})

test.each([
  ['exit code 75 with a line of standard error', 'echo "no quota until noon" >&2; exit 75', 'no quota until noon'],
  ['exit code 75 without a word', 'exit 75', 'the agent asked to be run again later'],
  ['a blocked line', `echo '{"type":"blocked","reason":"needs review"}'`, 'needs review'],
  ['a blocked line without a reason', `echo '{"type":"blocked"}'`, 'the agent gave no reason'],
  ['both', `echo '{"type":"blocked","reason":"needs review"}'; exit 75`, 'needs review'],
])('%s means blocked', async (_, source, reason) => {
  const { result } = await shop.take({ command: [shop.shell('block', source)], output: 'json-lines' })
  expect(result).toMatchObject({ outcome: 'blocked', reason })
})

test('a program that says it is blocked and then fails has failed', async () => {
  const script = shop.shell('odd', `echo '{"type":"blocked","reason":"x"}'; exit 1`)
  expect((await shop.take({ command: [script], output: 'json-lines' })).result.outcome).toBe('failed')
})

test('an error that an agent reports fails the turn, whatever its exit code', async () => {
  const script = shop.shell('error', `echo '{"type":"error","message":"no credit"}'; exit $1`)
  for (const [code, exit] of [
    ['agent_error', '0'],
    ['exit_nonzero', '1'],
  ] as const) {
    const { result } = await shop.take({ command: ['./error', exit], output: 'json-lines' })
    expect(script).toContain('error')
    expect(result).toMatchObject({ outcome: 'failed', error: { code, details: { reported: 'no credit' } } })
    expect(result.outcome === 'failed' && result.error.message).toContain('no credit')
  }
})
