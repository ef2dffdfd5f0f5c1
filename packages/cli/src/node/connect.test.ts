import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CallNode, type Listening, listenUnix, OperationRegistry, operation } from '@parley/call'
import { type IdentityProvider, type Principal, SystemClock, Type } from '@parley/core'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { asFailure } from '../failure.ts'
import { type NodeClient, nodeClient } from './client.ts'
import { connector } from './connect.ts'

let folder: string
let listening: Listening
const tokens: string[] = []
const answers: string[] = []
const owner: Principal = { id: 'mira', kind: 'user', scopes: ['owner'] }

/** As a node sees it: whoever reaches the socket is the owner, whoever shows a token is that agent and nothing more. */
const identities: IdentityProvider = {
  byFingerprint: async () => undefined,
  byToken: async token => {
    tokens.push(token)
    return { id: 'writer#1', kind: 'agent', scopes: ['workspace'] }
  },
}

const registry = () =>
  new OperationRegistry({
    '/gates/respond': operation(
      {
        name: '/gates/respond',
        opType: 'mutation',
        inputSchema: Type.Object({ gate: Type.String(), decision: Type.String() }),
        outputSchema: Type.Object({ run: Type.String() }),
        accessControl: { requiredScopes: ['owner'] },
      },
      ({ decision }) => {
        answers.push(decision)
        return { run: 'run_1' }
      },
    ),
    '/workspaces/block': operation(
      {
        name: '/workspaces/block',
        opType: 'mutation',
        inputSchema: Type.Object({ reason: Type.String() }),
        outputSchema: Type.Object({ blocked: Type.Boolean() }),
        accessControl: { requiredScopes: ['workspace'] },
      },
      () => ({ blocked: true }),
    ),
  })

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-connect-'))
  writeFileSync(join(folder, 'token'), 'secret-token', { mode: 0o600 })
  tokens.length = 0
  answers.length = 0
  const node = new CallNode({ registry: registry(), identities })
  listening = await listenUnix(join(folder, 'call.sock'), transport => void node.attach(transport), {
    authenticate: () => owner,
  })
})
afterEach(async () => {
  await listening.close()
  rmSync(folder, { recursive: true, force: true })
})

async function inside<T>(use: (api: NodeClient) => Promise<T>, env: Record<string, string> = {}): Promise<T> {
  const around = {
    PARLEY_SOCKET: join(folder, 'call.sock'),
    PARLEY_TOKEN_FILE: join(folder, 'token'),
    PARLEY_HOME: folder,
    ...env,
  }
  const calls = await connector({ profile: undefined }, { env: around, clock: new SystemClock() })()
  try {
    return await use(nodeClient(calls))
  } finally {
    calls.close()
  }
}

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    thrown => asFailure(thrown),
  )

test('whoever holds the token of a workspace is no person: an agent cannot approve its own gate', async () => {
  const failure = await failureOf(inside(api => api.gates.respond({ gate: 'g', decision: 'approve' })))
  expect(failure).toMatchObject({ code: 'inside_turn', exitCode: 5 })
  // Nor where it calls the node itself.
  const read = await failureOf(inside(api => api.gates.list({})))
  expect(read).toMatchObject({ code: 'NOT_FOUND' })
  expect(answers).toEqual([])
})

test('the inside of a workspace is reached with the token', async () => {
  await inside(api => api.workspaces.block({ reason: 'why?' }))
  expect(tokens).toEqual(['secret-token'])
})

test.each([
  ['a workspace whose node is away ends with 4, and no node is started', '/nowhere/other.sock', 'node_unreachable', 4],
  ['a token without a socket is refused', '', 'no_workspace', 5],
])('%s', async (_, socket, code, exitCode) => {
  const failure = await failureOf(inside(api => api.workspaces.block({ reason: 'x' }), { PARLEY_SOCKET: socket }))
  expect(failure).toMatchObject({ code, exitCode })
})

test('a token that is gone is told as a turn that is over', async () => {
  rmSync(join(folder, 'token'))
  const failure = await failureOf(inside(api => api.workspaces.block({ reason: 'x' })))
  expect(failure).toMatchObject({
    code: 'permission_denied',
    exitCode: 5,
    why: expect.stringContaining('over'),
  })
})

