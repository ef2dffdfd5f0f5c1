// `parley doctor`: every check, with the trouble that it finds.
import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CallError } from '@parley/call'
import { type MachineCode, ManualClock, type Ticks } from '@parley/core'
import { expect, test } from 'vitest'
import { Failure } from '../failure.ts'
import type { AgentView, RunView } from '../node/views.ts'
import { doctorHome, doctorTable, nodeWith, noNode, own, sound, status, well } from '../testing/doctor.ts'
import type { Brought } from '../testing/fake-node.ts'
import { parley, type Surroundings } from '../testing/parley.ts'
import { done, starting, working } from '../testing/solving.ts'
import { stepView, taskView } from '../testing/views.ts'
import { agents as checkAgents } from './agents.ts'
import type { FileFacts, Probes } from './check.ts'
import { systemProbes } from './probes.ts'
import { socket } from './profile.ts'

const { home, doctor, finding, write } = doctorHome()

/** No agent is installed here; that is a warning. */
const AGENTS = 'warning: agents'

test('all is well on a machine where nothing is wrong', async () => {
  const { code, bad, checks } = await doctor()
  expect(bad).toEqual([AGENTS])
  expect(code).toBe(0)
  expect(checks.map(({ check }) => check)).toEqual([
    'Parley',
    'Node.js',
    'git',
    'git user',
    'open files',
    'file watches',
    'clock',
    'profile',
    'permissions',
    'disk',
    'socket',
    'configuration',
    'key',
    'deployment',
    'node',
    'record',
    'replica',
    'link',
    'processes',
    'agents',
    'team file',
  ])
})

test('who commits is known to git in a project, or what is not is named', async () => {
  const output: Probes['output'] = async (_, ...args) =>
    args.includes('user.email') ? undefined : args.includes('user.name') ? 'Mira\n' : 'git version 2.39.5'
  expect(await finding('git user', { output })).toMatchObject({
    state: 'warning',
    text: expect.stringMatching(/^user\.email not set: .*`parley apply`/),
    remedy: '`git config --global user.email you@example.org`',
  })
  const none: Probes['output'] = async (_, first) => (first === '--version' ? 'git version 2.39.5' : undefined)
  expect(await finding('git user', { output: none })).toBeUndefined()
})

test('ALP-BUD-02 a daily ledger that cannot be read', async () => {
  const file = write('logs/ledger.json', '{"day":')
  expect(await finding('ledger')).toMatchObject({
    state: 'problem',
    text: expect.stringContaining(file),
    remedy: expect.stringContaining('move it away'),
  })
})

const profile = (facts: Partial<FileFacts>) => ({
  file: (path: string) => (path.endsWith('default') ? { ...own, ...facts } : undefined),
})
const limits = (text: string) => ({
  text: (path: string) => (path === '/proc/self/limits' || path.includes('inotify') ? text : undefined),
})

test.each<[string, Partial<Probes>, string]>([
  ['an old Node.js', { runtime: 'v20.20.2' }, 'problem: Node.js'],
  ['git that is missing', { output: async () => undefined }, 'problem: git'],
  ['git that is old', { output: async () => 'git version 2.30.1' }, 'problem: git'],
  ['too few open files', limits('Max open files  256  256  files'), 'warning: open files'],
  ['too few watches', limits('8'), 'warning: file watches'],
  ['files that are newer than the clock', profile({ changed: Date.UTC(2027, 0, 1) }), 'warning: clock'],
  ['a profile that is no folder', profile({ folder: false }), 'problem: profile'],
  ['a profile of another user', profile({ owner: 0 }), 'problem: profile'],
  ['a profile that cannot be written', { ...profile({}), writable: () => false }, 'problem: profile'],
  ['little space on the disk', { freeBytes: () => 500 * 1024 ** 2 }, 'warning: disk'],
  ['no space on the disk', { freeBytes: () => 5 * 1024 ** 2 }, 'problem: disk'],
  ['a disk whose space is not known', { freeBytes: () => undefined }, 'warning: disk'],
  ['processes of turns without a node', { turns: () => [5, 6] }, 'warning: processes'],
])('%s', async (_, probes, found) => {
  const { bad, code } = await doctor(probes)
  expect(bad).toContain(found)
  expect(code).toBe(bad.some(each => each.startsWith('problem')) ? 1 : 0)
})

