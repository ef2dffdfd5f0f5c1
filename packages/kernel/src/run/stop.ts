// The end of a run: normal (W-LIFE-13) and forced (W-LIFE-14).
import { ok, type Result } from '@parley/core'
import type { Batch } from '../batch.ts'
import { writeGatesEnded } from '../highway/invalidate.ts'
import { openInto } from '../integration/salvage-record.ts'
import { writeTransition, writeUndeliverable } from '../lifecycle/transition.ts'
import { invalidState } from '../refusal.ts'
import { writeForcedStop } from '../workspace/failure.ts'
import { ended, subtree } from '../workspace/workspace.ts'
import { rootOf } from './run.ts'

/** Only when every other workspace is terminal; the root's `closed` is the last entry. */
export function decideClose(batch: Batch): Result<void> {
  const root = rootOf(batch.run)
  if (root.status !== 'active') return invalidState(`The root is ${root.status}; a run closes from active.`)
  for (const each of subtree(root))
    if (each !== root && !ended(each)) return invalidState(`${each.id} is ${each.status}; finish or abort it first.`)
  const open = openInto(batch.run, root)
  if (open) return invalidState(`The salvage of ${open.source.id} is open; merge or discard it first.`)
  const change = { trigger: 'run_complete', actor: 'protocol', initiator: 'protocol' } as const
  writeTransition(batch, root, { ...change, to: 'integrating' })
  writeUndeliverable(batch, root, 'integrating')
  writeGatesEnded(batch)
  writeTransition(batch, root, { ...change, to: 'closed' }, 'integrating')
  return ok(undefined)
}

export function decideStop(batch: Batch): Result<void> {
  writeForcedStop(batch, rootOf(batch.run))
  return ok(undefined)
}
