// What port right entries do to the state. Expiry has no entry: it follows from the states of holder and target.
import { invariant, type RightId } from '@parley/core'
import { type Folds, knownWorkspace, type Run } from '../run/run.ts'
import type { PortRight } from './port-right.ts'

export const portRightFolds: Folds = {
  port_right_created(run, body) {
    const right: PortRight = {
      id: body.right_id as RightId,
      type: body.right_type,
      holder: knownWorkspace(run, body.holder),
      target: knownWorkspace(run, body.target),
      status: 'active',
    }
    run.rights.set(right.id, right)
    give(right)
  },
  port_right_transferred(run, body) {
    const right = rightOf(run, body.right_id)
    take(right)
    right.holder = knownWorkspace(run, body.to_holder)
    give(right)
  },
  port_right_revoked: (run, body) => end(rightOf(run, body.right_id), 'revoked'),
  port_right_consumed: (run, body) => end(rightOf(run, body.right_id), 'consumed'),
}

function end(right: PortRight, status: 'revoked' | 'consumed'): void {
  right.status = status
  take(right)
}

function rightOf(run: Run, id: string): PortRight {
  const right = run.rights.get(id as RightId)
  invariant(right, 'entries name rights that exist')
  return right
}

function give(right: PortRight): void {
  right.holder.rights ??= new Map()
  const held = right.holder.rights.get(right.target.id)
  if (held) held.push(right)
  else right.holder.rights.set(right.target.id, [right])
}

function take(right: PortRight): void {
  const held = right.holder.rights?.get(right.target.id)
  const index = held?.indexOf(right) ?? -1
  if (!held || index < 0) return
  held.splice(index, 1)
  if (held.length === 0) right.holder.rights?.delete(right.target.id)
}