test('a clock that cannot be right, the name of a profile that cannot be used, and the git of the future', async () => {
  const clock = new ManualClock((Date.UTC(1971, 0, 1) * 1000) as Ticks)
  expect((await doctor({}, { clock })).bad).toContain('problem: clock')
  expect((await doctor({}, { env: { HOME: home(), PARLEY_PROFILE: '../bad' } })).bad).toContain('problem: profile')
  expect((await doctor({ output: async () => 'git version 3.0.0' })).bad).not.toContain('problem: git')
})

test('a read-only disk is told by a write, and nobody is sent to modes and owners', async () => {
  const { checks, code } = await doctor({
    file: path => (path.endsWith('default') ? own : undefined),
    writeFault: where => ({ code: 'EROFS', where }),
  })
  const { text, remedy } = checks.find(({ check }) => check === 'profile')!
  expect(text).toContain('the disk is read-only')
  expect(remedy).toContain('Mount it writable again')
  expect(remedy).not.toContain('chmod')
  expect(code).toBe(1)
})

test('a profile in which something cannot be written, or that cannot be made', async () => {
  const profile = join(home(), '.parley', 'default')
  const segments = join(profile, 'trail', 'segments')
  const inside = await doctor({
    file: path => (path.startsWith(profile) && !path.endsWith('.pem') ? own : undefined),
    folders: path => (path === join(profile, 'trail') ? [segments] : []),
    writable: path => path !== segments,
  })
  expect(inside.bad).toContain('problem: profile')
  expect(inside.checks.find(({ check }) => check === 'profile')?.text).toContain(segments)
  const above = await doctor({
    file: path => (path === home() ? own : undefined),
    writable: path => path !== home(),
  })
  expect(above.bad).toContain('problem: profile')
  expect(above.code).toBe(1)
})

test('a node that does not answer is named, and nobody is told to run another beside it', async () => {
  const advice = { next: '`kill -CONT 7` wakes it.', details: { pid: 7 } }
  const node = () => {
    throw new Failure('node_unreachable', 'The node (process 7) does not answer.', advice)
  }
  expect(await finding('node', {}, { node })).toMatchObject({ state: 'problem', remedy: '`kill -CONT 7` wakes it.' })
})

test('a profile that cannot be made because of its disk, with what to do about each fault', async () => {
  const remedies = {
    ENOSPC: 'Free space',
    EDQUOT: 'Free space',
    EROFS: 'Mount it writable again',
    EMFILE: 'ulimit -n',
    ENFILE: 'ulimit -n',
    ENOMEM: 'End programs',
  } as const
  for (const [code, remedy] of Object.entries(remedies))
    expect(await finding('profile', { writeFault: where => ({ code: code as MachineCode, where }) })).toMatchObject({
      state: 'problem',
      text: expect.stringContaining(`(${code})`),
      remedy: expect.stringContaining(remedy),
    })
})

test('a key that does not fit the one that the profile knows', async () => {
  const pair = () => generateKeyPairSync('ed25519')
  write('alp/secrets/alp_key.pem', pair().privateKey.export({ type: 'pkcs8', format: 'pem' }))
  expect((await doctor()).bad).not.toContain('problem: key')
  write('alp/secrets/alp_key.pub', pair().publicKey.export({ type: 'spki', format: 'pem' }))
  const { checks, code } = await doctor()
  expect(checks.find(({ check }) => check === 'key')).toMatchObject({
    state: 'problem',
    text: expect.stringContaining('(key_mismatch)'),
    remedy: expect.stringContaining('Restore alp/secrets'),
  })
  expect(code).toBe(1)
})

test('a node that has not ended, although it does not listen any more', async () => {
  const node = () => {
    throw new Failure('node_not_running', 'none', { details: { pid: 7 } })
  }
  expect(await finding('node', {}, { node })).toMatchObject({
    state: 'problem',
    remedy: expect.stringContaining('kill -KILL 7'),
  })
})

