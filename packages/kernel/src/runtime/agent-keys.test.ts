// Keys for each workspace (zero-trust, W-SEC-13, -15): a grant hands over the key, and what an agent has no key for it
// does not read, even where access control has a hole.
import { join } from 'node:path'
import { type CheckpointId, type EnvelopeId, unwrap, type WorkspaceId } from '@parley/core'
import { ContentCipher, type ContentScope, fileStateCache } from '@parley/trail'
import { describe, expect, test } from 'vitest'
import type { MemoryRecord } from '../objects.ts'
import { type Fixture, type FixtureOptions, fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
import { changeObjects, temporaryProfile } from '../testing/profile.ts'
import type { Delivery, Transport } from './actor/transport.ts'
import type { AgentKeys } from './handle/agent-keys.ts'
import { readCheckpointContent, readContent, readEnvelopeContent } from './handle/content.ts'

const SECRET = new Uint8Array(32).fill(5)

function zeroTrust(options: FixtureOptions = {}): Promise<Fixture> {
  const cipher = ContentCipher.for('zero-trust', SECRET)
  return fixture({ secret: SECRET, deployment: 'zero-trust', cipher, ...options })
}

const withheld = (reader: string, kind: string, target: string): Row => [
  'capability_denied',
  reader,
  'worker',
  { user_id: null, capability: 'access:read', action: `read_${kind}`, target, reason: 'permission_denied' },
]

/**
 * What access control would have to let pass: content read with the keys of one workspace, and nothing asked before.
 */
function holeFor(f: Fixture, reader: string) {
  const keys = f.run.agentKeys(f.id(reader))!
  return {
    keys,
    checkpoint: (id: CheckpointId) => readCheckpointContent(f.run, id, keys),
    envelope: (id: EnvelopeId) => readEnvelopeContent(f.run, id, keys),
    context: async (workspace: WorkspaceId) =>
      readContent(f.run, 'context', (await f.run.read(run => run.workspaces.get(workspace)!.context))!, keys),
    memory: async (workspace: WorkspaceId, key: string) =>
      readContent<MemoryRecord>(
        f.run,
        'memory',
        (await f.run.read(run => run.workspaces.get(workspace)!.memory!.get(key)))!,
        keys,
      ),
  }
}

/** Two workers that do not see each other; the second has content of every kind. */
async function strangers() {
  const f = await zeroTrust()
  await f.worker('W1')
  const other = await f.worker('W2', { context: { note: 'context' } })
  unwrap(await other.writeMemory('k', 'v'))
  const { checkpoint } = unwrap(await f.checkpoint('W2'))
  f.name(checkpoint, 'K')
  const sent = unwrap(await f.root.feedback(f.id('W2'), { format: 'markdown', content: 'mail' }))
  f.name(sent.envelope, 'E')
  const memory = await f.run.read(run => run.workspaces.get(f.id('W2'))!.memory!.get('k')!)
  f.name(memory, 'M')
  const context = await f.run.read(run => run.workspaces.get(f.id('W2'))!.context!)
  f.name(context, 'C')
  await f.mark()
  return { f, checkpoint: checkpoint as CheckpointId, envelope: sent.envelope }
}

test('W-SEC-13 what an agent has no key for stays closed although access control lets it pass, and that is on record', async () => {
  const { f, checkpoint, envelope } = await strangers()
  const hole = holeFor(f, 'W1')
  expect(refused(await hole.checkpoint(checkpoint))).toBe('not_found')
  expect(refused(await hole.memory(f.id('W2'), 'k'))).toBe('not_found')
  expect(refused(await hole.envelope(envelope))).toBe('not_found')
  expect(refused(await hole.context(f.id('W2')))).toBe('not_found')
  await f.expectAdded([
    withheld('W1', 'checkpoint', 'K'),
    withheld('W1', 'memory', 'M'),
    withheld('W1', 'envelope', 'E'),
    withheld('W1', 'context', 'C'),
  ])
  // Whose it is opens it with the keys that it was given.
  const own = holeFor(f, 'W2')
  for (const read of [
    await own.checkpoint(checkpoint),
    await own.memory(f.id('W2'), 'k'),
    await own.envelope(envelope),
    await own.context(f.id('W2')),
  ])
    unwrap(read)
  await f.expectAdded([])
})

test('W-SEC-15 a grant hands over the key to checkpoints and memory, and never the one to mail or context', async () => {
  const { f, checkpoint, envelope } = await strangers()
  const hole = holeFor(f, 'W1')
  const scope: ContentScope = { of: 'workspace', workspace: f.id('W2') }
  expect(await hole.keys.key(scope)).toBeUndefined()
  unwrap(await f.root.grantVisibility(f.id('W1'), f.id('W2'), 'builds on it'))
  await f.mark()
  expect(await hole.keys.key(scope)).toBeDefined()
  expect(unwrap(await f.agent('W1').readCheckpoint(checkpoint)).id).toBe(checkpoint)
  expect(unwrap(await f.agent('W1').readMemory('k', f.id('W2')))).toBe('v')
  await f.expectAdded([])
  expect(refused(await f.agent('W1').readEnvelope(envelope))).toBe('not_found')
  expect(refused(await hole.envelope(envelope))).toBe('not_found')
  expect(refused(await hole.context(f.id('W2')))).toBe('not_found')
  await f.expectAdded([
    withheld('W1', 'envelope', 'E'),
    withheld('W1', 'envelope', 'E'),
    withheld('W1', 'context', 'C'),
  ])
  // One way only.
  expect(await holeFor(f, 'W2').keys.key({ of: 'workspace', workspace: f.id('W1') })).toBeUndefined()
  // It is on the trail, and so it holds after a restart.
  await f.restart()
  expect(unwrap(await f.agent('W1').readCheckpoint(checkpoint)).id).toBe(checkpoint)
})

test('W-SEC-15 every key is explained by the creation set, descent or a grant', async () => {
  const f = await zeroTrust()
  await f.worker('W')
  await f.worker('S', { visibility: [f.id('W')] })
  const lead = await f.worker('D', { role: 'worker', delegate: true })
  const child = await f.workspace('C', {}, lead)
  const ring = (name: string): AgentKeys => f.run.agentKeys(f.id(name))!
  const has = async (name: string, scope: ContentScope) => (await ring(name).key(scope)) !== undefined
  const of = (name: string): ContentScope => ({ of: 'workspace', workspace: f.id(name) })
  expect(child.workspace).toBe(f.id('C'))
  const table: [string, ContentScope, boolean][] = [
    ['W', of('W'), true],
    ['W', of('S'), false],
    ['W', of('R'), false],
    ['S', of('W'), true],
    ['D', of('C'), true],
    ['C', of('D'), false],
    ['W', of('C'), false],
    ['S', { of: 'private', workspace: f.id('W') }, false],
    ['D', { of: 'private', workspace: f.id('C') }, true],
    ['C', { of: 'private', workspace: f.id('D') }, false],
    ['C', { of: 'private', workspace: f.id('C') }, true],
    ['W', { of: 'mail', from: f.id('W'), to: f.id('S') }, true],
    ['S', { of: 'mail', from: f.id('W'), to: f.id('S') }, true],
    ['D', { of: 'mail', from: f.id('W'), to: f.id('C') }, false],
    ['W', { of: 'run' }, false],
    ['W', { of: 'trail' }, true],
    ['R', { of: 'run' }, true],
    ['R', of('C'), true],
    ['R', { of: 'mail', from: f.id('W'), to: f.id('C') }, true],
  ]
  for (const [name, scope, held] of table) expect([name, scope, await has(name, scope)]).toEqual([name, scope, held])
})

test('an agent whose workspace is over is denied under its name', async () => {
  const { f, checkpoint } = await strangers()
  await f.bring('W1', 'failed')
  await f.mark()
  expect(refused(await holeFor(f, 'W1').checkpoint(checkpoint))).toBe('not_found')
  await f.expectAdded([
    ['capability_denied', null, 'worker', { ...withheld('W1', 'checkpoint', 'K')[3], workspace: 'W1' }],
  ])
})

test('under the other models the runtime opens for whom access control lets pass', async () => {
  const cipher = ContentCipher.for('shared-infrastructure', SECRET)
  const f = await withWorker({ secret: SECRET, deployment: 'shared-infrastructure', cipher })
  expect(f.run.agentKeys(f.id('W'))).toBeUndefined()
})

test('W-SEC-09 a sealed deliverable that was changed on the disk is flagged, and is not shown', async () => {
  const profile = temporaryProfile()
  const stateCache = fileStateCache(join(profile, 'states'), ContentCipher.for('zero-trust', SECRET))
  const f = await zeroTrust({ profile, stateCache, stateCacheEntries: 1 })
  const worker = await f.workspace('W', { directive: { format: 'markdown', content: 'work' } })
  unwrap(await worker.receive())
  const { checkpoint } = unwrap(await f.final('W'))
  unwrap(await worker.complete())
  await f.restart(() => changeObjects(f, 'checkpoint', otherTail))
  await f.mark()
  const read = await f.root.readCheckpoint(checkpoint as CheckpointId)
  expect(refused(read)).toBe('content_damaged')
  expect(refused(await f.root.accept(f.id('W')))).toBe('rejected(integrity_violation)')
  await f.expectAmong([
    ['integration_started', 'W', 'system'],
    ['integrity_violation', null, 'protocol', { subject_type: 'checkpoint', action_taken: 'flagged' }],
    ['integration_aborted', 'W', 'protocol', { reason: 'integrity_violation' }],
  ])
})

function otherTail(sealed: string): string {
  return `${sealed.slice(0, -8)}${sealed.slice(-8, -4) === 'AAAA' ? 'BBBB' : 'AAAA'}${sealed.slice(-4)}`
}

test('a run whose sealed content was changed is halted when all of it has to be read', async () => {
  const profile = temporaryProfile()
  const f = await zeroTrust({ profile })
  await f.worker('W')
  await f.checkpoint('W')
  await f.reopen(() => changeObjects(f, 'checkpoint', otherTail))
  expect(f.runtime.halted.get(f.run.id)?.message).toContain('is not what was sealed')
  expect(refused(await f.runtime.open(f.run.id))).toBe('run_halted')
})

describe('in transit', () => {
  /** Carries what it is given, as a network would. */
  class Wire implements Transport {
    readonly seen: Delivery[] = []
    change: (sealed: string) => unknown = sealed => sealed

    carry(delivery: Delivery, arrive: (arrived?: unknown) => Promise<void>): Promise<void> {
      this.seen.push(delivery)
      return delivery.kind === 'envelope' ? arrive(this.change(delivery.sealed ?? '')) : arrive()
    }
  }

  async function wired() {
    const wire = new Wire()
    const f = await zeroTrust({ transport: wire })
    await f.worker('W')
    wire.seen.length = 0
    await f.mark()
    return { f, wire }
  }

  test('W-SEC-13 a transport sees no content, and what arrives is what was sent', async () => {
    const { f, wire } = await wired()
    unwrap(await f.root.feedback(f.id('W'), { format: 'markdown', content: 'marker-mail' }))
    await f.settle()
    expect(wire.seen).toHaveLength(1)
    expect(wire.seen[0]).toMatchObject({ envelope: undefined, sealed: expect.stringMatching(/^enc:1:/) })
    expect(JSON.stringify(wire.seen)).not.toContain('marker-mail')
    expect(unwrap(await f.agent('W').consume())?.payload.content).toBe('marker-mail')
  })

  test.each<[string, (sealed: string) => unknown]>([
    ['changed', sealed => `${sealed.slice(0, -8)}AAAAAAA=`],
    ['no longer sealed', () => ({ payload: 'mine' })],
    ['nothing', () => ''],
  ])('W-SEC-10 mail that arrives %s is rejected, and that is on record', async (_what, change) => {
    const { f, wire } = await wired()
    wire.change = change
    const { envelope } = unwrap(await f.root.feedback(f.id('W'), { format: 'markdown', content: 'text' }))
    f.name(envelope, 'E')
    await f.settle()
    await f.expectAmong([
      [
        'integrity_violation',
        null,
        'protocol',
        { subject_type: 'envelope', subject_id: 'E', action_taken: 'rejected' },
      ],
      ['envelope_rejected', 'R', 'protocol', { envelope_id: 'E', reason: 'integrity_violation' }],
    ])
    expect(unwrap(await f.agent('W').consume())).toBeUndefined()
  })

  test('W-SEC-14 what was sealed for one envelope does not pass for another of the same channel', async () => {
    const { f, wire } = await wired()
    const first: string[] = []
    wire.change = sealed => {
      first.push(sealed)
      return first[0]
    }
    unwrap(await f.root.feedback(f.id('W'), { format: 'markdown', content: 'one' }))
    await f.settle()
    const { envelope } = unwrap(await f.root.feedback(f.id('W'), { format: 'markdown', content: 'two' }))
    f.name(envelope, 'E2')
    await f.settle()
    await f.expectAmong([['envelope_rejected', 'R', 'protocol', { envelope_id: 'E2', reason: 'integrity_violation' }]])
  })
})
