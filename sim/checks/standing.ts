// Whether a person who was obeyed could give the order (W-SEC-05, W-USER-13): active, with the capability, and for what
// is their own.
import type { Result } from '@parley/core'
import type { Capability, GateType, UserState } from '@parley/trail/events'
import type { Command, UserCommand } from '../../packages/kernel/src/command.ts'
import type { RunModel } from '../model/model.ts'
import type { Problem } from '../rules/rule.ts'

/** How a user stands, and a mark that changes with anything about it. */
export interface Standing {
  readonly state: UserState | undefined
  readonly holds: (capability: Capability) => boolean
  readonly version: string
}

type Needed = readonly [own: Capability | undefined, any: Capability]

const GATES: { readonly [Type in GateType]: Needed } = {
  task_approval: ['create_workspace', 'create_workspace_any'],
  workspace_create: ['create_workspace', 'create_workspace_any'],
  envelope_delivery: ['inject_directive', 'inject_directive_any'],
  integration: ['approve_integration', 'approve_integration_any'],
  conflict_resolution: ['approve_integration', 'approve_integration_any'],
  workspace_abort: ['abort_own', 'abort_any'],
}

/** `before` is the standing when the command was given; where it has changed since, nothing can be said. */
export function standingProblem(
  run: RunModel | undefined,
  command: Command,
  result: Result<unknown>,
  before: Standing | undefined,
  after: Standing | undefined,
): Problem {
  if (!run || !result.ok || !('user' in command) || !before || before.version !== after?.version) return undefined
  if (before.state !== 'active') return `${command.user} is ${before.state} and was let do ${command.type}`
  const asked = neededFor(run, command)
  if (!asked) return undefined
  const [[own, any], concerned] = asked
  if (before.holds(any)) return undefined
  const scoped = own !== undefined && before.holds(own) && concerned.includes(command.user)
  return scoped ? undefined : `${command.user} was let do ${command.type} without ${own ?? any}`
}

/** What it takes, and whose own it is; whoever owned it once counts, since it may have changed hands. */
function neededFor(run: RunModel, command: UserCommand): readonly [Needed, readonly string[]] | undefined {
  const owners = (id: unknown) => run.workspaces.get(String(id))?.owners ?? []
  switch (command.type) {
    case 'inject': {
      const { to } = command.draft as { readonly to?: string }
      return [['inject_directive', 'inject_directive_any'], run.isRoot(to ?? '') ? [command.user] : owners(to)]
    }
    case 'resolve_gate': {
      const { gate } = run.gateEnds.get(String(command.gate)) ?? {}
      if (!gate) return undefined
      return [GATES[gate.type], [gate.addressee, ...owners(gate.workspace), ...owners(run.root?.id)]]
    }
    case 'resolve_escalation':
      return undefined
    case 'user_abort':
      return [['abort_own', 'abort_any'], owners(command.workspace)]
    case 'user_suspend':
    case 'user_resume':
      return [['suspend_own', 'suspend_any'], owners(command.workspace)]
    case 'user_raise_budget':
      return [['modify_budget', 'modify_budget_any'], owners(command.workspace)]
    case 'user_transfer_ownership':
      return [[undefined, 'transfer_ownership'], []]
  }
}
