// Whatever is asked (W-INT-08, -19, -20): one integration at a time holds a target, each has one end, and what failed stays as it was.
import { type RunId, SeededIds, type Ticks } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Command } from '../command.ts'
import { decide } from '../decide.ts'
import { evolve } from '../evolve.ts'
import { newRun, type Run } from '../run/run.ts'
import { anyStep, commandOf, prologue, randomTaxonomy, salvageStep } from '../testing/random-commands.ts'

const anySteps = fc.array(fc.oneof(anyStep, salvageStep), { minLength: 20, maxLength: 80, size: 'max' })

const RUNS = process.env.PARLEY_SOAK ? 5_000 : 150

/** Two workers leave something behind and fail. */
function* failures(run: Run): Generator<Command> {
  const workers = [...run.workspaces.values()].filter(each => each.role === 'worker' && !each.delegate)
  for (const { id: caller } of workers.slice(0, 2)) {
    const payload = { files_changed: ['a.txt'], content: 'part' }
    const draft = { type: 'artifact', payload, intent: 'try', status: 'final', confidence: 'high' }
    yield { type: 'checkpoint', caller, draft }
    yield { type: 'emit', caller, draft: { type: 'failed', reason: 'broke' } }
  }
}

interface Seen {
  /** Sources whose integration is open, by target. */
  readonly open: Map<string, string>
  /** How many salvages were begun. */
  salvages: number
}

/** Asks and folds; what the entries say is followed on the side. */
function ask(run: Run, command: Command, count: number, seen: Seen): boolean {
  const now = (1_772_355_900_000_000 + count * 1000) as Ticks
  const { objects, entries, result } = decide(run, command, { now, ids: new SeededIds(count) })
  for (const object of objects) evolve(run, object)
  for (const entry of entries) {
    const { event_type, workspace, body } = entry
    const subject = workspace === null ? undefined : run.workspaces.get(workspace)
    expect(subject?.status, `${event_type} under ${workspace}`).not.toBe('failed')
    if (event_type === 'integration_started') {
      const { source, target, mode } = body as EventBody<'integration_started'>
      expect(seen.open.has(target), 'one at a time').toBe(false)
      seen.open.set(target, source)
      if (mode === 'salvage') {
        seen.salvages++
        expect(workspace).toBe(target)
      }
    } else if (event_type === 'integration_completed' || event_type === 'integration_aborted') {
      const { source, target } = body as EventBody<'integration_aborted'>
      expect(seen.open.get(target), 'it was open').toBe(source)
      seen.open.delete(target)
    } else if (event_type === 'workspace_reparented') {
      const { workspace_id, old_parent, new_parent } = body as EventBody<'workspace_reparented'>
      if (seen.open.get(old_parent) === workspace_id) {
        seen.open.delete(old_parent)
        if (!seen.open.has(new_parent)) seen.open.set(new_parent, workspace_id)
      }
    }
    evolve(run, entry)
  }
  return result.ok
}

test('W-INT-08 each integration holds its target alone, and a failed source gets no entry', () => {
  let salvages = 0
  fc.assert(
    fc.property(anySteps, steps => {
      const run = newRun('run_1' as RunId)
      const seen: Seen = { open: new Map(), salvages: 0 }
      let count = 0
      const start = { owner: 'ux', taxonomy: randomTaxonomy, highway: 'off' }
      expect(ask(run, { type: 'start', draft: start }, count++, seen)).toBe(true)
      for (const command of prologue(run)) ask(run, command, count++, seen)
      for (const command of failures(run)) ask(run, command, count++, seen)
      for (const step of steps) {
        ask(run, commandOf(run, step), count++, seen)
        for (const workspace of run.workspaces.values())
          if (workspace.merging?.status === 'failed')
            expect(run.salvages.get(workspace.merging.id)?.target).toBe(workspace)
      }
      salvages += seen.salvages
    }),
    { numRuns: RUNS },
  )
  // Otherwise nothing was tried.
  expect(salvages).toBeGreaterThan(RUNS)
})
