// Who is sent secrets: the node of this user's own profile, which has proved it, and nobody else who listens at its
// socket.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { CallNode, listenUnix, OperationRegistry, operation } from '@parley/call'
import { type Result, Type, unwrap } from '@parley/core'
import { identityFromSeed, loadIdentity } from '@parley/link'
import { profileSigner } from '@parley/trail'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { connectNode, type NodeConnection } from '../client.ts'
import { type Ground, ground } from '../testing/ground.ts'
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

async function longPaths(place: Ground, env: Ground['env']) {
  const { loadConfig } = await import('../config/load.ts')
  return unwrap(loadConfig({ env, home: place.home })).paths
}

describe('a socket in a shared folder', () => {
  test('that somebody else made is not connected to', async () => {
    const { place, env, short } = crowded()
    const { socket } = await longPaths(place, env)
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
      const refused = await connect(place, env)
      expect(refused).toMatchObject({
        ok: false,
        error: { code: 'socket_untrusted', details: { path: short } },
      })
      expect(refused.ok ? '' : refused.error.message).toMatch(/belongs to another user \(uid 65534\).*PARLEY_HOME/)
    }
    // Even where it was let into a folder of ours.
    chownSync(short, process.getuid!(), process.getgid!())
    chmodSync(short, 0o700)
    expect(await connect(place, env)).toMatchObject({
      ok: false,
      error: { code: 'socket_untrusted', details: { path: socket } },
    })
    expect(said).toBe('up')
  })

  test.each([
    ['is a symbolic link', 0o700, true],
    ['has mode 0755', 0o755, false],
    ['has mode 0710', 0o710, false],
  ])('whose folder %s is not connected to', async (what, mode, linked) => {
    const { place, env, short } = crowded()
    const { socket } = await longPaths(place, env)
    const folder = linked ? join(place.home, 'elsewhere') : short
    mkdirSync(folder)
    chmodSync(folder, mode)
    if (linked) symlinkSync(folder, short)
    const kept = await listener(socket)
    const refused = await connect(place, env)
    expect(refused).toMatchObject({ ok: false, error: { code: 'socket_untrusted' } })
    expect(refused.ok ? '' : refused.error.message).toContain(what)
    expect(kept).toEqual({ connections: 0, heard: [] })
  })

  test('that our own node made is used, and its folder is ours alone', async () => {
    const { place, env, short } = crowded()
    mkdirSync(short)
    chmodSync(short, 0o777)
    const { loadConfig } = await import('../config/load.ts')
    const config = unwrap(loadConfig({ env, home: place.home }))
    await startedNode({ place: { ...place, config: () => config } })
    expect(unwrap(await connect(place, env)).status).toMatchObject({
      socket: join(short, basename(config.paths.socket)),
    })
    chmodSync(config.paths.folder, 0o777)
    expect(await connect(place, env)).toMatchObject({
      ok: false,
      error: { code: 'socket_untrusted', details: { path: config.paths.folder } },
    })
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
  const { folder, socket } = place.config().paths
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  ;(await profileSigner(folder)).close?.()
  const asked: { readonly path: string; readonly input: unknown }[] = []
  const answering = (path: string, answer: (input: { nonce: string }) => unknown) => ({
    [path]: operation(
      {
        name: path,
        opType: 'query',
        inputSchema: Type.Unknown(),
        outputSchema: Type.Unknown(),
        accessControl: {},
      },
      input => {
        asked.push({ path, input })
        return answer(input as { nonce: string })
      },
    ),
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
    expect(await connect(place)).toMatchObject({ ok: false, error: { code: 'version_mismatch' } })
    expect(asked.map(({ path }) => path)).toEqual(['/node/prove', '/node/status'])
  })

  let folderOf = ''
  test.each<readonly [string, (nonce: string, socket: string) => Proof]>([
    ['has another key', (nonce, socket) => signedBy(stranger, proofMessage(nonce, socket))],
    [
      'claims the key of the profile',
      (nonce, socket) => ({
        ...signedBy(stranger, proofMessage(nonce, socket)),
        key: loadIdentity(folderOf).id,
      }),
    ],
    [
      'repeats the proof of another moment',
      (_nonce, socket) => signedBy(loadIdentity(folderOf), proofMessage('n'.repeat(43), socket)),
    ],
    [
      'passes on the proof of a node at another socket',
      nonce => signedBy(loadIdentity(folderOf), proofMessage(nonce, '1:1')),
    ],
    ['shows nonsense', () => ({ key: 'x', signature: 'y' })],
  ])('and %s gets nothing but a nonce', async (_how, prove) => {
    const { place, folder, asked } = await impostor(prove)
    folderOf = folder
    expect(await connect(place)).toMatchObject({ ok: false, error: { code: 'node_unproven' } })
    expect(asked).toEqual([{ path: '/node/prove', input: { nonce: expect.stringMatching(/^[\w-]{43}$/) } }])
  })

  test('and does not speak the protocol gets nothing but nonces', async () => {
    const place = ground()
    const { folder, socket } = place.config().paths
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    ;(await profileSigner(folder)).close?.()
    const kept = await listener(socket)
    expect(await connect(place)).toMatchObject({ ok: false, error: { code: 'node_not_running' } })
    expect(kept.connections).toBeGreaterThan(0)
    for (const data of kept.heard) {
      expect(String(data)).toContain('/node/prove')
      expect(String(data)).not.toMatch(/token|environment|status/i)
    }
  })

  test('and answers nonsense is refused after one try', async () => {
    const place = ground()
    const { folder, socket } = place.config().paths
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    ;(await profileSigner(folder)).close?.()
    const kept = await listener(socket, 'HTTP/1.1 400 Bad Request\r\n\r\n')
    expect(await connect(place)).toMatchObject({ ok: false, error: { code: 'node_unproven' } })
    expect(kept.connections).toBe(1)
  })

  test.each([
    ['of another version', '0.0.0', 'version_mismatch'],
    ['of this version', NODE_VERSION, 'node_unproven'],
  ])('and does not know the question, as a node %s, is asked for its version and refused', async (...given) => {
    const [, version, code] = given
    const { place, asked } = await impostor(undefined, version)
    expect(await connect(place)).toMatchObject({ ok: false, error: { code } })
    expect(asked).toEqual([{ path: '/node/status', input: {} }])
  })

  test('of a profile that has no key yet is nobody’s node', async () => {
    const { place, folder, asked } = await impostor((nonce, socket) => signedBy(stranger, proofMessage(nonce, socket)))
    rmSync(join(folder, 'alp'), { recursive: true })
    expect(await connect(place)).toMatchObject({ ok: false, error: { code: 'node_unproven' } })
    expect(asked).toEqual([])
  })

  test('is judged by the socket that lies there after its answer: a node that starts replaces one that was left', async () => {
    const started = await startedNode()
    const { socket } = started.place.config().paths
    const aside = `${socket}.aside`
    renameSync(socket, aside)
    const prove = (nonce: string, identity: string) => {
      renameSync(aside, socket)
      return signedBy(stranger, proofMessage(nonce, identity))
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
    const waiting = client.call('solve', 'start', {
      intent: 'x',
      project: '/',
      approved: true,
      environment: { API_KEY: 'very-secret' },
    })
    await expect(waiting).rejects.toMatchObject({ code: 'UNAVAILABLE' })
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
  expect(await connect(place)).toMatchObject({ ok: false, error: { code: 'node_unproven' } })
  expect(new Set(asked.map(({ path }) => path))).toEqual(new Set(['/node/prove']))
})

test('a node does not start where its own folder is a symbolic link', async () => {
  const place = ground()
  const { folder } = place.config().paths
  const real = join(place.home, 'real')
  mkdirSync(real, { mode: 0o700 })
  mkdirSync(dirname(folder), { recursive: true })
  symlinkSync(real, folder)
  const { Node } = await import('../node.ts')
  const { keptLog } = await import('../testing/ground.ts')
  const refused = await Node.start({ config: place.config(), log: keptLog(), startedBy: 'up' })
  expect(refused).toMatchObject({ ok: false, error: { code: 'profile_unusable' } })
})
