// A run: under which level and for whom it starts, and how it ends (W-LIFE-12 to -14, W-USER-07).
import { type ParleyError, type RunId, type SignalId, type Ticks, unwrap } from '@parley/core'
import { Trail } from '@parley/trail'
import { openMemoryStore } from '@parley/trail/testing'
import { expect, onTestFinished, test } from 'vitest'
import type { Command } from '../command.ts'
import { decide } from '../decide.ts'
import type { Transport } from '../runtime/actor/transport.ts'
import { Runtime } from '../runtime/runtime.ts'
import type { RuntimeOptions } from '../runtime/runtime-options.ts'
import { fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
import { EVERYBODY, GUARDS } from '../testing/host.ts'
import { undeliverable } from '../testing/mail.ts'
import { person, withUsers } from '../testing/people.ts'
import { changed } from '../testing/tasks.ts'
import type { Level } from './level.ts'
import { newRun } from './run.ts'

async function memoryTrail(): Promise<Trail> {
  const trail = new Trail({ store: await openMemoryStore() })
  onTestFinished(() => trail.close())
  return trail
}

const { secret } = GUARDS
test.each<[Level | undefined, Partial<RuntimeOptions>, readonly RegExp[]]>([
  [undefined, {}, [/`secret`/, /`users`/]],
  [3, { users: EVERYBODY }, [/`secret`/]],
  [3, { secret }, [/`users`/]],
  [2, {}, [/`secret`/, /`users`/]],
  [2, { users: 'house' }, [/`secret`/]],
  [2, { secret }, [/`users`/]],
])('W-SEC-07 level %s with %o does not open, says all that is missing, and leaves no trail', async (...given) => {
  const [level, options, expected] = given
  const trail = await memoryTrail()
  const opened = Runtime.open({ trail, ...options, ...(level !== undefined && { level }) })
  const error: ParleyError = await opened.catch(cause => cause)
  expect(error).toMatchObject({ code: 'unsupported', details: { reason: 'unmet_level', level: level ?? 3 } })
  const { missing } = error.details as { missing: readonly string[] }
  expect(missing).toHaveLength(expected.length)
  for (const [index, each] of expected.entries()) expect(missing[index]).toMatch(each)
  expect(await trail.runs()).toEqual([])
})

test('W-SEC-07 level 1 opens with neither, levels 2 and 3 with both, and there is no other', async () => {
  for (const options of [{ level: 1 }, { level: 2, ...GUARDS }, { level: 3, ...GUARDS }, GUARDS] as const) {
    const runtime = await Runtime.open({ trail: await memoryTrail(), ...options })
    await runtime.close()
  }
  const opened = Runtime.open({ trail: await memoryTrail(), ...GUARDS, level: 4 as never })
  await expect(opened).rejects.toMatchObject({ code: 'invalid_argument', details: { reason: 'unknown_level' } })
})

test('W-SEC-05 whoever was not authenticated does nothing, whatever they ask for, and each attempt is on record', async () => {
  const f = await withUsers({ level: 2, run: { highway: 'gated' } })
  const gated = await f.root.createWorkspace({ role: 'worker' })
  const gate = (gated.ok ? undefined : gated.error.details.gate) as never
  const known = await person(f, 'alice', 'inject_directive_any', 'abort_any', 'view_trail_any')
  const stranger = f.runtime.user('mallory')
  const root = f.id('R')
  const before = await f.picture()
  await f.mark()
  const attempts: readonly (() => Promise<unknown>)[] = [
    () => stranger.approve(f.run.id, gate),
    () => stranger.answerEscalation(f.run.id, 'sig_1' as SignalId, { type: 'delegation' } as never),
    () => stranger.resume(f.run.id, root),
    () => stranger.watch(f.run.id),
  ]
  for (const attempt of attempts)
    expect(refused((await attempt()) as never)).toBe('permission_denied(unknown_identity)')
  const added = await f.added()
  expect(added.map(({ event_type, body }) => [event_type, (body as { entity?: string }).entity])).toEqual(
    attempts.map(() => ['authentication_failed', 'mallory']),
  )
  expect(await f.picture()).toEqual(before)
  unwrap(await known.query(f.run.id, {}))
})

test('W-USER-07 a level 1 runtime without a directory takes every name that stands for nothing else', async () => {
  const f = await fixture({ level: 1 })
  for (const owner of ['system', 'worker'])
    expect(refused(await f.runtime.start({ owner }))).toBe('invalid_argument(owner_invalid)')
  const run = unwrap(await f.runtime.start({ owner: 'anybody' }))
  expect(unwrap(await run.coordinator.look()).owner).toBe('anybody')
})

test('W-USER-07 at every depth a run belongs to its owner, and the house to the operator', async () => {
  const f = await withUsers({ operator: 'root@example' })
  await f.worker('W', {}, await f.worker('D', { delegate: true }))
  for (const { run } of await f.trail.runs()) {
    const owners = await f.runtime.read(run, state => [...state.workspaces.values()].map(each => each.owner))
    expect(new Set(owners)).toEqual(new Set([run === f.run.id ? 'ux' : 'root@example']))
  }
})

test('W-USER-07 a house whose operator is suspended is still succeeded by the next', async () => {
  const f = await withUsers({ houseEntries: 12 })
  await person(f, 'operator')
  unwrap(await f.runtime.users.suspend('operator', { reason: 'holiday' }))
  const first = f.runtime.house.run
  for (let index = 0; index < 12; index++) await person(f, `u${index}`)
  expect(f.runtime.house.run).not.toBe(first)
  expect(await f.runtime.house.read(state => state.root?.owner)).toBe('operator')
})

test('W-LIFE-12 a start that is refused leaves no trail, and before genesis nothing is appended', async () => {
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

const byProtocol = (name: string, from: string, to: string, trigger: string): Row =>
  changed(name, from, to, trigger, 'protocol', 'protocol')

test('W-LIFE-13 what was asked together with the end of a run comes too late as well', async () => {
  const f = await withWorker()
  await f.force('W', 'closed')
  const [closed, ...late] = await Promise.all([
    f.run.close(),
    f.root.createWorkspace({ role: 'worker' }),
    f.agent('W').complete(),
    f.root.send(f.mail('W', 'feedback')),
    f.agent('W').writeMemory('k', 1),
    f.run.close(),
  ])
  expect(refused(closed)).toBe('ok')
  expect(new Set(late.map(refused))).toEqual(new Set(['invalid_state']))
  await f.expectAdded([
    byProtocol('R', 'active', 'integrating', 'run_complete'),
    byProtocol('R', 'integrating', 'closed', 'run_complete'),
  ])
})

test('W-LIFE-13 a root that has not started cannot close the run', async () => {
  const f = await fixture({ active: false })
  expect(refused(await f.run.close())).toBe('invalid_state')
  await f.expectAdded([])
})

test('W-LIFE-13 mail on its way to the root is given up before the run closes', async () => {
  const lost = new Set<string>()
  const carry: Transport['carry'] = (delivery, arrive) =>
    lost.has(delivery.to) ? new Promise(() => undefined) : arrive()
  const f = await fixture({ transport: { carry } })
  const worker = await f.worker('W')
  lost.add(f.id('R'))
  f.name(unwrap(await worker.send(f.mail('R', 'query'))).envelope, 'E')
  await f.force('W', 'failed')
  unwrap(await f.run.close())
  await f.expectAdded([
    byProtocol('R', 'active', 'integrating', 'run_complete'),
    // Its sender is terminal: the entry is filed under no workspace.
    undeliverable({ id: 'E', from: 'W', to: 'R' }, 'integrating', null),
    byProtocol('R', 'integrating', 'closed', 'run_complete'),
  ])
})

test('W-LIFE-14 a forced stop gives up mail that is on its way, and ends open integrations', async () => {
  const f = await withWorker()
  await f.worker('W2')
  await f.bring('W', 'integrating')
  unwrap(await f.root.beginIntegration(f.id('W')))
  await f.bring('W2', 'suspended')
  const { envelope } = unwrap(await f.root.send(f.mail('W2', 'feedback')))
  f.name(envelope, 'E')
  await f.mark()
  unwrap(await f.run.stop())
  await f.expectAdded([
    byProtocol('W2', 'suspended', 'failed', 'system_shutdown'),
    ['integration_aborted', 'W', 'protocol', { source: 'W', target: 'R', mode: 'normal', reason: 'system_shutdown' }],
    byProtocol('W', 'integrating', 'failed', 'system_shutdown'),
    undeliverable({ id: 'E', from: 'R', to: 'W2' }, 'failed'),
    [
      'system_degraded',
      null,
      'protocol',
      {
        reason: 'forced_shutdown',
        scope: 'systemic',
        affected_workspaces: ['W2', 'W'],
        coordinator_action: 'batch_abort',
      },
    ],
    byProtocol('R', 'active', 'failed', 'system_shutdown'),
  ])
})
