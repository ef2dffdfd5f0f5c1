// What an `integration` gate decided (W-HWY-07), and what was approved while another integration held the target: that
// one begins when the lock is free (W-INT-08).
import { ok, type Result, type Ticks } from '@parley/core'
import type { Batch } from '../batch.ts'
import { invalidState } from '../refusal.ts'
import { type Run, workspaceOf } from '../run/run.ts'
import { writeFailure } from '../workspace/failure.ts'
import { isRoot, type Workspace } from '../workspace/workspace.ts'
import { rejectedBy } from './conflict.ts'
import { decideBegin, decideIntegration } from './decide.ts'
import { integratorOf, type PausedIntegration, salvageAt, salvageTarget } from './integration.ts'
import { initiateSalvage } from './salvage.ts'
import { isFree, parentOf } from './source.ts'

export function writeIntegrationDecided(
  batch: Batch,
  paused: PausedIntegration,
  verdict: 'approve' | 'reject',
  actor: string,
): Result<void> {
  if (paused.mode === 'salvage') return writeSalvageApproved(batch, paused, verdict)
  const source = workspaceOf(batch.run, paused.source)
  if (source?.status !== 'integrating')
    return invalidState(`${paused.source} is ${source?.status ?? 'unknown'}, not integrating.`)
  if (verdict === 'reject') {
    writeFailure(batch, source, rejectedBy(batch, 'gate_rejected_by_human', actor))
    return ok(undefined)
  }
  if (isFree(parentOf(batch, source), source)) return initiate(batch, source, paused)
  batch.store('approved_integration', batch.newId('obj'), paused)
  return ok(undefined)
}

/** A rejection changes nothing: the source has failed already. */
function writeSalvageApproved(batch: Batch, paused: PausedIntegration, verdict: 'approve' | 'reject'): Result<void> {
  if (verdict === 'reject') return ok(undefined)
  const source = salvageAt(batch.run, paused)
  if (!source) return invalidState(`${paused.source} has not failed; there is nothing to salvage.`)
  if (isFree(salvageTarget(batch.run, source), source)) return initiateSalvage(batch, source, paused)
  batch.store('approved_integration', batch.newId('obj'), paused)
  return ok(undefined)
}

export function approvedDue(run: Run): Ticks | undefined {
  return firstReady(run) && AT_ONCE
}

const AT_ONCE = 0 as Ticks

export function writeApproved(batch: Batch): void {
  const approved = firstReady(batch.run)
  const source = approved && workspaceOf(batch.run, approved.source)
  if (source) initiate(batch, source, approved)
}

function firstReady(run: Run): PausedIntegration | undefined {
  for (const approved of run.approved.values()) {
    const salvage = approved.mode === 'salvage'
    const source = salvage ? salvageAt(run, approved) : workspaceOf(run, approved.source)
    const target = source && integratorOf(run, source, approved.mode)
    const asked = target?.id === approved.caller
    const waits = salvage || source?.status === 'integrating'
    if (source && asked && waits && acts(target) && isFree(target, source)) return approved
  }
  return undefined
}

function acts(integrator: Workspace): boolean {
  return isRoot(integrator) || integrator.status === 'active'
}

function initiate(batch: Batch, source: Workspace, paused: PausedIntegration): Result<void> {
  if (paused.mode === 'salvage') return initiateSalvage(batch, source, paused)
  const integrator = parentOf(batch, source)
  // A human may have chosen a strategy that takes no result.
  const { result: synthesised, ...rest } = paused
  const request = rest.strategy === 'evaluated' ? { ...rest, result: synthesised } : rest
  const result = paused.accept
    ? decideIntegration(batch, integrator, { ...request, decision: 'accept' }, true)
    : decideBegin(batch, integrator, request, true)
  return result.ok ? ok(undefined) : result
}
