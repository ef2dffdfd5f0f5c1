// What the agents of a run or of one of its tasks do, as it happens: their steps from the record, and what they say and
// use meanwhile, which is not on record.
import { type RunId, type Static, Type } from '@parley/core'
import type { Coordination, WorkspaceEvent } from '../contract.ts'
import { coordinatorLimits } from '../limits.ts'
import { closed } from './people-view.ts'
import { type RunView, StepViewSchema } from './view.ts'

const of = { task: Type.String(), workspace: Type.String() }

export const LogItemSchema = Type.Union([
  /** An attempt, check, review or merge that has begun or ended. */
  closed({ type: Type.Literal('step'), task: Type.String(), step: StepViewSchema }),
  /** With `part`, the next text of the workspace continues where it ends. */
  closed({ type: Type.Literal('text'), ...of, text: Type.String(), part: Type.Optional(Type.Boolean()) }),
  closed({ type: Type.Enum(['thinking', 'notice']), ...of, text: Type.String() }),
  closed({
    type: Type.Literal('tool'),
    ...of,
    name: Type.String(),
    state: Type.Enum(['started', 'finished', 'failed']),
    summary: Type.Optional(Type.String()),
  }),
  /** The reader was too slow for so many of these. */
  closed({ type: Type.Literal('missed'), count: Type.Integer({ minimum: 1 }) }),
])
export type LogItem = Static<typeof LogItemSchema>

/** What turns at work have said so far, then what comes. Ends with the run, with the task, or at once with `now`. */
export async function* followTurns(
  { views, listeners }: Pick<Coordination, 'views' | 'listeners'>,
  run: RunId,
  { task, now = false }: { readonly task?: string | undefined; readonly now?: boolean | undefined },
  signal?: AbortSignal,
): AsyncGenerator<LogItem> {
  const before = listeners.recent(run)
  let begun = false
  const heard: LogItem[] = []
  let missed = 0
  let wake = () => {}
  const off = listeners.listen(run, event => {
    const item = itemOf(event)
    if (!item || (task !== undefined && event.task !== task)) return
    heard.push(item)
    if (heard.length > coordinatorLimits.heardItems) {
      heard.shift()
      missed++
    }
    wake()
  })
  const seen = new Map<string, string>()
  const following = views.follow(run, signal)[Symbol.asyncIterator]()
  try {
    let next = following.next()
    for (;;) {
      const woken = new Promise<undefined>(resolve => {
        wake = () => resolve(undefined)
      })
      const got = begun && heard.length > 0 ? undefined : await Promise.race(begun ? [next, woken] : [next])
      if (begun) {
        if (missed > 0) yield { type: 'missed', count: missed }
        missed = 0
        yield* heard.splice(0)
      }
      if (!got) continue
      if (got.done) return
      yield* newSteps(got.value, task, seen)
      if (!begun) yield* ofTurnsAtWork(before, got.value, task)
      begun = true
      if (now) return
      if (task !== undefined && isSettled(got.value, task)) return
      next = following.next()
    }
  } finally {
    off()
    await following.return?.()
  }
}

function* ofTurnsAtWork(
  { events, missed }: ReturnType<Coordination['listeners']['recent']>,
  { tasks }: RunView,
  task: string | undefined,
): Generator<LogItem> {
  const steps = tasks.flatMap(({ steps }) => steps)
  const atWork = new Set(steps.filter(({ ended }) => ended === undefined).map(({ workspace }) => workspace))
  const items = events.flatMap(event => {
    const meant = atWork.has(event.workspace) && (task === undefined || event.task === task)
    return (meant && itemOf(event)) || []
  })
  if (items.length > 0 && missed > 0) yield { type: 'missed', count: missed }
  yield* items
}

function* newSteps(view: RunView, task: string | undefined, seen: Map<string, string>): Generator<LogItem> {
  for (const each of view.tasks) {
    if (task !== undefined && each.id !== task) continue
    for (const step of each.steps) {
      const stand = `${step.outcome} ${step.ended ?? ''}`
      if (seen.get(step.workspace) === stand) continue
      seen.set(step.workspace, stand)
      yield { type: 'step', task: each.id, step }
    }
  }
}

function isSettled({ tasks }: RunView, task: string): boolean {
  const state = tasks.find(({ id }) => id === task)?.state
  return state === 'done' || state === 'failed' || state === 'cancelled'
}

function itemOf({ workspace, task, event }: WorkspaceEvent): LogItem | undefined {
  if (event.type === 'usage') return undefined
  return { ...event, workspace, task }
}
