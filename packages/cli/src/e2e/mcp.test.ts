// `parley mcp` as a program starts it: the official SDK's client, a real process, a real node, a turn at work.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

/** An agent that shows the way to its tools as the presets get it, and ends when it is told. */
const WAY = ['PARLEY_TOKEN_FILE', 'PARLEY_SOCKET', 'PARLEY_HOME', 'PARLEY_PROFILE']
const WAITS = `printf '{${WAY.map(name => `"${name}":"%s"`).join()}}' ${WAY.map(name => `"$${name}"`).join(' ')} > "$HOME/way"
mv "$HOME/way" "$HOME/turn.json"; while [ ! -e "$HOME/go" ]; do sleep 0.05; done; cat > mail.txt`

interface Served {
  readonly run: string
  readonly turn: string
  readonly client: Client
  readonly closed: Promise<void>
  readonly notices: unknown[]
  /** The text of a tool's result, and whether it is an error. */
  call(name: string, given?: object): Promise<{ readonly text: string; readonly isError: boolean }>
  /** Lets the agent end its turn. */
  go(): void
}

async function served(): Promise<Served> {
  world.team(`version: 1
name: house
description: Tidy the house
approval: none
agents:
  ask: { command: [sh, -c, ${JSON.stringify(WAITS)}] }
plan:
  - { id: floor, agent: ask, prompt: x, attempts: 1 }
`)
  await world.up()
  const run = await world.detach()
  const turn = join(world.folder, 'turn.json')
  await expect.poll(() => existsSync(turn), { timeout: 20_000 }).toBe(true)
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StdioClientTransport({
    command: join(world.folder, 'bin', 'parley'),
    args: ['mcp', '--turn', turn],
    // As little as the strictest program passes on.
    env: { PATH: world.env.PATH! },
  })
  const closed = new Promise<void>(resolve => {
    client.onclose = resolve
  })
  const notices: unknown[] = []
  client.setNotificationHandler('notifications/message', ({ params }) => void notices.push(params.data))
  await client.connect(transport)
  onTestFinished(() => client.close())
  return {
    run,
    turn,
    client,
    closed,
    notices,
    async call(name, given = {}) {
      const { content, isError = false } = await client.callTool({ name, arguments: { ...given } })
      const parts = content as readonly { readonly text: string }[]
      return { text: parts.map(({ text }) => text).join('\n'), isError: isError === true }
    },
    go: () => writeFileSync(join(world.folder, 'go'), ''),
  }
}

test('the agent of a turn has its verbs as tools, sees mail that comes, and is told what it may not do', async () => {
  const { run, turn, client, closed, notices, call, go } = await served()
  const { PARLEY_TOKEN_FILE: token } = JSON.parse(readFileSync(turn, 'utf8'))
  expect(statSync(token).mode & 0o777).toBe(0o600)
  expect(statSync(dirname(token)).mode & 0o777).toBe(0o700)
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['status', 'inbox', 'checkpoint', 'ask', 'escalate', 'block', 'spend'])
  expect(tools.find(({ name }) => name === 'block')).toMatchObject({
    description: expect.stringContaining('without an answer'),
    inputSchema: { type: 'object', required: ['reason'] },
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  })
  expect((await call('status')).text).toMatch(/task +floor/)
  expect(await call('checkpoint', { intent: 'begun' })).toMatchObject({
    isError: false,
    text: expect.stringMatching(/^Saved/),
  })
  expect((await call('spend')).text).toMatch(/^used /)
  // What is refused is a result with a code, and the server goes on.
  expect(await call('checkpoint', {})).toMatchObject({ isError: true, text: expect.stringMatching(/^INVALID_INPUT: /) })
  expect(await call('verdict', { verdict: 'accept' })).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^permission_denied: .*status, inbox/),
  })
  expect(await call('sing')).toMatchObject({ isError: true, text: expect.stringMatching(/^not_found: /) })
  await world.ok('inject', run, 'Mind the carpet', '--to', 'floor')
  await expect.poll(() => JSON.stringify(notices)).toContain('a person')
  expect((await call('spend')).text).toContain('1 message delivered and unread')
  expect((await call('inbox')).text).toContain('Mind the carpet')
  expect((await call('status')).text).toMatch(/unread +0/)
  const asked = call('ask', { question: 'Which floor?', wait_s: 60 })
  const question = await world.waiting(run, 'escalation')
  await world.ok('reply', question.id, 'The upper one')
  expect((await asked).text).toContain('The upper one')
  expect((await call('block', { reason: 'And which room?' })).text).toContain('End your turn now')
  go()
  // The turn is over: so is its server, and its files are gone.
  await closed
  expect((await world.waiting(run, 'escalation')).question).toBe('And which room?')
  expect(existsSync(token)).toBe(false)
  const late = await world.parley('mcp', '--turn', turn)
  expect(late).toMatchObject({ code: 5, err: expect.stringContaining('its turn is over') })
  await world.ok('reply', run, 'All')
  expect(world.result(await world.over(run), 'mail.txt')).toContain('All')
}, 60_000)

test('the server ends with its input, and the turn goes on', async () => {
  const { run, turn, go } = await served()
  const alone = world.start(['mcp', '--turn', turn], { input: '' })
  expect(await alone.ended).toMatchObject({ code: 0, out: '', err: '' })
  go()
  expect((await world.over(run)).state).toBe('done')
})
