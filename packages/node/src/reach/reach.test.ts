// Who is sent secrets: the node of this user's own profile, which has proved it, and nobody else who listens at its
// socket.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { CallNode, listenUnix, OperationRegistry, operation } from '@parley/call'
import { type Result, Type, unwrap } from '@parley/core'
import { loadIdentity } from '@parley/link'
import { identityFromSeed } from '@parley/link/testing'
import { profileSigner } from '@parley/trail'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { connectNode, type NodeConnection } from '../client.ts'
import { loadConfig } from '../config/load.ts'
import { Node } from '../node.ts'
import { type Ground, ground, keptLog } from '../testing/ground.ts'
import { startedNode } from '../testing/started.ts'
import { NODE_VERSION } from '../version.ts'
import { folderProblem, socketIdentity } from './own-socket.ts'
import { type Proof, proofMessage } from './proof.ts'

const OTHER = 65_534
const isRoot = process.getuid?.() === 0

async function connect(place: Ground, env = place.env, maxAttempts?: number): Promise<Result<NodeConnection>> {
  const attempts = maxAttempts === undefined ? {} : { maxAttempts }
  const connected = await connectNode({ home: place.home, env, start: false, ...attempts })
  if (connected.ok) onTestFinished(() => connected.value.client.close())
  return connected
}

/** A profile whose path is too long for a socket, and where its socket goes instead. */
function crowded() {
  const place = ground()
  const temporary = join(place.home, 't')
  mkdirSync(temporary, { mode: 0o777 })
  chmodSync(temporary, 0o1777)
  chmodSync(place.home, 0o755)
  vi.stubEnv('TMPDIR', temporary)
  onTestFinished(() => void vi.unstubAllEnvs())
  const env = { ...place.env, TMPDIR: temporary, PARLEY_HOME: join(place.home, 'long'.repeat(20)) }
  const short = join(temporary, `parley-${process.getuid?.()}`)
  return { place, env, short }
}

/** Takes every connection at a socket, keeps what it is sent, and hangs up. */
async function listener(socket: string, answer?: string): Promise<{ connections: number; heard: Buffer[] }> {
  const kept = { connections: 0, heard: [] as Buffer[] }
  const server = createServer(client => {
    kept.connections++
    client
      .on('error', () => undefined)
      .on('data', data => {
        kept.heard.push(data)
        if (answer === undefined) client.destroy()
        else client.end(answer)
      })
  })
  await new Promise<void>(resolve => server.listen(socket, resolve))
  onTestFinished(() => void server.close())
  return kept
}

/** Makes a profile with its key, as its node would; whoever listens at its socket is another matter. */
async function keyed(place: Ground) {
  const { folder, socket } = place.config().paths
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  ;(await profileSigner(folder)).close?.()
  return { folder, socket }
}

const refused = (code: string, more: object = {}) => ({ ok: false, error: { code, ...more } })

describe('a socket in a shared folder', () => {
  test('that somebody else made is not connected to', async () => {
    const { place, env, short } = crowded()
    const { socket } = unwrap(loadConfig({ env, home: place.home })).paths
    expect(dirname(socket)).toBe(short)
    // Only root can be somebody else; for everybody else there is a folder of root.
    if (!isRoot) {
      expect(folderProblem('/')).toContain('another user')
      return
    }
    mkdirSync(short)
    chownSync(short, OTHER, OTHER)
    const script = `require('node:net').createServer(s => process.stdout.write('connected')).listen(${JSON.stringify(socket)}, () => process.stdout.write('up'))`
    const impostor = spawn(process.execPath, ['-e', script], { uid: OTHER, gid: OTHER, cwd: '/', env: {} })
    onTestFinished(async () => {
      impostor.kill('SIGKILL')
      await once(impostor, 'close')
    })
    let said = ''
    impostor.stdout.on('data', data => {
      said += String(data)
    })
    await expect.poll(() => said, { timeout: 10_000 }).toBe('up')
    for (const mode of [0o700, 0o755]) {
      chmodSync(short, mode)
      const message = expect.stringMatching(/belongs to another user \(uid 65534\).*PARLEY_HOME/)
      expect(await connect(place, env)).toMatchObject(
        refused('socket_untrusted', { details: { path: short }, message }),
      )
    }
    // Even where it was let into a folder of ours.
    chownSync(short, process.getuid!(), process.getgid!())
    chmodSync(short, 0o700)
    expect(await connect(place, env)).toMatchObject(refused('socket_untrusted', { details: { path: socket } }))
    expect(said).toBe('up')
  })

  test.each([
    ['is a symbolic link', 0o700, true],
    ['has mode 0755', 0o755, false],
    ['has mode 0710', 0o710, false],
  ])('whose folder %s is not connected to', async (what, mode, linked) => {
    const { place, env, short } = crowded()
    const folder = linked ? join(place.home, 'elsewhere') : short
    mkdirSync(folder)
    chmodSync(folder, mode)
    if (linked) symlinkSync(folder, short)
    const kept = await listener(unwrap(loadConfig({ env, home: place.home })).paths.socket)
    const message = expect.stringContaining(what)
    expect(await connect(place, env)).toMatchObject(refused('socket_untrusted', { message }))
    expect(kept).toEqual({ connections: 0, heard: [] })
  })

  test('that our own node made is used, and its folder is ours alone', async () => {
    const { place, env, short } = crowded()
    mkdirSync(short)
    chmodSync(short, 0o777)
    const config = unwrap(loadConfig({ env, home: place.home }))
    await startedNode({ place: { ...place, config: () => config } })
    const { folder: path, socket } = config.paths
    expect(unwrap(await connect(place, env)).status).toMatchObject({ socket: join(short, basename(socket)) })
    chmodSync(path, 0o777)
    expect(await connect(place, env)).toMatchObject(refused('socket_untrusted', { details: { path } }))
  })
})

