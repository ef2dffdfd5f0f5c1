// Human injection (W-ENV-06, W-HWY-17 to -19): mail from a person, which no matrix and no right holds up.
import { type EnvelopeId, ok, type Result } from '@parley/core'
import { isTerminal } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import type { Envelope, EnvelopeDraft } from '../envelope/envelope.ts'
import {
  claimsOf,
  mailLimit,
  type Rejection,
  receiverOf,
  type Sent,
  structured,
  writeCreated,
  writeRejected,
} from '../envelope/send.ts'
import { type Run, rootOf, workspaceOf } from '../run/run.ts'
import { authorizeUser, owns } from '../user/authorize.ts'
import { isRoot, type Workspace } from '../workspace/workspace.ts'

export function decideInject(batch: Batch, user: string, submitted: unknown): Result<Sent> {
  const target = targetOf(batch.run, submitted)
  const about = { action: 'inject', ...(target && { target: target.id }) }
  const denied = authorizeUser(batch, user, {
    ...about,
    own: 'inject_directive',
    any: 'inject_directive_any',
    // AMB-64: the root is everybody's, or nobody could ask for work. A target that does not exist is the rejection's
    // affair.
    owned: !target || isRoot(target) || owns(user, target),
  })
  if (denied) return denied
  if (!batch.run.highway.injection)
    return batch.denyUser(user, {
      ...about,
      capability: 'inject_directive',
      reason: 'permission_denied',
      message: 'Nobody injects mail into this run: its highway has injection switched off.',
    })
  return writeInjected(batch, user, submitted)
}

/** The checks that are left for a user who may (W-ENV-05, 2 to 6), and the record of both outcomes. */
export function writeInjected(batch: Batch, user: string, submitted: unknown): Result<Sent> {
  const full = mailLimit(batch.run)
  if (full) return full
  const root = rootOf(batch.run)
  const id = batch.newId<EnvelopeId>('env')
  const target = targetOf(batch.run, submitted)
  const checked = check(batch, root, submitted)
  if ('reason' in checked) {
    writeInjection(batch, user, id, target, submitted, injectionReason(checked, target))
    return writeRejected(batch, root, id, submitted, checked)
  }
  writeInjection(batch, user, id, target, submitted)
  // W-HWY-19: the root lends its name, and the person is on the envelope.
  writeCreated(batch, root, { id, draft: checked, origin: 'human', originator: user }, user)
  return ok({ envelope: id })
}

function check(batch: Batch, root: Workspace, submitted: unknown): EnvelopeDraft | Rejection {
  const { run } = batch
  // 2. Equal `from` and `to` are no fault here. Check 3 has nothing to look at: people have no key in the run.
  const draft = structured(batch, root, submitted)
  if ('reason' in draft) return draft
  if ((draft.rights ?? []).length > 0)
    return { reason: 'invalid_structure', message: 'Injected mail carries no rights.' }
  if (draft.integrity) return { reason: 'invalid_structure', message: 'Injected mail gets its proof from the runtime.' }
  const receiver = receiverOf(run, draft, '; write to the coordinator instead')
  return 'reason' in receiver ? receiver : draft
}

/** W-HWY-18: the highway tells what is sealed from what is over; the envelope's own rejection has one word for both. */
function injectionReason({ reason }: Rejection, target: Workspace | undefined): string {
  if (reason !== 'target_terminal' || !target) return reason
  return isTerminal(target.status) ? 'workspace_terminal' : 'workspace_sealed'
}

function writeInjection(
  batch: Batch,
  user: string,
  id: EnvelopeId,
  target: Workspace | undefined,
  submitted: unknown,
  reason?: string,
): void {
  batch.add('human_injection', target ?? null, user, {
    envelope_id: id,
    actor: user,
    ...claimsOf(submitted),
    status: reason === undefined ? 'delivered' : 'rejected',
    ...(reason !== undefined && { reason }),
  })
}

/** W-USER-10: whether `creator` may cite it: the root acts for everybody, a delegate only on its own mail. */
export function mayCite(creator: Workspace, { origin, type, to, status }: Envelope): boolean {
  const injected = origin === 'human' && type === 'directive' && status !== 'rejected'
  return injected && (isRoot(creator) || to === creator.id)
}

function targetOf(run: Run, submitted: unknown): Workspace | undefined {
  const to = (submitted as { readonly to?: unknown } | null | undefined)?.to
  return typeof to === 'string' ? workspaceOf(run, to) : undefined
}
