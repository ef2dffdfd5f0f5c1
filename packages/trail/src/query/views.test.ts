// The standard views (W-TRAIL-22) and the comparison of runs (W-TRAIL-23): recoveries are flagged in every one,
// concurrency is shown, and what a runtime measured counts before what an agent reported.
import { ManualClock, SeededIds, unwrap, type WorkspaceId } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { memoryDisks, openMemoryStore } from '../testing/memory/open-memory.ts'
import { ScriptedRun } from '../testing/scripted-run.ts'
import { Trail } from '../trail.ts'
import { compareRuns, highwayActivity, messageFlow, runOverview, workspaceTimeline } from './views.ts'

async function scripted(): Promise<{ script: ScriptedRun; a: WorkspaceId; b: WorkspaceId }> {
  const trail = new Trail({ store: await openMemoryStore(memoryDisks()) })
  onTestFinished(() => trail.close())
  const script = await ScriptedRun.start(trail, new SeededIds(7), new ManualClock())
  return { script, a: await script.workspace(), b: await script.workspace() }
}

async function gate(script: ScriptedRun, workspace: WorkspaceId, user: string): Promise<void> {
  const gate_id = script.id('gate')
  const body = { gate_id, gate_type: 'integration', workspace } as const
  unwrap(await script.append(script.entry('gate_triggered', workspace, 'protocol', body)))
  unwrap(
    await script.append(
      script.entry('gate_resolved', workspace, user, { gate_id, gate_type: 'integration', actor: user }),
    ),
  )
}

test('W-TRAIL-22 every view flags the recoveries, also one that is filtered by a person', async () => {
  const { script, a, b } = await scripted()
  await gate(script, a, 'alice')
  const { first } = unwrap(await script.append(script.entry('recovery_completed', null, 'protocol')))
  await gate(script, b, 'bob')
  const { run } = script
  const views = [
    await runOverview(run),
    await workspaceTimeline(run, a),
    await messageFlow(run),
    await highwayActivity(run),
    await highwayActivity(run, 'alice'),
  ]
  for (const view of views) expect(unwrap<{ recoveries: readonly number[] }, unknown>(view).recoveries).toEqual([first])
  expect(unwrap(await compareRuns([run]))[0]!.recoveries).toEqual([first])
  const alone = unwrap(await highwayActivity(run, 'alice')).entries
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
  const { edges, before } = unwrap(await messageFlow(script.run))
  const [toA, toB, fromA, fromB, last] = edges.map(edge => edge.sent) as [number, number, number, number, number]
  expect(before).toEqual({
    [toA]: [],
    [toB]: [toA],
    [fromA]: [toA],
    [fromB]: [toB],
    [last]: [toB, fromA, fromB],
  })

  await gate(script, a, 'alice')
  await gate(script, b, 'bob')
  const view = unwrap(await highwayActivity(script.run))
  const [asked, answered, other, decided] = view.entries.map(({ seq }) => seq) as [number, number, number, number]
  expect(view.before).toEqual({ [asked]: [], [answered]: [asked], [other]: [], [decided]: [other] })
  const alone = unwrap(await highwayActivity(script.run, 'bob'))
  expect(alone.before).toEqual({ [decided]: [] })
})

test('W-TRAIL-23 a cost that the runtime contradicted counts as the runtime measured it', async () => {
  const { script, a } = await scripted()
  const usage = { tokens_consumed: 10, wall_time: 5, cost: 0.25 }
  const checkpoint_id = await script.checkpoint(a, { resource_usage: usage })
  const differs = { checkpoint_id, workspace: a, field: 'cost', agent_value: 0.25, runtime_value: 1 } as const
  unwrap(await script.append(script.entry('resource_discrepancy', a, 'protocol', differs)))
  const [metrics] = unwrap(await compareRuns([script.run]))
  expect(metrics).toMatchObject({ total_cost: 1, checkpoint_count: 1, workspace_count: 3, failure_count: 0 })
})