/**
 * Somebody who speaks the protocol at the socket of a real profile, and proves itself in its own way, or knows no such
 * question.
 */
async function impostor(
  prove: ((nonce: string, socket: string) => Proof | Promise<Proof>) | undefined,
  version = '0.0.0',
  place = ground(),
) {
  const { folder, socket } = await keyed(place)
  const asked: { readonly path: string; readonly input: unknown }[] = []
  const schemas = { inputSchema: Type.Unknown(), outputSchema: Type.Unknown() }
  const answering = (path: string, answer: (input: { nonce: string }) => unknown) => ({
    [path]: operation({ name: path, opType: 'query', accessControl: {}, ...schemas }, input => {
      asked.push({ path, input })
      return answer(input as { nonce: string })
    }),
  })
  const registry = new OperationRegistry({
    ...(prove && answering('/node/prove', ({ nonce }) => prove(nonce, socketIdentity(socket)))),
    ...answering('/node/status', () => ({ version, pid: 1, profile: 'default' })),
    ...answering('/solve/start', () => ({})),
  })
  const node = new CallNode({ registry })
  const listening = await listenUnix(socket, transport => void node.attach(transport))
  onTestFinished(() => listening.close())
  return { place, folder, asked }
}

const signedBy = (identity: ReturnType<typeof loadIdentity>, message: Buffer): Proof => ({
  key: identity.id,
  signature: identity.sign(message).toString('base64'),
})

