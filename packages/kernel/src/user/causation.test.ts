// Where work comes from (W-USER-10, -11, W-TOPO-CAUS): originators follow injections below every parent, and nothing changes them
// afterwards.
import { type EnvelopeId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, refused } from '../testing/fixture.ts'
import { person, withUsers } from '../testing/people.ts'

async function injectInto(f: Fixture, user: string, to: string): Promise<EnvelopeId> {
  return unwrap(await f.runtime.user(user).inject(f.run.id, f.mail(to, 'directive'))).envelope
}

function originator(f: Fixture, name: string): Promise<string | undefined> {
  return f.run.read(run => run.workspaces.get(f.id(name))?.originator)
}

async function originators(f: Fixture, ...names: string[]): Promise<Record<string, string | undefined>> {
  return Object.fromEntries(await Promise.all(names.map(async name => [name, await originator(f, name)])))
}

test('WP-085 originators follow injections, never a caller, and outlast transfer and reparenting', async () => {
  const f = await withUsers()
  for (const user of ['ux', 'uy']) await person(f, user, 'inject_directive_any')
  const s = await f.worker('S', { delegate: true, owner: 'uy' })
  const e = await injectInto(f, 'ux', 'R')
  const x = await f.worker('X', { delegate: true, caused_by: e, owner: 'ux' })
  await f.workspace('Y', { owner: 'uy' }, x)
  await f.workspace('V', { caused_by: await injectInto(f, 'uy', 'X') }, x)
  await f.workspace('U', { caused_by: await injectInto(f, 'uy', 'S') }, s)
  await f.workspace('Z')
  const expected = { S: 'system', X: 'ux', Y: 'ux', V: 'uy', U: 'uy', Z: 'system' }
  const names = Object.keys(expected)
  expect(await originators(f, ...names)).toEqual(expected)

  await f.mark()
  expect(refused(await f.root.createWorkspace({ role: 'worker', originator: 'ux' } as never))).toBe(
    'permission_denied',
  )
  const denied = { capability: 'set:originator', reason: 'permission_denied' }
  await f.expectAmong([['capability_denied', 'R', 'system', denied]])
  const query = unwrap(await x.send(f.mail('R', 'query'))).envelope
  await f.mark()
  expect(refused(await f.root.createWorkspace({ role: 'worker', caused_by: query }))).toBe(
    'rejected(invalid_parameters)',
  )
  await f.expectAmong([['workspace_rejected', 'R', 'protocol', { reason: 'invalid_parameters' }]])

  unwrap(await f.root.transferOwnership(f.id('V'), 'uy'))
  unwrap(await f.root.abort(f.id('X')))
  // Y belongs to somebody else than X did, and outlives it under the root.
  expect(await f.run.read(run => run.workspaces.get(f.id('Y'))?.parent?.id)).toBe(f.id('R'))
  expect(await originators(f, ...names)).toEqual(expected)
  await f.restart()
  expect(await originators(f, ...names)).toEqual(expected)
})

test('WM-097 boundaries run from the system or from one user to another, as the edges were made', async () => {
  const f = await withUsers()
  for (const user of ['alice', 'bob']) await person(f, user, 'inject_directive_any')
  const s = await f.worker('S', { delegate: true })
  await f.workspace('A', { delegate: true, caused_by: await injectInto(f, 'alice', 'R'), owner: 'alice' })
  unwrap(await f.root.directive(f.id('A'), { format: 'markdown', content: 'work' }))
  await f.settle()
  await f.workspace('A1', { owner: 'bob' }, f.agent('A'))
  await f.workspace('B', { caused_by: await injectInto(f, 'bob', 'A') }, f.agent('A'))
  await f.workspace('C', { caused_by: await injectInto(f, 'alice', 'S') }, s)
  await f.mark()

  expect(refused(await f.root.createWorkspace({ role: 'worker', originator: 'alice' } as never))).toBe(
    'permission_denied',
  )
  await f.expectAdded([
    [
      'capability_denied',
      'R',
      'system',
      {
        user_id: null,
        capability: 'set:originator',
        action: 'create_workspace',
        reason: 'permission_denied',
      },
    ],
  ])
  const expected = { R: 'system', S: 'system', A: 'alice', A1: 'alice', B: 'bob', C: 'alice' }
  expect(await originators(f, ...Object.keys(expected))).toEqual(expected)
  // Writing to a workspace changes nothing about where it came from.
  await injectInto(f, 'bob', 'C')
  unwrap(await f.root.transferOwnership(f.id('C'), 'bob'))
  unwrap(await f.root.abort(f.id('A')))
  expect(await f.run.read(run => run.workspaces.get(f.id('A1'))?.parent?.id)).toBe(f.id('R'))
  expect(await originators(f, ...Object.keys(expected))).toEqual(expected)

  const { topology } = f.run
  const named = async (ids: Promise<readonly string[]>) => (await ids).map(id => f.nameOf(id)).toSorted()
  expect(await named(topology.originatedBy('alice'))).toEqual(['A', 'A1', 'C'])
  expect(await named(topology.originatedBy('bob'))).toEqual(['B'])
  expect(await named(topology.originatedBy('system'))).toEqual(['R', 'S'])
  expect(await named(topology.ownedBy('bob'))).toEqual(['A1', 'C'])
  expect(await named(topology.boundaries())).toEqual(['A', 'B', 'C'])
})