test('a folder of the profile that others can enter', async () => {
  const file = (path: string) => (path.endsWith('default') ? { ...own, mode: 0o755 } : undefined)
  expect(await finding('permissions', { file })).toMatchObject({
    state: 'problem',
    remedy: expect.stringMatching(/^chmod 700 .*default$/),
  })
})

test('a secret or a socket that others can reach', async () => {
  const open = (name: string) => ({
    file: (path: string) => (path.endsWith(name) ? { ...own, folder: false, mode: 0o644 } : undefined),
  })
  for (const name of ['secret', 'call.sock', 'alp_key.pem']) {
    const { bad, checks } = await doctor(open(name))
    expect(bad).toContain('problem: permissions')
    expect(checks.find(({ check }) => check === 'permissions')?.remedy).toMatch(/^chmod 600 .*$/)
  }
})

test('a folder in the place of the key is not closed like a file', async () => {
  const file = (path: string) => (path.endsWith('alp_key.pem') ? { ...own, mode: 0o755 } : undefined)
  expect(await finding('permissions', { file })).toMatchObject({ state: 'ok' })
})

test('a disk with room and no inodes is told as that', async () => {
  const { bad, checks } = await doctor({ inodes: () => ({ free: 3, all: 900 }) })
  expect(bad).toContain('problem: disk')
  expect(checks.find(({ check }) => check === 'disk')).toMatchObject({
    text: expect.stringContaining('3 of 900 inodes free'),
    remedy: expect.stringContaining('df -i'),
  })
  // Few of few is no trouble, and neither is a disk that does not count them.
  expect((await doctor({ inodes: () => ({ free: 100, all: 400 }) })).bad).not.toContain('problem: disk')
  expect((await doctor({ inodes: () => undefined })).bad).not.toContain('problem: disk')
})

test('a socket that has to be elsewhere, in a folder that is not this user’s alone', async () => {
  const deep = join(home(), 'x'.repeat(120))
  const long = await doctor({}, { env: { HOME: home(), PARLEY_HOME: deep, PATH: '' } })
  expect(long.checks.find(({ check }) => check === 'socket')).toMatchObject({
    state: 'ok',
    text: expect.stringContaining('too long'),
  })
  const paths = { folder: '/p', socket: '/tmp/parley-1000/abc.sock' } as never
  expect(socket({ ...well, file: () => own }, paths).state).toBe('ok')
  for (const wrong of [{ owner: 7 }, { folder: false }, { mode: 0o755 }])
    expect(socket({ ...well, file: () => ({ ...own, ...wrong }) }, paths)).toMatchObject({
      state: 'problem',
      // Removing the folder would cut off a node that runs.
      remedy: expect.stringMatching(wrong.mode ? /: chmod 700 \/tmp\/parley-1000$/ : /^Choose a shorter place/),
    })
})

test('a configuration with a mistake, with its place', async () => {
  write('config.yaml', 'turns: 4\ntruns: 3\n')
  expect(await finding('configuration')).toMatchObject({
    state: 'problem',
    text: expect.stringMatching(/config\.yaml:2:1: .*turns/),
  })
})

const unreached = () => {
  throw new CallError('node_unreachable', 'not yours')
}

test.each<[string, Surroundings['node'] & object]>([
  ['is of another version', nodeWith({ version: '0.0.9' })],
  ['does not answer', nodeWith({}, { '/node/status': new CallError('TIMEOUT', 'no answer') })],
  ['cannot be reached', unreached],
])('a node that %s is a problem', async (_, node) => {
  expect((await doctor({}, { node })).bad).toContain('problem: node')
})

test('a node is looked for and never started', async () => {
  const choices: unknown[] = []
  const node: Surroundings['node'] = choice => {
    choices.push(choice)
    return noNode()
  }
  await doctor({}, { node })
  expect(choices).toMatchObject([{ start: false, anyVersion: true }])
})

