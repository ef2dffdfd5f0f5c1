// The three deployment models as a node keeps them (W-SEC-13, -16): what is on the disk, who may connect, what refuses
// the start.
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectUnix } from '@parley/call'
import type { Principal } from '@parley/core'
import { KEY_MARK } from '@parley/trail'
import { DEPLOYMENT_MODELS } from '@parley/trail/events'
import { describe, expect, test } from 'vitest'
import { admits, requireListeners, requireOwnSocket } from './deployment.ts'
import { Node } from './node.ts'
import { refusal } from './testing/calls.ts'
import { type Ground, ground, keptLog } from './testing/ground.ts'
import { linkedPair } from './testing/linked.ts'
import { project, realNode, TEAM } from './testing/real.ts'

const MARKER = 'marker-2604-nobody-else-says-this'
const somebody: Principal = { id: 'x', kind: 'user', scopes: [] }

/** All that the node keeps by itself: everything but the working folders. */
function kept(place: Ground): string {
  const parts = ['trail', 'blobs', 'states', 'logs'].map(name => place.path('default', name))
  const files = parts.filter(existsSync).flatMap(folder =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(each => each.isFile())
      .map(each => join(each.parentPath, each.name)),
  )
  const index = readdirSync(place.path('default')).filter(name => name.startsWith('trail.index.db'))
  return [...files, ...index.map(name => place.path('default', name))]
    .map(file => readFileSync(file, 'latin1'))
    .join('\n')
}

function declared(model: string): Ground {
  const place = ground()
  project(place)
  place.write('default/config.yaml', `deployment: ${model}\n`)
  return place
}

test.each(['shared-infrastructure', 'zero_trust'])(
  'W-SEC-13 W-SEC-16 under %s a run leaves no content in what the node keeps, and is read again after a restart',
  async model => {
    const place = declared(model)
    const first = await realNode(place)
    const run = await first.solved(`Say ${MARKER}.`)
    const deployment = model.replace('_', '-')
    expect(await first.client.call('node', 'status', {})).toMatchObject({ deployment })
    const [genesis] = (await first.client.call('trail', 'query', { run, limit: 1 })).entries
    expect(genesis?.body).toMatchObject({ deployment_model: deployment })
    await first.node.stop('enough')
    expect(kept(place)).toContain('workspace_created')
    expect(kept(place)).not.toContain(MARKER)
    const { client } = await realNode(place)
    expect(await client.call('runs', 'show', { run })).toMatchObject({ intent: `Say ${MARKER}.`, state: 'done' })
    expect(await client.call('trail', 'verify', {})).toMatchObject({ sound: true })
  },
)

test('W-SEC-13 ALP-ASK-08 under zero-trust what a peer asks is sealed in the record; its thread is the file that ALP names', async () => {
  const [alice, bob] = await linkedPair('deployment: zero-trust\n')
  bob.stage.answer(`answer ${MARKER}`)
  expect(await alice.answer('bob', `question ${MARKER}`)).toMatchObject({ text: `answer ${MARKER}` })
  await bob.node.stop('enough')
  expect(kept(bob.place)).toContain('workspace_created')
  expect(kept(bob.place)).not.toContain(MARKER)
  expect(readFileSync(bob.place.path('default', 'mentions', 'alice.json'), 'utf8')).toContain(MARKER)
})

test('under single-runtime the same is on the disk as it is', async () => {
  const place = declared('single-runtime')
  const { solved, node } = await realNode(place)
  await solved(`Say ${MARKER}.`)
  await node.stop('enough')
  expect(kept(place)).toContain(MARKER)
})

test('a profile whose model changes goes on, and what it sealed stays readable', async () => {
  const place = declared('single-runtime')
  const runs: string[] = []
  for (const model of ['single-runtime', 'zero-trust', 'shared-infrastructure', 'single-runtime']) {
    place.write('default/config.yaml', `deployment: ${model}\n`)
    const { solved, client, node } = await realNode(place)
    runs.push(await solved(`As ${model}.`))
    for (const run of runs) expect(await client.call('runs', 'show', { run })).toMatchObject({ state: 'done' })
    expect(await client.call('trail', 'verify', {})).toMatchObject({ sound: true })
    await node.stop('enough')
  }
})

