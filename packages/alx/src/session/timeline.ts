// The timeline of a session (ALX-TL-03, -04): what is written when a run has ended, and records of the library. The
// vocabulary is closed (WG-03).
import { parseSessionTimelineEvent, type SessionTimelineEvent } from '@alx/protocol'
import type { RunFold } from '../run/fold.ts'
import { statusOf } from '../server/response.ts'
import type { Session, SessionItem } from './session-index.ts'
import { millis } from './session-state.ts'

type Draft = Readonly<Record<string, unknown>> & { readonly type: string; readonly timestamp: number }

/** Throws for anything that is no event of a timeline: that is a defect. */
export function timelineEvent(draft: Draft): SessionTimelineEvent {
  const made = parseSessionTimelineEvent(draft, 'emit')
  if (!made.ok) throw new TypeError(`This is no timeline event: ${made.error.message}`)
  return made.value
}

/** In order. `folds` has the runs of the session that are over. */
export function timelineOf(session: Session, folds: ReadonlyMap<string, RunFold>): readonly SessionTimelineEvent[] {
  const writes = session.items.flatMap(item => {
    const fold = item.kind === 'run' ? folds.get(item.run) : undefined
    if (item.kind === 'run') return fold ? [{ at: fold.finishedAt!, drafts: runDrafts(fold) }] : []
    return [{ at: millis(item.at), drafts: [recordDraft(item)] }]
  })
  // Numbers are given in the order of writing, which is the order of the ends.
  let seq = 0
  return writes
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
    .flatMap(({ drafts }) => drafts)
    .map(draft => timelineEvent({ ...draft, seq: ++seq, sessionId: session.id }))
    .sort((a, b) => a.timestamp - b.timestamp || a.seq - b.seq)
}

function recordDraft(item: Exclude<SessionItem, { kind: 'run' }>): Draft {
  const common = { timestamp: Date.parse(millis(item.at)), executionId: null }
  const eventId = `${item.kind}_${item.position}`
  switch (item.kind) {
    case 'reset':
      return { ...common, eventId, type: 'reset', summary: 'The session was reset.', data: { contextCleared: true } }
    case 'forked':
      return {
        ...common,
        eventId,
        type: 'fork',
        summary: `Forked to ${item.child}.`,
        data: { forkedSessionId: item.child },
      }
    case 'fork':
      return {
        ...common,
        eventId,
        type: 'fork',
        summary: `Forked from ${item.parent}.`,
        data: { parentSessionId: item.parent },
      }
  }
}

function runDrafts(fold: RunFold): readonly Draft[] {
  const { runId } = fold.run
  const { error, attempt, chosen, finishedAt } = fold
  const ended = Date.parse(finishedAt!)
  let number = 0
  const draft = (type: string, timestamp: number, summary: string, more: object): Draft => ({
    type,
    timestamp,
    summary,
    executionId: runId,
    eventId: `${runId}-${++number}`,
    ...more,
  })
  const steps = fold.steps.flatMap(({ told, stored, finishedAt: at, error }) => {
    if (told === 'pending' || told === 'running') return []
    const more = { stepId: stored.stepId, stepStatus: told, ...(told === 'failed' && { error }) }
    return [
      draft(
        'step',
        at === null ? ended : Date.parse(at),
        `The step '${stored.name}' ${told === 'skipped' ? 'was skipped' : told}.`,
        more,
      ),
    ]
  })
  const data = {
    status: statusOf(fold),
    confidence: chosen?.confidence ?? null,
    artifactId: chosen?.artifact.artifactId ?? null,
  }
  return [
    ...steps,
    ...(attempt > 0
      ? [draft('fallback', fallbackAt(fold, ended), 'The next candidate was tried.', { data: fallbackData(fold) })]
      : []),
    ...(error ? [draft('error', ended, error.message, { error })] : []),
    draft('execution', ended, error ? 'The run failed.' : 'The run completed.', { ok: error === undefined, data }),
  ]
}

/** When the second attempt began. */
function fallbackAt({ steps, attempt }: RunFold, ended: number): number {
  const first = steps.find(step => step.attempt === attempt && step.startedAt !== null)
  return first?.startedAt ? Date.parse(first.startedAt) : ended
}

function fallbackData({ run: { facts }, attempt }: RunFold) {
  const [from, to] = [facts.attempts[attempt - 1]!, facts.attempts[attempt]!]
  return {
    fromArtifactId: from.artifact.artifactId,
    toArtifactId: to.artifact.artifactId,
    reason: 'A step of the first candidate failed.',
  }
}