test("WX-021 an injection overrides inheritance below every parent, another user's included, and its own subtree follows", async () => {
  const f = await withUsers()
  for (const user of ['alice', 'bob']) await person(f, user, 'inject_directive_any')
  const a = await f.worker('A', { delegate: true, caused_by: await injectInto(f, 'alice', 'R') })
  // Directly beneath the delegate, for bob and again for alice, and by the root's hand far below.
  const forBob = await injectInto(f, 'bob', 'A')
  await f.mark()
  await f.worker('B', { delegate: true, parent: f.id('A'), caused_by: forBob })
  await f.expectAmong([
    ['workspace_created', 'B', 'system', { parent: 'A', originator: 'bob', caused_by: f.nameOf(forBob) }],
  ])
  await f.worker('B1', {}, f.agent('B'))
  await f.worker('A2', { caused_by: await injectInto(f, 'alice', 'A') }, a)
  await f.worker('B2', { caused_by: await injectInto(f, 'alice', 'B') }, f.agent('B'))
  const expected = { R: 'system', A: 'alice', A2: 'alice', B: 'bob', B1: 'bob', B2: 'alice' }
  expect(await originators(f, ...Object.keys(expected))).toEqual(expected)
  const named = (ids: readonly string[]) => ids.map(id => f.nameOf(id)).toSorted()
  // A2 serves the same user as what it stands under: no boundary.
  expect(named(await f.run.topology.boundaries())).toEqual(['A', 'B', 'B2'])
  expect(named(unwrap(await f.run.topology.causedAlike(f.id('B'))))).toEqual(['B1'])
  await f.restart()
  expect(await originators(f, ...Object.keys(expected))).toEqual(expected)
  expect(named(await f.run.topology.boundaries())).toEqual(['A', 'B', 'B2'])
})

test('WX-061 only a directive that reached the creator says for whom work is done; the root cites any', async () => {
  const f = await withUsers()
  for (const user of ['alice', 'bob']) await person(f, user, 'inject_directive_any')
  const alice = f.runtime.user('alice')
  const d = await f.worker('D', { delegate: true, owner: 'bob' })
  await f.worker('E', { delegate: true })
  const question = unwrap(await alice.inject(f.run.id, f.mail('D', 'query'))).envelope
  const toRoot = await injectInto(f, 'alice', 'R')
  const toOther = await injectInto(f, 'alice', 'E')
  const toIt = await injectInto(f, 'alice', 'D')
  await f.mark()
  for (const cited of [question, toRoot, toOther]) {
    const made = await d.createWorkspace({ role: 'worker', caused_by: cited })
    expect(refused(made), f.nameOf(cited)).toBe('rejected(invalid_parameters)')
    const reason = { reason: 'invalid_parameters', capacity_details: {} }
    await f.expectAdded([['workspace_rejected', 'D', 'protocol', reason]])
  }
  expect(refused(await f.root.createWorkspace({ role: 'worker', caused_by: question }))).toBe(
    'rejected(invalid_parameters)',
  )
  const tasks = [{ name: 'T', description: 'do it' }]
  expect(refused(await f.root.submitGraph(tasks, question))).toBe('invalid_argument')
  unwrap(await f.root.submitGraph(tasks, toOther))
  await f.workspace('C', { caused_by: toIt }, d)
  await f.workspace('X', { caused_by: toOther })
  expect(await originators(f, 'C', 'X', 'D')).toEqual({ C: 'alice', X: 'alice', D: 'system' })
})
