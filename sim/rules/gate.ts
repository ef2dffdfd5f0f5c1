// Gates: where they open, how they end, that nothing they hold up happens before, that none outlives its subject.
import type { GateType } from '@parley/trail/events'
import { gateDeadline } from '../checks/overdue.ts'
import type { RunModel } from '../model/model.ts'
import { type GateModel, isOver, ticksOf } from '../model/records.ts'
import { isOpen } from '../model/salvage.ts'
import { type BatchView, has, type Invariant, type Problem } from './rule.ts'

const NONE = { on: false, timeout: null, fallback: 'reject' } as const
const TAKES_MAIL = ['idle', 'active', 'blocked', 'suspended', 'migrating']
const ABORTS = ['aborted_by_coordinator', 'batch_abort']

export const gateRules: readonly Invariant[] = [
  {
    name: 'W-HWY-03 W-HWY-14 a gate opens where the run has one, with the time and fallback of the run',
    on: {
      gate_triggered: (run, body) => {
        const setting = run.highway?.gates[body.gate_type] ?? NONE
        const stored = run.staged.get(body.gate_id)?.value as { paused?: { strategy?: unknown } } | undefined
        const asked = body.gate_type === 'conflict_resolution' && stored?.paused?.strategy === 'escalate'
        if (!setting.on && !asked) return `${body.gate_type} is off`
        return body.timeout === setting.timeout && body.fallback === setting.fallback
          ? undefined
          : `${body.timeout} ${body.fallback} instead of ${setting.timeout} ${setting.fallback}`
      },
    },
  },
  {
    name: 'W-HWY-11 no second gate about what waits, or what a fallback has decided',
    on: {
      gate_triggered: (run, body) => {
        const guard = run.guards.get(`${body.gate_type} ${body.subject.id}`)
        if (guard !== undefined) return `a fallback decided ${body.subject.id}: ${guard}`
        const same = [...run.gates.values()].find(
          gate => gate.type === body.gate_type && gate.subject === body.subject.id,
        )
        return same && `${same.id} waits about ${same.subject}`
      },
      gate_reentry_blocked: (run, body) => {
        const guard = run.guards.get(`${body.gate_type} ${body.subject_id}`)
        if (guard === undefined) return `nobody decided ${body.subject_id}`
        const expected = guard === 'reject' ? 'reject' : 'approve'
        return body.converted_to === expected ? undefined : `${guard} became ${body.converted_to}`
      },
    },
  },
  {
    name: 'W-HWY-06 a gate takes its place behind those that wait for the same person',
    on: {
      gate_triggered: (run, body) => {
        const ahead = [...run.gates.values()].filter(
          gate => gate.addressee === body.addressee && gate.handedOver === null,
        ).length
        return body.queue_position === ahead ? undefined : `${body.queue_position} behind ${ahead}`
      },
    },
  },
  {
    name: 'W-HWY-07 W-HWY-09 W-HWY-12 a gate ends once, while it waits, by a person, its fallback, the coordinator or its subject',
    on: {
      gate_resolved: (run, body, { actor }) => {
        const gate = run.gates.get(body.gate_id)
        if (!gate) return `${body.gate_id} does not wait`
        if (gate.type !== body.gate_type || actor !== body.actor) return `${body.gate_id} is a ${gate.type}`
        if (actor === 'protocol')
          return body.action === 'reject' && body.reason === 'subject_invalidated'
            ? undefined
            : `the protocol says ${body.action}`
        if (actor === 'fallback') return gate.timedOut ? undefined : `the fallback of ${gate.id} acts before its time`
        if (actor !== 'system') return undefined
        return gate.handedOver === null ? `the coordinator answers ${gate.id}, which waits for a person` : undefined
      },
      gate_timeout: (run, body, entry) => {
        const gate = run.gates.get(body.gate_id)
        if (!gate || gate.timedOut) return `${body.gate_id} does not wait for a person`
        const at = gateDeadline(gate)
        if (at === undefined || ticksOf(entry) < at) return `${gate.id} runs out before its time`
        return body.fallback_action === gate.fallback ? undefined : `it falls back to ${body.fallback_action}`
      },
    },
    batch: run => {
      for (const gate of run.gates.values())
        if (gate.timedOut && gate.handedOver === null) return `${gate.id} timed out and still waits`
      return undefined
    },
  },
  {
    name: 'W-HWY-03 nothing that a gate holds up happens before its end',
    on: {
      task_status_changed: (run, body) =>
        body.from_status === 'draft' && body.to_status === 'pending'
          ? unapproved(run, 'task_approval', body.task_id)
          : undefined,
      envelope_delivered: (run, body) =>
        run.envelopes.get(body.envelope_id)?.origin === 'agent'
          ? unapproved(run, 'envelope_delivery', body.envelope_id)
          : undefined,
      workspace_created: (run, body, _entry, batch) =>
        body.parent === null ? undefined : unpassed(run, batch, 'workspace_create'),
      integration_started: (run, body, _entry, batch) => {
        const refused = has(batch, 'integration_aborted', each => each.source === body.source)
        return refused || run.approved.has(body.source) ? undefined : unpassed(run, batch, 'integration')
      },
      conflict_resolved: (run, body, _entry, batch) =>
        body.outcome === 'closed' ? unpassed(run, batch, 'conflict_resolution') : undefined,
      graceful_termination_initiated: (run, _body, _entry, batch) => unpassed(run, batch, 'workspace_abort'),
      workspace_state_changed: (run, body, _entry, batch) =>
        body.to_state === 'failed' && ABORTS.includes(body.trigger)
          ? unpassed(run, batch, 'workspace_abort')
          : undefined,
    },
  },
  {
    name: 'W-HWY-12 no gate waits about what can no longer proceed',
    batch: run => {
      for (const gate of run.gates.values())
        if (isInvalid(run, gate)) return `${gate.id}, a ${gate.type} about ${gate.subject}`
      return undefined
    },
  },
  {
    name: 'W-HWY-12 W-LIFE-13 nothing waits for a person in a run that has ended',
    batch: run => {
      if (!run.ended) return undefined
      const [left] = [...run.gates.keys(), ...run.escalations.keys()]
      return left && `${left} waits`
    },
  },
  {
    name: 'W-WS-19 A-19 a batch abort is open as long as a gate of it is',
    batch: run => {
      for (const [group, waiting] of run.batchAborts)
        for (const member of waiting) {
          const gate = [...run.gates.values()].find(
            ({ paused }) => paused.group === group && paused.workspace === member,
          )
          if (!gate && !run.ended) return `${member} of ${group} waits at no gate`
        }
      return undefined
    },
  },
]

