import { type RunId, type Ticks, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { Command } from '../command.ts'
import { decide } from '../decide.ts'
import { fixture, refused } from '../testing/fixture.ts'
import { newRun } from './run.ts'

test('WP-001 a run begins with its root, and takes no children before the coordinator has started', async () => {
  const f = await fixture({ active: false })
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('rejected(parent_not_accepting)')
  expect(await f.root.started()).toMatchObject({ ok: true, value: { outcome: 'applied' } })
  const rows = (await f.run.entries()).map(entry => f.row(entry))
  expect(rows).toEqual([
    [
      'workspace_created',
      'R',
      'protocol',
      {
        workspace_id: 'R',
        role: 'coordinator',
        parent: null,
        delegate: false,
        originator: 'system',
        owner: 'ux',
        visibility_set: ['R'],
        authority_set: { resources: ['*'], actions: expect.arrayContaining(['operation:create_workspace']) },
        timeout: null,
        priority: 'normal',
        agent: 'agent:R',
        hash_algorithm: 'sha-256',
        taxonomy_id: null,
        taxonomy_version: null,
        protocol_version: '0.1',
        deployment_model: 'single-runtime',
        content_proof: 'hmac-sha256',
        content_objects: ['settings'],
      },
    ],
    [
      'port_right_created',
      'R',
      'protocol',
      { right_id: 'right1', right_type: 'receive', holder: 'R', target: 'R', created_by: 'R' },
    ],
    ['signal_emitted', 'R', 'system', { signal_id: 'sig1', from: 'R', type: 'ready' }],
    ['workspace_rejected', 'R', 'protocol', { reason: 'parent_not_accepting', capacity_details: {} }],
    ['signal_emitted', 'R', 'system', { signal_id: 'sig2', from: 'R', type: 'started' }],
    [
      'workspace_state_changed',
      'R',
      'protocol',
      {
        workspace_id: 'R',
        from_state: 'idle',
        to_state: 'active',
        trigger: 'agent_started',
        initiator: 'coordinator',
      },
    ],
  ])
  expect(await f.run.read(run => run.workspaces.size)).toBe(1)
})

test('WM-014 the trail of a run, and that of each workspace, begins with its creation and with nothing before it', async () => {
  const taxonomy = { id: 't', version: '1.2.0', protocol_version: '0.1' }
  const lists = { roles: [], envelope_types: [], checkpoint_types: [] }
  const f = await fixture({ run: { owner: 'ux', taxonomy: { ...taxonomy, ...lists } } })
  await f.workspace('W')
  const [first] = await f.run.entries()
  expect(first).toMatchObject({
    event_type: 'workspace_created',
    workspace: f.id('R'),
    seq: 1,
    prev_hash: null,
  })
  expect(first?.body).toMatchObject({
    workspace_id: f.id('R'),
    hash_algorithm: 'sha-256',
    taxonomy_id: 't',
    taxonomy_version: '1.2.0',
    protocol_version: '0.1',
    deployment_model: 'single-runtime',
  })
  const local = unwrap(await f.root.query({ scope: 'local', workspace: f.id('W') }))
  const [own, next] = local.entries
  expect(own).toMatchObject({ event_type: 'workspace_created', workspace: f.id('W'), prev_hash: null })
  expect(own?.body).toMatchObject({ workspace_id: f.id('W'), parent: f.id('R') })
  expect(own?.body).not.toHaveProperty('hash_algorithm')
  expect(next?.prev_hash).toBe(own?.integrity.entry_hash)
})

test('WM-014 a start that is refused leaves no trail, and before genesis nothing is appended', async () => {
  const f = await fixture()
  const runs = await f.trail.runs()
  const wrong = await f.runtime.start({ owner: 'ux', taxonomy: { id: 'x' } })
  expect(refused(wrong)).toBe('invalid_taxonomy')
  expect(await f.trail.runs()).toEqual(runs)
  const run = newRun('run_other' as RunId)
  const early: Command = { type: 'abort', caller: f.id('R'), workspace: f.id('R') }
  const decision = decide(run, early, { now: 1 as Ticks, ids: f.ids })
  expect(refused(decision.result)).toBe('invalid_state(not_initialized)')
  expect([decision.entries, decision.objects]).toEqual([[], []])
})
