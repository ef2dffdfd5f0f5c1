// The listener for calls of peers, between two nodes of one process: what the peer list allows, when an edit of it
// counts, and what a stranger gets.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, connectClient, type OperationMap, operation } from '@parley/call'
import { SystemClock, Type } from '@parley/core'
import { dialCall, fingerprintsOf, LinkClient, type LinkIdentity, PeerList } from '@parley/link'
import { identityFromSeed } from '@parley/link/testing'
import { expect, onTestFinished, test } from 'vitest'
import { forOwner } from '../operations/spec.ts'
import { collected } from '../testing/calls.ts'
import { keptLog } from '../testing/ground.ts'
import { type CallListener, openCallListener } from './call-listener.ts'

const clock = new SystemClock()
const [home, work, stranger] = [1, 2, 3].map(byte => identityFromSeed(Buffer.alloc(32, byte))) as [
  LinkIdentity,
  LinkIdentity,
  LinkIdentity,
]

/** What a node offers its owner, in small. */
function operations(name: string): OperationMap {
  const spec = {
    accessControl: forOwner,
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
  } as const
  return {
    '/node/status': operation({ ...spec, name: '/node/status', opType: 'query' }, () => name),
    '/runs/list': operation({ ...spec, name: '/runs/list', opType: 'query' }, (_, { identity }) => identity),
    '/runs/watch': operation({ ...spec, name: '/runs/watch', opType: 'subscription' }, async function* () {
      yield 1
      yield 2
    }),
    '/runs/all': operation({ ...spec, name: '/runs/all', opType: 'query' }, async (_, { env }) => [
      (await env.invoke('node', 'status', {})).unwrap(),
    ]),
  }
}

class NodeWithDoor {
  readonly identity: LinkIdentity
  readonly folder = mkdtempSync(join(tmpdir(), 'parley-calls-'))
  readonly file = join(this.folder, 'peers.yaml')
  readonly log = keptLog()
  listener!: CallListener

  static async start(identity: LinkIdentity, name: string): Promise<NodeWithDoor> {
    const node = new NodeWithDoor(identity)
    const peers = new PeerList(node.file, { clock, lock: join(node.folder, 'peers.lock') })
    node.listener = await openCallListener({
      at: { host: '127.0.0.1', port: 0 },
      identity,
      peers,
      operations: operations(name),
      clock,
      log: node.log,
    })
    onTestFinished(async () => {
      await node.listener.close()
      rmSync(node.folder, { recursive: true })
    })
    return node
  }

  constructor(identity: LinkIdentity) {
    this.identity = identity
  }

  /** As a person would, in an editor. */
  edit(...peers: readonly (readonly [string, LinkIdentity, readonly string[]])[]): void {
    const entries = peers.map(([id, { id: pubkey }, allow]) => ({ id, pubkey, allow }))
    writeFileSync(this.file, JSON.stringify(entries))
  }

  get at() {
    const [host, port] = this.listener.at.split(':') as [string, string]
    return { host, port: Number(port) }
  }

  client(as: LinkIdentity): Client {
    const client = connectClient({
      dial: async () => {
        const dialled = await dialCall({ identity: this.identity.id, at: this.at }, { own: as, clock, timeoutMs: 5000 })
        if (!dialled.ok) throw dialled.error
        return dialled.value
      },
      clock,
      maxAttempts: 1,
    })
    onTestFinished(() => client.close())
    return client
  }
}

async function outcome(client: Client, service: string, op: string): Promise<unknown> {
  const { result } = await client.invoke(service, op, {})
  return result.ok ? result.value : result.error.code
}

async function offered(client: Client): Promise<readonly string[]> {
  const list = (await client.call('services', 'list', {})) as { operations: { name: string }[] }
  return list.operations.map(({ name }) => name).filter(name => !name.startsWith('/services/'))
}