describe('a secret', () => {
  async function used(): Promise<Ground> {
    const place = declared('zero-trust')
    const { solved, node } = await realNode(place)
    await solved('A thing.')
    await node.stop('enough')
    return place
  }
  const start = (place: Ground) =>
    Node.start({ config: place.config(), log: keptLog(), env: place.env, startedBy: 'up' })

  test('that is another one refuses the start, changes nothing, and the right one goes on', async () => {
    const place = await used()
    const file = place.path('default', 'secret')
    const secret = readFileSync(file)
    writeFileSync(file, Buffer.alloc(32, 1))
    const before = kept(place)
    expect(await start(place)).toMatchObject({ ok: false, error: { code: 'secret_mismatch' } })
    expect(kept(place)).toBe(before)
    expect(existsSync(place.path('default', 'call.sock'))).toBe(false)
    writeFileSync(file, secret)
    const { client } = await realNode(place)
    expect((await client.call('runs', 'list', {})).runs).toHaveLength(1)
  })

  test('that is gone refuses the start, and none is made in its place', async () => {
    const place = await used()
    rmSync(place.path('default', 'secret'))
    expect(await start(place)).toMatchObject({ ok: false, error: { code: 'secret_missing' } })
    expect(existsSync(place.path('default', 'secret'))).toBe(false)
  })
})

test('a secret that is lost for good leaves a node to verify, to query and to be stopped', async () => {
  const place = declared('shared-infrastructure')
  const first = await realNode(place)
  const run = await first.solved('A thing.')
  await first.node.stop('enough')
  rmSync(place.path('default', 'secret'))
  rmSync(place.path('default', 'trail', KEY_MARK))
  const { client, log, start } = await realNode(place)
  const told = { level: 'error', message: expect.stringContaining('sealed with another secret') }
  expect(log.lines).toContainEqual(expect.objectContaining(told))
  expect(await client.call('trail', 'verify', {})).toMatchObject({ sound: true })
  expect((await client.call('trail', 'query', { run })).entries.length).toBeGreaterThan(0)
  expect((await refusal(client.call('runs', 'show', { run }))).code).toBe('trail_damaged')
  expect((await refusal(start(TEAM))).code).toBe('trail_damaged')
})

describe('who may connect', () => {
  test('W-SEC-16 a listener that shows what it carries refuses the start, but for one process of its own', () => {
    const refused = (kind: string, mutual?: boolean) => (model: (typeof DEPLOYMENT_MODELS)[number]) => {
      try {
        requireListeners(model, [{ kind: 'unix' }, { kind, ...(mutual !== undefined && { mutual }) }])
        return false
      } catch (error) {
        expect(error).toMatchObject({ code: 'unsupported', details: { reason: 'unmet_deployment_model', model } })
        return true
      }
    }
    for (const kind of ['tcp', 'websocket', 'tls'])
      expect(DEPLOYMENT_MODELS.map(refused(kind)), kind).toEqual([false, true, true])
    for (const kind of ['unix', 'noise'])
      expect(DEPLOYMENT_MODELS.map(refused(kind)), kind).toEqual([false, false, false])
    expect(DEPLOYMENT_MODELS.map(refused('tls', true))).toEqual([false, false, false])
  })

  test('W-SEC-16 a connection comes in over the socket, or over TLS or Noise that has proved whose it is', () => {
    const admitted = (kind: string, identity?: Principal) =>
      DEPLOYMENT_MODELS.map(model => admits(model, { kind, identity }))
    expect(admitted('unix')).toEqual([true, true, true])
    for (const kind of ['tls', 'noise']) {
      expect(admitted(kind, somebody), kind).toEqual([true, true, true])
      expect(admitted(kind), kind).toEqual([true, false, false])
    }
    for (const kind of ['tcp', 'websocket']) expect(admitted(kind, somebody), kind).toEqual([true, false, false])
  })

  test('a socket that others can reach is none to start with', async () => {
    const place = declared('zero-trust')
    const { node } = await realNode(place)
    const socket = place.path('default', 'call.sock')
    expect(statSync(socket).mode & 0o777).toBe(0o600)
    const check = () => requireOwnSocket('zero-trust', socket)
    expect(check).not.toThrow()
    chmodSync(socket, 0o666)
    expect(check).toThrow(/mode 666/)
    expect(() => requireOwnSocket('single-runtime', socket)).not.toThrow()
    ;(await connectUnix(socket)).close()
    await node.stop('enough')
  })
})
