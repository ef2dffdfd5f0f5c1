// The coordinator's own word that something systemic is wrong (W-REC-05). The runtime probes nothing and guesses
// nothing (W-REC-04): the coordinator queries the trail, draws its conclusion, and records what it does about it.
import { compile, ok, type Result, Type, type WorkspaceId } from '@parley/core'
import { COORDINATOR_ACTIONS, DEGRADED_SCOPES } from '@parley/trail/events'
import { actorOf, type Batch, clip } from '../batch.ts'
import { kernelLimits } from '../limits.ts'
import { invalidArgument, notFound } from '../refusal.ts'
import { workspaceOf } from '../run/run.ts'
import { isRoot, type Workspace } from '../workspace/workspace.ts'

const validator = compile(
  Type.Object({
    reason: Type.String({ minLength: 1 }),
    scope: Type.Enum([...DEGRADED_SCOPES]),
    action: Type.Enum([...COORDINATOR_ACTIONS]),
    workspaces: Type.Optional(Type.Array(Type.String(), { maxItems: kernelLimits.reportedWorkspaces })),
  }),
  { name: 'report' },
)

export function decideReportDegraded(
  batch: Batch,
  caller: Workspace,
  report: {
    readonly reason: unknown
    readonly scope: unknown
    readonly action: unknown
    readonly workspaces?: unknown
  },
): Result<void> {
  if (!isRoot(caller))
    return batch.deny(caller, {
      capability: 'operation:report_degraded',
      action: 'report_degraded',
      reason: 'permission_denied',
      message: 'The coordinator alone judges the state of the whole system.',
    })
  const { reason, scope, action, workspaces = [] } = report
  const checked = validator.check({ reason, scope, action, workspaces })
  if (!checked.ok) return invalidArgument(checked.error.message)
  const affected: WorkspaceId[] = []
  for (const id of checked.value.workspaces ?? []) {
    const workspace = workspaceOf(batch.run, id)
    if (!workspace) return notFound('workspace', id)
    affected.push(workspace.id)
  }
  batch.add('system_degraded', null, actorOf(caller), {
    reason: clip(checked.value.reason, kernelLimits.reasonLength),
    scope: checked.value.scope,
    affected_workspaces: affected,
    coordinator_action: checked.value.action,
  })
  return ok(undefined)
}
