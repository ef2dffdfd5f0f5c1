// Reading a run: views (W-TRAIL-22, -23), watching (W-TRAIL-21), and which entries precede which (W-CLOCK-06).
import { ManualClock, SeededIds, type Ticks, unwrap, type WorkspaceId } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import type { Entry } from '../entry.ts'
import type { TrailStore } from '../store/store.ts'
import { openMemoryStore } from '../testing/memory/open-memory.ts'
import { ScriptedRun } from '../testing/scripted-run.ts'
import { memoryTrail } from '../testing/steps.ts'
import { Trail } from '../trail.ts'
import { CausalOrder } from './causality.ts'
import { views } from './views.ts'

async function scripted(): Promise<{ script: ScriptedRun; a: WorkspaceId; b: WorkspaceId }> {
  const { trail, start } = await memoryTrail()
  onTestFinished(() => trail.close())
  const script = await start()
  return { script, a: await script.workspace(), b: await script.workspace() }
}

async function gate(script: ScriptedRun, workspace: WorkspaceId, user: string): Promise<void> {
  const gate_id = script.id('gate')
  const body = { gate_id, gate_type: 'integration' } as const
  unwrap(await script.append(script.entry('gate_triggered', workspace, 'protocol', { ...body, workspace })))
  unwrap(await script.append(script.entry('gate_resolved', workspace, user, { ...body, actor: user })))
}

test('W-TRAIL-22 every view flags the recoveries, also one that is filtered by a person', async () => {
  const { script, a, b } = await scripted()
  await gate(script, a, 'alice')
  const { first } = unwrap(await script.append(script.entry('recovery_completed', null, 'protocol')))
  await gate(script, b, 'bob')
  const { run } = script
  const shown = [
    await views.runOverview(run),
    await views.workspaceTimeline(run, a),
    await views.messageFlow(run),
    await views.highwayActivity(run),
    await views.highwayActivity(run, 'alice'),
  ]
  for (const view of shown) expect(unwrap<{ recoveries: readonly number[] }, unknown>(view).recoveries).toEqual([first])
  expect(unwrap(await views.compareRuns([run]))[0]!.recoveries).toEqual([first])
  const alone = unwrap(await views.highwayActivity(run, 'alice')).entries
  expect(alone.map(entry => entry.actor)).toEqual(['alice'])
})

test('W-TRAIL-22 entries of different workspaces are shown as concurrent where nothing orders them', async () => {
  const { script, a, b } = await scripted()
  await script.envelope(script.root, a, 'system')
  await script.envelope(script.root, b, 'system')
  // Each answers on its own; what the root says then follows both.
  await script.envelope(a, script.root, 'worker')
  await script.envelope(b, script.root, 'worker')
  await script.envelope(script.root, a, 'system')
  const { edges, before } = unwrap(await views.messageFlow(script.run))
  const [toA, toB, fromA, fromB, last] = edges.map(edge => edge.sent) as [number, number, number, number, number]
  expect(before).toEqual({ [toA]: [], [toB]: [toA], [fromA]: [toA], [fromB]: [toB], [last]: [toB, fromA, fromB] })

  await gate(script, a, 'alice')
  await gate(script, b, 'bob')
  const view = unwrap(await views.highwayActivity(script.run))
  const [asked, answered, other, decided] = view.entries.map(({ seq }) => seq) as [number, number, number, number]
  expect(view.before).toEqual({ [asked]: [], [answered]: [asked], [other]: [], [decided]: [other] })
  const alone = unwrap(await views.highwayActivity(script.run, 'bob'))
  expect(alone.before).toEqual({ [decided]: [] })
})

test('W-TRAIL-23 a cost that the runtime contradicted counts as the runtime measured it', async () => {
  const { script, a } = await scripted()
  const usage = { tokens_consumed: 10, wall_time: 5, cost: 0.25 }
  const checkpoint_id = await script.checkpoint(a, { resource_usage: usage })
  const differs = { checkpoint_id, workspace: a, field: 'cost', agent_value: 0.25, runtime_value: 1 } as const
  unwrap(await script.append(script.entry('resource_discrepancy', a, 'protocol', differs)))
  const [metrics] = unwrap(await views.compareRuns([script.run]))
  expect(metrics).toMatchObject({ total_cost: 1, checkpoint_count: 1, workspace_count: 3, failure_count: 0 })
})

const START = 1_772_355_900_000_000 as Ticks

async function watched(store: TrailStore): Promise<ScriptedRun> {
  return ScriptedRun.start(new Trail({ store }), new SeededIds(1), new ManualClock(START))
}

