// All invariants by name, and how they are asked: of each record before it is folded, of each batch after it, of the
// whole state now and then. The rules themselves stand in rules/, one file for each concept.
import type { EntryDraft } from '@parley/trail'
import type { EventBody, EventType } from '@parley/trail/events'
import type { RunModel } from '../model/model.ts'
import { budgetRules } from '../rules/budget.ts'
import { conflictRules } from '../rules/conflict.ts'
import { escalationRules } from '../rules/escalation.ts'
import { gateRules } from '../rules/gate.ts'
import { mailRules } from '../rules/mail.ts'
import { peopleRules } from '../rules/people.ts'
import { recordRules } from '../rules/record.ts'
import type { BatchView, Invariant, Problem } from '../rules/rule.ts'
import { salvageRules } from '../rules/salvage.ts'
import { signalRules } from '../rules/signal.ts'
import { storageRules } from '../rules/storage.ts'
import { successionRules } from '../rules/succession.ts'
import { taskRules } from '../rules/task.ts'
import { topologyRules } from '../rules/topology.ts'
import { workspaceRules } from '../rules/workspace.ts'

export const INVARIANTS: readonly Invariant[] = [
  ...recordRules,
  ...workspaceRules,
  ...successionRules,
  ...mailRules,
  ...signalRules,
  ...taskRules,
  ...gateRules,
  ...escalationRules,
  ...topologyRules,
  ...budgetRules,
  ...conflictRules,
  ...salvageRules,
  ...storageRules,
  ...peopleRules,
]

/** Something that must never happen has happened. */
export class Violation extends Error {
  readonly invariant: string
  readonly detail: string

  constructor(invariant: string, detail: string) {
    super(`${invariant}: ${detail}`)
    this.invariant = invariant
    this.detail = detail
  }
}

export function violated(name: string, problem: Problem): void {
  if (problem !== undefined) throw new Violation(name, problem)
}

type Asked = readonly [
  name: string,
  rule: (run: RunModel, body: EventBody, entry: EntryDraft, batch: BatchView) => Problem,
]

const byType = new Map<EventType, Asked[]>()
for (const { name, on } of INVARIANTS) {
  for (const [type, rule] of Object.entries(on ?? {}) as [EventType, Asked[1]][]) {
    const asked = byType.get(type)
    if (asked) asked.push([name, rule])
    else byType.set(type, [[name, rule]])
  }
}
const everyEntry = INVARIANTS.flatMap(({ name, every }) => (every ? [{ name, every }] : []))
const everyObject = INVARIANTS.flatMap(({ name, object }) => (object ? [{ name, object }] : []))
const everyBatch = INVARIANTS.flatMap(({ name, batch }) => (batch ? [{ name, batch }] : []))
const everyState = INVARIANTS.flatMap(({ name, state }) => (state ? [{ name, state }] : []))

/** Folds a batch and asks every invariant about it. */
export function foldChecked(run: RunModel, batch: BatchView): void {
  for (const object of batch.objects) {
    for (const { name, object: rule } of everyObject) violated(name, rule(run, object, batch))
    run.object(object)
  }
  for (const [index, entry] of batch.entries.entries()) {
    batch.at = index
    for (const { name, every } of everyEntry) violated(name, every(run, entry, batch))
    for (const [name, rule] of byType.get(entry.event_type) ?? []) violated(name, rule(run, entry.body, entry, batch))
    run.entry(entry)
  }
  for (const { name, batch: rule } of everyBatch) violated(name, rule(run, batch))
}

export function checkState(run: RunModel): void {
  for (const { name, state } of everyState) violated(name, state(run))
}