describe('whoever listens at the socket of a profile', () => {
  const stranger = identityFromSeed(Buffer.alloc(32, 7))

  test('and holds its key is its node', async () => {
    const { place, folder, asked } = await impostor((nonce, socket) =>
      signedBy(loadIdentity(folder), proofMessage(nonce, socket)),
    )
    expect(await connect(place)).toMatchObject(refused('version_mismatch'))
    expect(asked.map(({ path }) => path)).toEqual(['/node/prove', '/node/status'])
  })

  let folderOf = ''
  const own = () => loadIdentity(folderOf)
  const strange = (nonce: string, socket: string) => signedBy(stranger, proofMessage(nonce, socket))
  test.each<readonly [string, (nonce: string, socket: string) => Proof]>([
    ['has another key', strange],
    ['claims the key of the profile', (nonce, socket) => ({ ...strange(nonce, socket), key: own().id })],
    ['repeats the proof of another moment', (_, socket) => signedBy(own(), proofMessage('n'.repeat(43), socket))],
    ['passes on the proof of a node at another socket', nonce => signedBy(own(), proofMessage(nonce, '1:1'))],
    ['shows nonsense', () => ({ key: 'x', signature: 'y' })],
  ])('and %s gets nothing but a nonce', async (_how, prove) => {
    const { place, folder, asked } = await impostor(prove)
    folderOf = folder
    expect(await connect(place)).toMatchObject(refused('node_unproven'))
    expect(asked).toEqual([{ path: '/node/prove', input: { nonce: expect.stringMatching(/^[\w-]{43}$/) } }])
  })

  test('and does not speak the protocol gets nothing but nonces', async () => {
    const place = ground()
    const kept = await listener((await keyed(place)).socket)
    expect(await connect(place)).toMatchObject(refused('node_not_running'))
    expect(kept.connections).toBeGreaterThan(0)
    for (const data of kept.heard) {
      expect(String(data)).toContain('/node/prove')
      expect(String(data)).not.toMatch(/token|environment|status/i)
    }
  })

  test('and answers nonsense is refused after one try', async () => {
    const place = ground()
    const kept = await listener((await keyed(place)).socket, 'HTTP/1.1 400 Bad Request\r\n\r\n')
    expect(await connect(place)).toMatchObject(refused('node_unproven'))
    expect(kept.connections).toBe(1)
  })

  test.each([
    ['of another version', '0.0.0', 'version_mismatch'],
    ['of this version', NODE_VERSION, 'node_unproven'],
  ])('and does not know the question, as a node %s, is asked for its version and refused', async (...given) => {
    const [, version, code] = given
    const { place, asked } = await impostor(undefined, version)
    expect(await connect(place)).toMatchObject(refused(code))
    expect(asked).toEqual([{ path: '/node/status', input: {} }])
  })

  test('of a profile that has no key yet is nobody’s node', async () => {
    const { place, folder, asked } = await impostor(strange)
    rmSync(join(folder, 'alp'), { recursive: true })
    expect(await connect(place)).toMatchObject(refused('node_unproven'))
    expect(asked).toEqual([])
  })

  test('is judged by the socket that lies there after its answer: a node that starts replaces one that was left', async () => {
    const started = await startedNode()
    const { socket } = started.place.config().paths
    const aside = `${socket}.aside`
    renameSync(socket, aside)
    const prove = (nonce: string, identity: string) => {
      renameSync(aside, socket)
      return strange(nonce, identity)
    }
    const { asked } = await impostor(prove, NODE_VERSION, started.place)
    expect(unwrap(await connect(started.place)).status?.pid).toBe(process.pid)
    expect(asked).toHaveLength(1)
  })

  test('after the node was lost is asked again, and gets no call that waited', async () => {
    const started = await startedNode()
    // It must not give up before there is somebody.
    const { client } = unwrap(await connect(started.place, started.place.env, 5))
    const { socket } = started.place.config().paths
    await started.node.stop('for the test')
    const kept = await listener(socket)
    const input = { intent: 'x', project: '/', approved: true, environment: { API_KEY: 'very-secret' } }
    await expect(client.call('solve', 'start', input)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(Buffer.concat(kept.heard).toString()).toContain('/node/prove')
    expect(Buffer.concat(kept.heard).toString()).not.toContain('very-secret')
  })
})

test('a key that was replaced proves the node from then on, also to those who come in between', async () => {
  const { place, client } = await startedNode()
  for (let round = 0; round < 3; round++) {
    const [rotated, ...connected] = await Promise.all([
      client.call('trail', 'rotate-key', {}),
      ...Array.from({ length: 4 }, () => connect(place)),
    ])
    for (const each of connected) expect(unwrap(each).status?.pid).toBe(process.pid)
    expect(unwrap(await connect(place)).status?.pid).toBe(process.pid)
    expect(rotated.old.key).not.toBe(rotated.new.key)
  }
})

test('a key that was replaced proves nothing any more', async () => {
  const { place, client, node } = await startedNode()
  const old = loadIdentity(place.config().paths.folder)
  await client.call('trail', 'rotate-key', {})
  await node.stop('for the test')
  const { asked } = await impostor((nonce, socket) => signedBy(old, proofMessage(nonce, socket)), NODE_VERSION, place)
  expect(await connect(place)).toMatchObject(refused('node_unproven'))
  expect(new Set(asked.map(({ path }) => path))).toEqual(new Set(['/node/prove']))
})

test('a node does not start where its own folder is a symbolic link', async () => {
  const place = ground()
  const { folder } = place.config().paths
  const real = join(place.home, 'real')
  mkdirSync(real, { mode: 0o700 })
  mkdirSync(dirname(folder), { recursive: true })
  symlinkSync(real, folder)
  const started = await Node.start({ config: place.config(), log: keptLog(), startedBy: 'up' })
  expect(started).toMatchObject(refused('profile_unusable'))
})
