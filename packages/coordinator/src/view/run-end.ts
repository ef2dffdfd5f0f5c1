// What a run came to, for whoever asked for it: the answer of its agents, whole; why there is none; what it used.
import type { ObjectId, RunEnd, RunId, Usage } from '@parley/core'
import type { CheckpointRecord } from '@parley/kernel'
import { given } from '../given.ts'
import { lastTried } from '../plan/stand-in.ts'
import type { Load, RunProjection } from '../projection/run-projection.ts'
import { wasAbandoned } from '../run/abandon.ts'
import { isWhole } from '../turn/turn-text.ts'
import { runView, wasLate } from './to-view.ts'
import type { RunView, UsageView } from './view.ts'

/** Of a run that is over. `usage` is what all its turns have used. */
export async function runEnd(run: RunId, projection: RunProjection, usage: Usage, load: Load): Promise<RunEnd> {
  const view = runView(run, projection)
  const text = await answerOf(projection, load)
  return { ...outcomeOf(view, projection), ...(text !== '' && { text }), usage }
}

function outcomeOf(view: RunView, projection: RunProjection): Pick<RunEnd, 'outcome' | 'error'> {
  const { state, reason = 'Nobody knows why.' } = view
  switch (state) {
    case 'done':
      return { outcome: 'complete' }
    case 'rejected':
      // Ended while its approval waited, and not turned down.
      if (projection.controls.some(each => each.kind === 'abort' && each.task === undefined)) break
      return { outcome: 'failed', error: { code: 'rejected', message: reason } }
    case 'aborted':
      if (wasAbandoned(projection)) return { outcome: 'failed', error: { code: 'abandoned', message: reason } }
      if (wasLate(projection)) return { outcome: 'failed', error: { code: 'timeout', message: reason } }
      break
    default:
      return { outcome: 'failed', error: failureOf(view, projection) }
  }
  return { outcome: 'cancelled', error: { code: 'cancelled', message: reason } }
}

/** The first task that came to nothing. What it was called is known to whoever asked. */
function failureOf({ tasks }: RunView, projection: RunProjection): NonNullable<RunEnd['error']> {
  const { ends } = projection.facts ?? {}
  if (ends?.outcome === 'failed') return { code: ends.code, message: ends.message }
  const first = tasks.find(each => each.state === 'failed') ?? tasks.find(each => each.state === 'cancelled')
  const failed = first && lastTried(tasks, first)
  const newest = projection.task(failed?.id ?? '')?.attempts.at(-1)
  const workspace = newest && projection.workspaces.get(newest)
  const exceeded = workspace?.exceeded
  const cause = workspace?.checkpoints.at(-1)?.turn?.error
  return {
    code: exceeded === undefined ? 'task_failed' : 'budget_exceeded',
    message: failed?.note ?? 'The work was not done.',
    ...given({ cause }),
  }
}

/** The results that no other task builds on, in the order of the plan. */
async function answerOf(projection: RunProjection, load: Load): Promise<string> {
  const { plan = [], ends } = projection.facts ?? {}
  if (ends) return ends.outcome === 'complete' && projection.root?.state === 'closed' ? ends.text : ''
  const needed = new Set(plan.flatMap(({ needs }) => needs))
  const texts: string[] = []
  for (const { id } of plan) {
    const task = needed.has(id) ? undefined : projection.task(id)
    if (task?.status !== 'integrated') continue
    const final = projection.workspaces.get(task.attempts.at(-1)!)?.checkpoints.findLast(each => each.final)
    if (final && isWhole(final.text)) {
      texts.push(final.text)
      continue
    }
    const record = final && ((await load(final.id as string as ObjectId)) as CheckpointRecord | undefined)
    texts.push(record?.payload.content ?? final?.text ?? '')
  }
  return texts.filter(text => text.trim() !== '').join('\n\n')
}

export function usageOf({ tokens_in, tokens_out, tokens_cached, usd }: UsageView): Usage {
  return given({ tokensIn: tokens_in, tokensOut: tokens_out, tokensCached: tokens_cached, usd })
}

/** Turns without an outcome on the trail: their node died, or they were ended from outside. */
export function lostTurns(projection: RunProjection): number {
  let lost = 0
  for (const { facts, checkpoints, turnOpen } of projection.workspaces.values()) {
    // A check spends nothing, and a team takes no turns.
    if (!facts || facts.kind === 'team' || facts.kind === 'check') continue
    const turns = checkpoints.flatMap(({ turn }) => turn ?? [])
    const settled = new Set(turns.filter(({ outcome }) => outcome !== 'kept').map(({ epoch }) => epoch))
    const newest = Math.max(0, ...turns.map(({ epoch }) => epoch))
    lost += newest - settled.size
    // Unless it is the newest of those, which has kept something on the way.
    if (turnOpen && (newest === 0 || settled.has(newest))) lost++
  }
  return lost
}