test('two nodes call each other’s operations, each what the other’s list names, and see no others', async () => {
  const [one, two] = [await NodeWithDoor.start(home, 'home'), await NodeWithDoor.start(work, 'work')]
  one.edit(['work', work, ['link.ping', '/runs/list', '/runs/watch']])
  two.edit(['home', home, ['/node/status']])
  const [toOne, toTwo] = [one.client(work), two.client(home)]
  expect(await outcome(toTwo, 'node', 'status')).toBe('work')
  expect(await outcome(toTwo, 'runs', 'list')).toBe('FORBIDDEN')
  expect(await outcome(toOne, 'node', 'status')).toBe('FORBIDDEN')
  expect(await outcome(toOne, 'runs', 'list')).toMatchObject({
    id: `alp:${fingerprintsOf(work.id)?.fingerprint}`,
    kind: 'peer',
    name: 'work',
    scopes: [],
  })
  expect(await collected(toOne.subscribe('runs', 'watch', {}))).toEqual([1, 2])
  await expect(collected(toTwo.subscribe('runs', 'watch', {}))).rejects.toMatchObject({
    code: 'FORBIDDEN',
  })
  expect(await offered(toOne)).toEqual(['/runs/list', '/runs/watch'])
  expect(await offered(toTwo)).toEqual(['/node/status'])
  expect([one.listener.links, two.listener.links]).toEqual([1, 1])
})

test('an edit of the list applies to the next call on a connection that is open', async () => {
  const node = await NodeWithDoor.start(home, 'home')
  node.edit(['work', work, ['/runs/list']])
  const client = node.client(work)
  expect(await outcome(client, 'node', 'status')).toBe('FORBIDDEN')
  node.edit(['work', work, ['/node/status']])
  expect(await outcome(client, 'node', 'status')).toBe('home')
  expect(await outcome(client, 'runs', 'list')).toBe('FORBIDDEN')
  expect(await offered(client)).toEqual(['/node/status'])
  node.edit()
  // Unpinned: no answer, and the connection is over.
  expect(await outcome(client, 'node', 'status')).toBe('INTERNAL')
  await expect.poll(() => node.listener.links).toBe(0)
})

test('only the whole path of an operation is a right to call it', async () => {
  const node = await NodeWithDoor.start(home, 'home')
  const client = node.client(work)
  for (const allow of [
    [],
    ['link.ask', 'node.status'],
    ['/node/*', '*', '/node', '/node/', '/NODE/status'],
    ['/node/status:x', 'operation:/node/status', '/node/status '],
    ['/head/node/status', 'node/status', '/node/status/'],
    ['owner', 'constructor', '__proto__'],
  ]) {
    node.edit(['work', work, allow])
    expect(await outcome(client, 'node', 'status'), allow.join()).toBe('FORBIDDEN')
    expect(await offered(client)).toEqual([])
  }
  // What an operation does on its own is not asked of the peer. A node that is no head has no name before its paths.
  node.edit(['work', work, ['/runs/all']])
  expect(await outcome(client, 'runs', 'all')).toEqual(['home'])
  for (const op of ['runs/all', 'node/status']) expect(await outcome(client, 'head', op)).toBe('NOT_FOUND')
})

test('a stranger gets no answer, not even to what anybody may ask', async () => {
  const node = await NodeWithDoor.start(home, 'home')
  node.edit(['work', work, ['/node/status']])
  const { result } = await node.client(stranger).invoke('services', 'list', {}, { timeout: 5000 })
  expect(result.ok).toBe(false)
  expect(node.listener.links).toBe(0)
  expect(await outcome(node.client(work), 'node', 'status')).toBe('home')
})

test('who speaks ALP to the listener for calls fails as with a wrong key', async () => {
  const node = await NodeWithDoor.start(home, 'home')
  node.edit(['work', work, ['link.ping', '/node/status']])
  const alp = new LinkClient({ identity: work, clock })
  expect(await alp.call({ identity: home.id, at: node.at }, 'link.ping')).toMatchObject({
    ok: false,
    error: { where: 'local', error: { code: 'link_handshake_failed' } },
  })
})

test('closing ends the connections of peers, and may be repeated', async () => {
  const node = await NodeWithDoor.start(home, 'home')
  node.edit(['work', work, ['/node/status']])
  expect(await outcome(node.client(work), 'node', 'status')).toBe('home')
  await Promise.all([node.listener.close(), node.listener.close()])
  expect(node.listener.links).toBe(0)
})