test('a record that is damaged, on opening or on verifying', async () => {
  const record = (status: object, verified: Brought['/trail/verify'] & object) =>
    finding('record', {}, { node: nodeWith(status, { '/trail/verify': verified }) })
  const damage = [{ code: 'x', message: 'segment 3 is damaged', runs: [] }]
  expect(await record({ damage }, sound)).toMatchObject({ state: 'problem', text: 'segment 3 is damaged' })
  const torn = { sound: false, runs: [], unreadable: ['trail/runs/a.run'], unreadable_total: 1 }
  expect(await record({}, torn)).toMatchObject({ state: 'problem', text: 'trail/runs/a.run cannot be read' })
  expect(await record({}, new CallError('index_failed', 'no index'))).toMatchObject({
    state: 'problem',
    text: expect.stringContaining('cannot be verified'),
  })
  const edited = { seq: 1, entry: null, damage: 'edited', violation: 'v', expected: '', actual: '' }
  const findings = [{ ...edited, message: 'entry 1 was edited' }]
  const runs = [{ run: 'r', entries: 1, findings, findings_total: 1 }]
  expect(await record({}, { sound: false, runs, unreadable: [], unreadable_total: 0 })).toMatchObject({
    state: 'problem',
    text: 'entry 1 was edited',
  })
})

test.each([
  ['the list of keys is no list', 'trail/keys.json', 'garbage', 'keys.json'],
  ['the list of keys has another form', 'trail/keys.json', '{"version":9}', 'keys.json'],
  ['the trail is a file', 'trail', '', 'not a folder'],
  ['the secret is cut off', 'secret', 'short', '5 bytes'],
  ['the secret is another one', 'trail/content.key', 'another', 'secret'],
  ['what tells of an imported run is garbage', 'trail/imports/run_1.json', '{', 'imports/run_1.json'],
])('what keeps a node from starting is found without one: %s', async (_, file, text, named) => {
  write('secret', Buffer.alloc(32, 1))
  expect((await doctor()).bad).not.toContain('problem: record')
  write(file, text)
  expect(await finding('record')).toMatchObject({ state: 'problem', text: expect.stringContaining(named) })
})

test('processes of turns with a node are at work', async () => {
  expect((await doctor({ turns: () => [5, 6] }, { node: nodeWith() })).bad).toEqual([AGENTS])
})

test('agents: without credentials, with a variable, with a login, configured but missing; values are never shown', async () => {
  const agent: AgentView = {
    name: 'claude',
    source: 'preset',
    kind: 'command',
    program: 'claude',
    found: true,
    version: '2.1.0',
    default: false,
    needs: { hosts: [], variables: ['KEY'], files: ['~/.claude/login.json'], help: 'Log in once.' },
  }
  const look = (list: AgentView[], env: Record<string, string> = {}, probes: Partial<Probes> = {}) =>
    checkAgents(list, { ...well, ...probes }, { env, home: '/projects' })
  expect(await look([agent])).toMatchObject([{ state: 'warning', remedy: 'Log in once.' }])
  const [seen] = await look([agent], { KEY: 'very-secret' })
  expect(seen).toMatchObject({ state: 'ok', text: 'claude 2.1.0, with KEY' })
  expect(JSON.stringify(seen)).not.toContain('very-secret')
  const file = (path: string) => (path === '/projects/.claude/login.json' ? own : undefined)
  expect(await look([agent], {}, { file })).toMatchObject([{ state: 'ok' }])
  expect(
    (await look([agent, { ...agent, name: 'mine', source: 'configured', found: false }], { KEY: 'x' }))[1],
  ).toMatchObject({
    state: 'problem',
  })
})