test('a token in a variable counts for nothing, and is sent to nobody', async () => {
  const failure = await failureOf(
    inside(api => api.workspaces.block({ reason: 'x' }), {
      PARLEY_TOKEN_FILE: '',
      PARLEY_TOKEN: 'secret-token',
      PARLEY_PROFILE: 'none',
    }),
  )
  expect(failure).toMatchObject({ code: 'not_found' })
  expect(tokens).toEqual([])
})

test('a node that does not prove the key of the profile is not sent the token', async () => {
  const secrets = join(folder, 'work', 'alp', 'secrets')
  mkdirSync(secrets, { recursive: true, mode: 0o700 })
  const { publicKey } = generateKeyPairSync('ed25519')
  writeFileSync(join(secrets, 'alp_key.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
  const failure = await failureOf(inside(api => api.workspaces.block({ reason: 'x' }), { PARLEY_PROFILE: 'work' }))
  expect(failure).toMatchObject({ code: 'node_unproven', exitCode: 4 })
  expect(tokens).toEqual([])
})

test('a profile that is named and not there is taken for a slip, and not made', async () => {
  mkdirSync(join(folder, 'work'))
  const connect = connector({ profile: 'wrok' }, { env: { PARLEY_HOME: folder }, clock: new SystemClock() })
  const failure = await failureOf(connect())
  expect(failure).toMatchObject({ code: 'not_found', exitCode: 3, why: "Did you mean 'work'?" })
  expect(existsSync(join(folder, 'wrok'))).toBe(false)
})

test('a configuration that is not valid is told as that, not as a node that is away', async () => {
  mkdirSync(join(folder, 'work'), { mode: 0o700 })
  writeFileSync(join(folder, 'work', 'config.yaml'), 'turns: many\n')
  const env = { PARLEY_HOME: folder, PATH: process.env.PATH }
  const failure = await failureOf(connector({ profile: 'work' }, { env, clock: new SystemClock() })())
  expect(failure).toMatchObject({ code: 'invalid_config', exitCode: 6 })
})

test.runIf(process.platform === 'linux')('a node that was stopped is named at once', async () => {
  mkdirSync(join(folder, 'work'))
  const child = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const pid = child.pid!
  child.kill('SIGSTOP')
  const node = { pid, version: '1', started: 'x', socket: join(folder, 'no.sock'), started_by: 'up' }
  writeFileSync(join(folder, 'work', 'node.json'), JSON.stringify(node))
  while (!/\) T/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await new Promise(setImmediate)
  const connect = connector({ profile: 'work' }, { env: { PARLEY_HOME: folder }, clock: new SystemClock() })
  const failure = await failureOf(connect())
  expect(failure).toMatchObject({ code: 'node_unreachable', exitCode: 4, details: { pid } })
  expect(failure?.message).toContain(`process ${pid}`)
  expect(failure?.next.join()).toContain(`kill -CONT ${pid}`)
})

test.runIf(process.platform === 'linux')(
  'a node that does not listen any more and has not ended is named',
  async () => {
    mkdirSync(join(folder, 'work'))
    const child = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'], { stdio: 'ignore' })
    onTestFinished(() => void child.kill('SIGKILL'))
    await new Promise(resolve => child.once('spawn', resolve))
    const file = join(folder, 'work', 'node.json')
    const connect = connector({ profile: 'work' }, { env: { PARLEY_HOME: folder }, clock: new SystemClock() })
    const found = async (pid: number) => {
      const node = { pid, version: '1', started: 'x', socket: join(folder, 'no.sock'), started_by: 'up' }
      writeFileSync(file, JSON.stringify(node))
      return failureOf(connect({ start: false }))
    }
    expect(await found(child.pid!)).toMatchObject({ code: 'node_not_running', details: { pid: child.pid } })
    // A number that another program has by now says nothing.
    const other = spawn('sleep', ['60'], { stdio: 'ignore' })
    onTestFinished(() => void other.kill('SIGKILL'))
    await new Promise(resolve => other.once('spawn', resolve))
    expect((await found(other.pid!))?.details).not.toHaveProperty('pid')
  },
)

test('outside, a node that does not run and may not be started is told apart', async () => {
  const connect = connector({ profile: 'none' }, { env: { PARLEY_HOME: folder }, clock: new SystemClock() })
  expect(await failureOf(connect({ start: false }))).toMatchObject({ code: 'node_not_running', exitCode: 4 })
})