test('W-TRAIL-21 an entry that is committed while a page is being read is not missed', async () => {
  const store = await openMemoryStore()
  let between = async () => {}
  // Whatever happens in `between` happens after the page was read and before the watcher gets it.
  const slow: TrailStore = Object.create(store, {
    select: {
      value: async (query: Parameters<TrailStore['select']>[0]) => {
        const page = await store.select(query)
        await between()
        return page
      },
    },
    append: { value: store.append.bind(store) },
    replay: { value: store.replay.bind(store) },
    logHead: { value: store.logHead.bind(store) },
    damage: { get: () => store.damage },
  })
  const script = await watched(slow)
  const seen: number[] = []
  const watching = (async () => {
    for await (const page of script.run.watch({ after: 1 })) {
      seen.push(...page.entries.map(entry => entry.seq))
      if (seen.includes(2)) return
    }
  })()
  between = async () => {
    between = async () => {}
    unwrap(await script.append(script.entry('user_created', null, 'system')))
  }
  await watching
  expect(seen).toEqual([2])
  await store.close()
})

test('W-TRAIL-21 a watch ends when it is told to, also while it waits, and sees only what its reader may see', async () => {
  const store = await openMemoryStore()
  const script = await watched(store)
  const [mine, other] = [await script.workspace(), await script.workspace()]
  const stop = new AbortController()
  const seen: (string | null)[] = []
  const watching = (async () => {
    for await (const page of script.run.watch({}, { kind: 'agent', workspace: mine }, stop.signal)) {
      seen.push(...page.entries.map(entry => entry.workspace))
      if (seen.length === 2) stop.abort()
    }
  })()
  await script.checkpoint(other)
  await script.checkpoint(mine)
  await watching
  expect(seen).toEqual([mine, mine])
  await store.close()
})

test('W-TRAIL-21 a watch of a run that was released since delivers what is appended to it afterwards', async () => {
  const { store, trail, ids, clock, start } = await memoryTrail()
  const script = await start()
  const watching = script.run.watch({})
  const seen = async () => (await watching.next()).value.entries.map((entry: { seq: number }) => entry.seq)
  expect(await seen()).toEqual([1])
  const next = seen()
  await trail.release(script.run.id)
  const again = new ScriptedRun(trail, ids, clock, { run: script.run.id, root: script.root })
  unwrap(await again.append(again.entry('user_created', null, 'system')))
  expect(await Promise.race([next, new Promise(resolve => setTimeout(resolve, 5000, 'nothing'))])).toEqual([2])
  await watching.return(undefined)
  await store.close()
})

function entry(seq: number, workspace: string | null, event_type: string, body: object = {}): Entry {
  return { seq, workspace: workspace as WorkspaceId | null, event_type, body } as Entry
}

test('W-CLOCK-06 each of the four links orders two workspaces, and nothing else does', () => {
  const links = [
    ['envelope_created', { envelope_id: 'x' }, 'envelope_delivered', { envelope_id: 'x' }],
    ['signal_emitted', { signal_id: 'x' }, 'signal_delivered', { signal_id: 'x' }],
    ['checkpoint_created', { checkpoint_id: 'x' }, 'integration_started', { checkpoint_ref: 'x' }],
    ['gate_triggered', { gate_id: 'x' }, 'gate_resolved', { gate_id: 'x' }],
  ] as const
  for (const [cause, causeBody, effect, effectBody] of links) {
    const order = new CausalOrder([entry(1, 'a', cause, causeBody), entry(2, 'b', effect, effectBody)])
    expect(order.relation(1, 2), cause).toBe('before')
  }
  const unlinked = new CausalOrder([
    entry(1, 'a', 'envelope_created', { envelope_id: 'x' }),
    entry(2, 'b', 'envelope_delivered', { envelope_id: 'y' }),
  ])
  expect(unlinked.relation(1, 2)).toBe('concurrent')
})

test('W-CLOCK-06 the order is transitive, and follows seq inside one workspace', () => {
  const order = new CausalOrder([
    entry(1, 'a', 'checkpoint_created'),
    entry(2, 'a', 'envelope_created', { envelope_id: 'x' }),
    entry(3, 'c', 'checkpoint_created'),
    entry(4, 'b', 'envelope_delivered', { envelope_id: 'x' }),
    entry(5, 'b', 'checkpoint_created'),
    entry(6, null, 'user_created'),
  ])
  expect(order.relation(1, 5)).toBe('before')
  expect(order.relation(5, 1)).toBe('after')
  expect(order.relation(3, 5)).toBe('concurrent')
  expect(order.relation(6, 5)).toBe('concurrent')
  expect(order.relation(4, 4)).toBe('same')
})
