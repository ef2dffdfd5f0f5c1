// What follows from a durable entry: mail and signals to carry, integrations to begin, the end of the run.
import type { WorkspaceId } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import { type EventBody, isTerminal } from '@parley/trail/events'
import type { Command } from '../../command.ts'
import type { Decision } from '../../decide.ts'
import type { GateOutcome } from '../../highway/gate.ts'
import type { Run } from '../../run/run.ts'
import type { Created } from '../../workspace/create.ts'
import type { ActorOptions } from '../runtime-options.ts'
import type { Courier } from './courier.ts'

export function follow(
  courier: Courier,
  run: Run,
  command: Command,
  { entries, outcomes }: Decision,
  last: number,
  { onMigration, onCreated }: Pick<ActorOptions, 'onMigration' | 'onCreated'>,
): void {
  for (const entry of entries) {
    carry(courier, run, entry, last)
    if (concernsMigration(entry)) onMigration(entry)
  }
  if ('caller' in command && command.type === 'consume') courier.lookInto(run, command.caller, last)
  for (const created of createdByGates(outcomes)) onCreated(...created)
}

function carry(courier: Courier, run: Run, entry: EntryDraft, durable: number): void {
  switch (entry.event_type) {
    case 'envelope_created':
    case 'envelope_delivered':
    case 'envelope_rejected':
    case 'envelope_undeliverable': {
      const body = entry.body as EventBody<'envelope_delivered'>
      courier.look(run, body.from as WorkspaceId, body.to as WorkspaceId, durable)
      return
    }
    case 'gate_resolved':
      // What waited at the gate, and what waited behind it.
      if (entry.workspace && (entry.body as EventBody<'gate_resolved'>).gate_type === 'envelope_delivery')
        courier.lookInto(run, entry.workspace, durable)
      return
    case 'signal_emitted':
    case 'signal_delivered':
    case 'workspace_reparented':
      courier.lookForSignals(run, durable)
      return
    case 'workspace_state_changed': {
      const body = entry.body as EventBody<'workspace_state_changed'>
      courier.lookInto(run, body.workspace_id as WorkspaceId, durable)
      courier.lookForSignals(run, durable)
      return
    }
    default:
      return
  }
}

export function freedTarget({ event_type, body }: EntryDraft): WorkspaceId | undefined {
  switch (event_type) {
    case 'integration_completed':
    case 'integration_aborted':
      return (body as EventBody<'integration_completed'>).target as WorkspaceId
    case 'workspace_reparented':
      return (body as EventBody<'workspace_reparented'>).old_parent as WorkspaceId
    default:
      return undefined
  }
}

function concernsMigration({ event_type, body }: EntryDraft): boolean {
  if (event_type === 'migration_started') return true
  if (event_type !== 'workspace_state_changed') return false
  return (body as EventBody<'workspace_state_changed'>).from_state === 'migrating'
}

export function endsRun(run: Run, { event_type, body }: EntryDraft): boolean {
  if (event_type !== 'workspace_state_changed') return false
  const { workspace_id, to_state } = body as EventBody<'workspace_state_changed'>
  return isTerminal(to_state) && workspace_id === run.root?.id
}

function* createdByGates(
  outcomes: readonly GateOutcome[],
): Generator<[workspace: WorkspaceId, role: string, creator: WorkspaceId]> {
  for (const { type, result, asked } of outcomes) {
    if (type !== 'workspace_create' || !result?.ok || asked === undefined) continue
    const { workspace, role } = result.value as Created
    yield [workspace, role, asked]
  }
}