test('with --live each agent takes a turn: its answer, or why there is none', async () => {
  const agent = { name: 'mine', command: ['cat'] }
  write('config.yaml', `agents: { ${agent.name}: { command: [cat] } }\n`)
  const failing = taskView('answer', { steps: [stepView({ outcome: 'failed', text: 'Credit balance is too low' })] })
  const live = async (...views: RunView[]) => {
    const node = starting({
      '/runs/follow': async function* () {
        yield* views
      },
      '/runs/abort': {},
      '/node/status': status,
      '/trail/verify': sound,
    })
    const env = { HOME: home(), PARLEY_HOME: join(home(), '.parley'), PATH: process.env.PATH }
    const ran = await parley(['doctor', '--live', '--json'], { cwd: home(), env, node, table: doctorTable(well) })
    const { checks } = JSON.parse(ran.out) as { checks: { check: string }[] }
    return { found: checks.find(({ check }) => check === 'agent mine'), node }
  }
  const answered = await live(working, done)
  expect(answered.found).toMatchObject({ state: 'ok', text: expect.stringContaining('answered in') })
  expect(answered.node.asked('/solve/start')).toMatchObject([
    { agent: 'mine', approved: true, project: expect.any(String) },
  ])
  const refused = await live({ ...working, tasks: [failing] })
  expect(refused.found).toMatchObject({ state: 'problem', text: expect.stringContaining('Credit balance is too low') })
  const activity = 'The API refuses: 401, it is not logged in; retry 3 of 10.'
  const waits = await live({ ...working, tasks: [taskView('answer', { activity })] })
  expect(waits.found).toMatchObject({ state: 'problem', text: expect.stringContaining(activity) })
  // Nobody pays for a second attempt.
  expect(refused.node.asked('/runs/abort')).toHaveLength(1)
})

test('a team file that is none', async () => {
  writeFileSync(join(home(), 'parley.yaml'), 'hello: world\n')
  const probes = {
    file: systemProbes.file,
    user: process.getuid?.(),
    text: (path: string) => (path.endsWith('.yaml') ? systemProbes.text(path) : well.text(path)),
  }
  expect((await doctor(probes)).bad).toContain('problem: team file')
  expect(
    (await doctor({ ...probes, text: path => (path.endsWith('.yaml') ? undefined : well.text(path)) })).bad,
  ).toContain('problem: team file')
})

test('people get one line for each check, the remedy below it, and a verdict', async () => {
  const table = doctorTable({ ...well, runtime: 'v20.1.0' })
  const env = { HOME: home(), PARLEY_HOME: join(home(), '.parley'), PATH: '' }
  const { out, code } = await parley(['doctor'], { cwd: home(), env, node: noNode, table })
  expect(code).toBe(1)
  expect(out).toContain('problem  Node.js        v20.1.0 is too old\n         → Install Node.js 24 LTS or newer.\n')
  expect(out).toMatch(/\n1 problem, 1 warning\.\n$/)
})

test('the real machine can be asked', async () => {
  expect(await systemProbes.output('git', '--version')).toMatch(/^git version/)
  expect(await systemProbes.output('no-such-program')).toBeUndefined()
  expect(systemProbes.file(home())).toMatchObject({ folder: true, owner: process.getuid?.() })
  expect(systemProbes.file(join(home(), 'none'))).toBeUndefined()
  expect(systemProbes.freeBytes(home())).toBeGreaterThan(0)
  expect(systemProbes.inodes(home())?.free ?? 1).toBeGreaterThan(0)
  expect(systemProbes.writable(home())).toBe(true)
  const before = readdirSync(home())
  expect(systemProbes.writeFault(home())).toBeUndefined()
  expect(readdirSync(home())).toEqual(before)
  expect(systemProbes.turns('/no/such/socket')).toEqual([])
})

test.runIf(process.platform === 'linux')('a process that a turn of this profile left running is found', async () => {
  const { spawn } = await import('node:child_process')
  const socket = join(home(), 'call.sock')
  const child = spawn('sleep', ['60'], {
    env: { PATH: process.env.PATH, PARLEY_TURN: 'run_1/ws_1/1', PARLEY_SOCKET: socket },
  })
  try {
    await new Promise(resolve => child.once('spawn', resolve))
    expect(systemProbes.turns(socket)).toEqual([child.pid])
    expect(systemProbes.turns(`${socket}2`)).toEqual([])
  } finally {
    child.kill('SIGKILL')
    await new Promise(resolve => child.once('exit', resolve))
  }
})
