// Whatever integrators and owners do in whatever order: integrations pair up, conflicts are settled before anything closes, one
// integration is open per target, and a replay gives the same state.
import { isDeepStrictEqual } from 'node:util'
import { type RunId, SeededIds, type Ticks, unwrap, type WorkspaceId } from '@parley/core'
import type { EntryDraft, TrailObject } from '@parley/trail'
import {
  CONFLICT_TYPES,
  type EventBody,
  INTEGRATION_STRATEGIES,
  RESOLUTION_STRATEGIES,
} from '@parley/trail/events'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Command } from '../command.ts'
import { decide } from '../decide.ts'
import { evolve } from '../evolve.ts'
import { newRun, type Run } from '../run/run.ts'
import { openConflicts } from './conflict-record.ts'

const RUNS = process.env.PARLEY_SOAK ? 5000 : 200
const SOURCES = 4

/** Which operation, on which source, with which choices inside it. */
const step = fc.record({
  kind: fc.nat({ max: 11 }),
  source: fc.nat({ max: SOURCES - 1 }),
  pick: fc.nat({ max: 11 }),
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

class Team {
  readonly run: Run = newRun('run_1' as RunId)
  readonly records: (EntryDraft | TrailObject)[] = []
  readonly sources: WorkspaceId[] = []
  #count = 0

  constructor(gates: boolean, files: readonly (readonly string[])[]) {
    const highway = {
      preset: 'gated',
      gates: {
        task_approval: false,
        workspace_create: false,
        envelope_delivery: false,
        workspace_abort: false,
      },
    }
    this.ask({ type: 'start', draft: { owner: 'ux', highway: gates ? highway : 'off' } })
    const root = this.run.root!.id
    this.ask({ type: 'emit', caller: root, draft: { type: 'started' } })
    for (const changed of files) this.#work(root, changed)
  }

  #work(root: WorkspaceId, files_changed: readonly string[]): void {
    const directive = { format: 'markdown', content: 'work' }
    const made = this.ask({
      type: 'create_workspace',
      caller: root,
      draft: { role: 'worker', resources: ['**'], directive },
    })
    const { workspace: caller } = unwrap(made) as { readonly workspace: WorkspaceId }
    this.sources.push(caller)
    const sent = this.ask({ type: 'dispatch', caller: root, workspace: caller })
    const { envelope } = unwrap(sent) as { readonly envelope: never }
    this.ask({ type: 'arrive', envelope })
    const payload = { content: 'done', files_changed }
    const draft = { type: 'artifact', payload, intent: 'show', status: 'final', confidence: 'high' }
    unwrap(this.ask({ type: 'checkpoint', caller, draft }))
    unwrap(this.ask({ type: 'emit', caller, draft: { type: 'complete' } }))
  }

  ask(command: Command) {
    const now = (1_772_355_900_000_000 + this.#count * 1_000_000) as Ticks
    const decision = decide(this.run, command, { now, ids: new SeededIds(this.#count++) })
    // The runtime lets it wait.
    if (!decision.result.ok && decision.result.error.code === 'target_locked') return decision.result
    for (const record of [...decision.objects, ...decision.entries]) {
      this.records.push(record)
      evolve(this.run, record)
    }
    return decision.result
  }

  commandOf({ kind, source: index, pick }: Step): Command {
    const caller = this.run.root!.id
    const source = this.sources[index]!
    const strategy = INTEGRATION_STRATEGIES[pick % INTEGRATION_STRATEGIES.length]
    const conflicts = this.run.workspaces.get(source)?.conflicts ?? []
    const conflict = conflicts[pick % Math.max(1, conflicts.length)]?.id ?? 'none'
    const gates = [...this.run.gates.keys()]
    const gate = gates[pick % Math.max(1, gates.length)] ?? 'none'
    switch (kind) {
      case 0:
      case 1:
        return { type: 'begin_integration', caller, source, strategy: pick > 3 ? 'evaluated' : strategy }
      case 2:
      case 3:
        return {
          type: 'decide_integration',
          caller,
          source,
          decision: 'accept',
          strategy: pick > 3 ? 'layered' : strategy,
        }
      case 4: {
        const decision = (['revise', 'reject'] as const)[pick % 6]
        if (decision) return { type: 'decide_integration', caller, source, decision }
        return { type: 'due' }
      }
      case 5: {
        const type = CONFLICT_TYPES[pick % CONFLICT_TYPES.length]
        const found = { type, resources: ['a'], description: 'they differ' }
        return { type: 'report_conflicts', caller, source, conflicts: pick > 5 ? [found] : [found, found] }
      }
      case 6:
      case 7:
      case 8: {
        const chosen = RESOLUTION_STRATEGIES[pick % RESOLUTION_STRATEGIES.length]
        return {
          type: 'resolve_conflict',
          caller,
          source,
          conflict,
          strategy: pick > 2 ? 'coordinator_resolve' : chosen,
          resolution: 'so',
          ...(pick === 0 && { result: 1 }),
        }
      }
      case 9:
      case 10:
        return { type: 'resolve_gate', user: 'ux', gate, action: pick > 2 ? 'approve' : 'reject' }
      default:
        return pick === 0 ? { type: 'abort', caller, workspace: source } : { type: 'due' }
    }
  }
}

function expectSound({ run, records }: Team): void {
  for (const workspace of run.workspaces.values()) {
    const open = openConflicts(workspace)
    if (workspace.status === 'conflicted') {
      expect(open.length).toBeGreaterThan(0)
      expect(workspace.integration?.target.merging).toBe(workspace)
    }
    if (workspace.status === 'closed') expect(open).toEqual([])
    if (workspace.status === 'integrating') expect(workspace.conflicts).toBeUndefined()
  }
  const integrations = new Map<string, number>()
  let holding: string | undefined
  for (const record of records) {
    if (!('event_type' in record)) continue
    const { source } = record.body as EventBody<'integration_started'>
    if (record.event_type === 'integration_started') {
      expect(holding).toBeUndefined()
      holding = source
      integrations.set(source, (integrations.get(source) ?? 0) + 1)
    } else if (/^integration_(completed|aborted)$/.test(record.event_type)) {
      expect(holding).toBe(source)
      holding = undefined
    }
  }
  for (const count of integrations.values()) expect(count).toBe(1)
  const again = newRun(run.id)
  for (const record of JSON.parse(JSON.stringify(records)) as typeof records) evolve(again, record)
  if (!isDeepStrictEqual(again, run)) expect(again).toStrictEqual(run)
}

test('W-INT-13 integrations pair up and nothing closes over an open conflict, whatever is decided', () => {
  const reached = new Map<string, number>()
  const files = fc.array(fc.subarray(['a', 'b', 'c'], { minLength: 1 }), {
    minLength: SOURCES,
    maxLength: SOURCES,
  })
  fc.assert(
    fc.property(
      fc.boolean(),
      files,
      fc.array(step, { minLength: 20, maxLength: 60 }),
      (gates, work, steps) => {
        const team = new Team(gates, work)
        for (const each of steps) team.ask(team.commandOf(each))
        expectSound(team)
        for (const record of team.records)
          if ('event_type' in record)
            reached.set(record.event_type, (reached.get(record.event_type) ?? 0) + 1)
      },
    ),
    { numRuns: RUNS },
  )
  // The sequences get to where it matters.
  for (const type of ['conflict_detected', 'conflict_resolved', 'gate_resolved', 'integration_completed'])
    expect(reached.get(type), type).toBeGreaterThan(5)
})
