// Migration and graceful termination: who takes over what, and when a grace is over.
import type { EventBody } from '@parley/trail/events'
import { ticksOf } from '../model/records.ts'
import { graceEnd } from '../model/succession.ts'
import { has, type Invariant } from './rule.ts'
import { OBSERVERS } from './workspace.ts'

const AT_WORK = ['active', 'blocked']

export const successionRules: readonly Invariant[] = [
  {
    name: 'W-MIG-05 W-LIFE-11 a migration begins and ends with its own entries, and returns to the state it came from',
    on: {
      workspace_state_changed: (run, body, _entry, batch) => {
        const { id, remembered } = run.workspace(body.workspace_id)
        const about = (each: Record<string, unknown>) => each.workspace_id === id
        if (body.to_state === 'migrating')
          return has(batch, 'migration_started', about) ? undefined : `${id} migrates without its entry`
        if (body.from_state !== 'migrating' || body.to_state === 'failed') return undefined
        if (body.to_state !== remembered) return `${id} was ${remembered} and returns to ${body.to_state}`
        return has(batch, 'migration_completed', about) ? undefined : `${id} returns without an agent`
      },
      migration_started: (run, body) => {
        const { id, status, parent, agent } = run.workspace(body.workspace_id)
        if (parent === null || !AT_WORK.includes(status)) return `${id} is ${status}`
        return body.old_agent === agent ? undefined : `${id} has ${agent}, not ${body.old_agent}`
      },
      migration_completed: (run, body) => {
        const { id, agent, successor } = run.workspace(body.workspace_id)
        return body.old_agent === agent && body.new_agent === successor
          ? undefined
          : `${id} has ${agent} and waits for ${successor}`
      },
    },
  },
  {
    name: 'W-MIG-06 a workspace that fails while it migrates says so, unless it is a cascade or a forced stop',
    on: {
      workspace_state_changed: (_run, body, _entry, batch) => {
        if (body.from_state !== 'migrating' || body.to_state !== 'failed') return undefined
        if (body.trigger === 'parent_failed' || body.trigger === 'system_shutdown') return undefined
        const reason = body.trigger === 'migration_error' ? 'migration_error' : 'aborted'
        const said = has(
          batch,
          'migration_failed',
          each => each.workspace_id === body.workspace_id && each.reason === reason,
        )
        return said ? undefined : `${body.workspace_id} failed by ${body.trigger}`
      },
    },
  },
  {
    name: 'W-SEC-03 an agent sits in one workspace at a time',
    state: run => {
      const seats = new Map<string, string>()
      for (const { id, status, agent, successor } of run.workspaces.values()) {
        if (status === 'closed' || status === 'failed') continue
        for (const each of [agent, successor]) {
          if (each === null) continue
          if (seats.has(each)) return `${each} is in ${seats.get(each)} and in ${id}`
          seats.set(each, id)
        }
      }
      return undefined
    },
  },
  {
    name: 'W-TERM-01 only workers at work are asked to wind down, one request at a time',
    on: {
      graceful_termination_initiated: (run, body) => {
        const { id, role, status, parent, grace } = run.workspace(body.workspace_id)
        if (parent === null || OBSERVERS.has(role) || !AT_WORK.includes(status)) return `${role} ${id} is ${status}`
        return grace?.envelope == null ? undefined : `${id} was asked already`
      },
    },
  },
  {
    name: 'W-TERM-02 the mail that asks for it is sent by whoever asked, and by nobody in between',
    on: {
      graceful_termination_initiated: (run, body, { actor }, batch) => {
        const mail = batch.entries[batch.at + 1]
        const { from, to, type } = (mail?.body ?? {}) as Partial<EventBody<'envelope_created'>>
        if (mail?.event_type !== 'envelope_created' || to !== body.workspace_id || type !== 'feedback')
          return `${mail?.event_type} follows`
        const sender = run.workspace(from ?? '')
        const name = sender.parent === null ? 'system' : sender.role
        return name === actor && mail.actor === actor ? undefined : `${actor} asked, and ${sender.id} wrote`
      },
    },
  },
  {
    name: 'W-TERM-04 W-TERM-05 a grace ends when it is over, and not while the workspace is paused',
    on: {
      graceful_termination_expired: (run, body, entry, batch) => {
        const workspace = run.workspace(body.workspace_id)
        const end = graceEnd(workspace)
        if (end === undefined || end > ticksOf(entry)) return `${workspace.id} had until ${end}`
        if ((body.partial_checkpoint ?? null) !== (workspace.register.at(-1) ?? null))
          return `${body.partial_checkpoint} is not the newest of ${workspace.id}`
        const next = batch.entries[batch.at + 1]
        return next?.event_type === 'signal_emitted' ? undefined : `${next?.event_type} follows`
      },
    },
  },
]