/** The newest gate about a subject must have let it pass. */
function unapproved(run: RunModel, type: GateType, subject: string): Problem {
  const waiting = [...run.gates.values()].find(gate => gate.type === type && gate.subject === subject)
  if (waiting) return `${subject} waits at ${waiting.id}`
  if (!run.highway?.gates[type].on) return undefined
  const ends = [...run.gateEnds.values()].filter(({ gate }) => gate.type === type && gate.subject === subject)
  const last = ends.at(-1)
  return last && last.action !== 'reject' ? undefined : `${subject} passed ${last?.gate.id}: ${last?.action}`
}

/** What happens in one batch with the end of its gate. */
function unpassed(run: RunModel, batch: BatchView, type: GateType): Problem {
  if (!run.highway?.gates[type].on) return undefined
  const before = { ...batch, entries: batch.entries.slice(0, batch.at) }
  const passed =
    has(before, 'gate_resolved', each => each.gate_type === type && each.action !== 'reject') ||
    has(before, 'gate_reentry_blocked', each => each.gate_type === type && each.converted_to === 'approve')
  return passed ? undefined : `it passed no ${type} gate`
}

function isOpenConflict(run: RunModel, { source, conflict }: GateModel['paused']): boolean {
  const salvage = run.salvages.get(String(source))
  return isOpen(salvage) && salvage.conflicts.has(String(conflict))
}

function isInvalid(run: RunModel, { type, workspace, task, paused }: GateModel): boolean {
  const status = workspace === null ? '' : run.workspace(workspace).status
  const cancelled = task !== null && run.tasks.get(task)?.status === 'cancelled'
  switch (type) {
    case 'task_approval':
      return run.tasks.get(task ?? '')?.status !== 'draft'
    case 'workspace_create':
      return isOver(status) || cancelled
    case 'envelope_delivery':
      return !TAKES_MAIL.includes(status)
    case 'integration':
      if (paused.mode === 'salvage') return !TAKES_MAIL.includes(status)
      return status !== 'integrating'
    case 'conflict_resolution':
      if (paused.mode === 'salvage') return !isOpenConflict(run, paused)
      return status !== 'conflicted' || !run.workspace(workspace ?? '').conflicts.has(String(paused.conflict))
    case 'workspace_abort':
      return paused.grace === undefined ? isOver(status) : !TAKES_MAIL.includes(status)
  }
}
