// What a run's entries are to its readers, whatever order they came in (ALX-RUN-03).
import { isRunEvent } from '@alx/protocol'
import { expect, test } from 'vitest'
import { Entries, folded, foldOf, stored, told } from '../testing/entries.ts'
import { stepsOf } from './facts.ts'

const COMPLETE = { outcome: 'complete', text: 'done', usage: {} } as const
const FAILED = { outcome: 'failed', error: { code: 'task_failed', message: 'no' }, usage: {} } as const

const parallel = () =>
  new Entries()
    .root()
    .tasks('a', 'b', 'c')
    .move(['c', 'in_progress'], ['b', 'in_progress'], ['c', 'integrated'], ['a', 'in_progress'])
    .move(['b', 'integrated'], ['a', 'integrated'])
    .over()

test('ALX-RUN-03 parallel work is told in the order of the plan, and its time never goes back', () => {
  const fold = folded(foldOf([stored('a'), stored('b'), stored('c')]), parallel())
  // Nothing of it waits for the end.
  expect(fold.events).toHaveLength(7)
  fold.end(COMPLETE)
  expect(told(fold)).toEqual([
    'run.started',
    'step.started a',
    'step.completed a',
    'step.started b',
    'step.completed b',
    'step.started c',
    'step.completed c',
    'artifact.created',
    'run.completed',
  ])
  const times = fold.events.map(({ timestamp }) => timestamp)
  expect(times).toEqual(times.toSorted())
  expect(fold.events.every(event => isRunEvent(event, 'emit'))).toBe(true)
})

test('the events of a part of a run are the first of all of its events', () => {
  const whole = folded(foldOf([stored('a'), stored('b'), stored('c')]), parallel())
  const fold = foldOf([stored('a'), stored('b'), stored('c')])
  for (const entry of parallel().all) {
    fold.apply(entry)
    // An entry that comes again, after a watch was begun anew, changes nothing.
    fold.apply(entry)
    expect(whole.events.slice(0, fold.events.length)).toEqual(fold.events)
  }
  expect(fold.events).toEqual(whole.events)
})

test('another attempt at a task, and another agent, add no events', () => {
  const entries = new Entries()
    .root()
    .tasks('a')
    .move(['a', 'in_progress'], ['a', 'failed'])
    .add('task_assigned', { task_id: 't-a', workspace_id: 'w-a2' })
    .move(['a', 'assigned'], ['a', 'in_progress'])
    .add('migration_started', { workspace_id: 'w-a2', old_agent: 'x', new_agent: 'y', reason: 'z' })
    .move(['a', 'completed'], ['a', 'integrated'])
  expect(told(folded(foldOf([stored('a')]), entries))).toEqual(['run.started', 'step.started a', 'step.completed a'])
})

test('ALX-RUN-03 a step in progress is closed at the end of its run, and one that was never reached has no event', () => {
  const entries = new Entries().root().tasks('a', 'b', 'c').move(['a', 'in_progress']).over()
  const fold = folded(foldOf([stored('a'), stored('b'), stored('c', { skipped: 'no' })]), entries)
  fold.end({ outcome: 'failed', error: { code: 'timeout', message: 'late' }, usage: {} })
  expect(told(fold)).toEqual(['run.started', 'step.started a', 'step.failed a', 'run.failed'])
  expect(fold.error?.code).toBe('EXECUTION_TIMEOUT')
  expect(fold.steps.map(step => step.told)).toEqual(['failed', 'pending', 'pending'])
})

test('ALX-SOLVE-13 the second candidate begins when the first has failed, and its steps come behind', () => {
  const entries = new Entries()
    .root()
    .tasks('a', 'b')
    .move(['a', 'in_progress'], ['a', 'integrated'], ['b', 'in_progress'], ['b', 'failed'])
    .tasks('a-2', 'b-2')
    .move(['a-2', 'in_progress'], ['a-2', 'integrated'], ['b-2', 'in_progress'], ['b-2', 'integrated'])
    .over()
  const fold = folded(foldOf([stored('a'), stored('b')], [stored('a-2'), stored('b-2')]), entries)
  fold.end(COMPLETE)
  expect(told(fold)).toEqual([
    'run.started',
    'step.started a',
    'step.completed a',
    'step.started b',
    'step.failed b',
    'step.started a-2',
    'step.completed a-2',
    'step.started b-2',
    'step.completed b-2',
    'artifact.created',
    'run.completed',
  ])
  expect(fold.steps.map(({ index, attempt }) => [index, attempt])).toEqual([
    [0, 0],
    [1, 0],
    [2, 1],
    [3, 1],
  ])
  expect(fold.chosen?.confidence).toBe(0.8)
})

const gate = (id: string, name: string, more: object = {}) => ({
  gate_id: id,
  gate_type: 'task_approval',
  workspace: null,
  task_ref: `t-${name}`,
  timeout: 86_400_000,
  fallback: 'reject',
  ...more,
})

const gated = () =>
  new Entries()
    .root()
    .tasks('a', 'b')
    .add('gate_triggered', gate('g1', 'a'))
    .add('gate_triggered', gate('g2', 'b'))
    .add('gate_resolved', { gate_id: 'g1', action: 'approve', actor: 'U' })
    .move(['a', 'in_progress'], ['a', 'integrated'])

test('ALX-SOLVE-14 an approval is told when its step is reached, and nothing behind it until it is decided', () => {
  const fold = foldOf([stored('a'), stored('b', { approve: true })])
  folded(fold, gated())
  expect(told(fold)).toEqual(['run.started', 'step.started a', 'step.completed a', 'approval.required b'])
  expect(fold.open).toMatchObject({ id: 'g2', expiresAt: '2026-01-02T00:00:00.006Z' })
  const more = gated().add('gate_resolved', { gate_id: 'g2', action: 'approve', actor: 'U' })
  folded(fold, more)
  expect([fold.open, fold.hasDecided('g2')]).toEqual([undefined, true])
  expect(fold.events).toHaveLength(4)
})

test('ALX-SESS-03 an approval whose time is over has failed the run, before the trail says so and as it says later', () => {
  const fold = folded(foldOf([stored('a'), stored('b', { approve: true })]), gated())
  expect(fold.expired('2026-01-02T00:00:00.005Z')).toBeUndefined()
  const expired = fold.expired('2026-01-02T00:00:00.006Z')!
  expect([expired.error?.code, expired.hasDecided('g2')]).toEqual(['APPROVAL_EXPIRED', true])
  expect(fold.over).toBe(false)
  const later = gated()
    .add('gate_timeout', { gate_id: 'g2', fallback_action: 'reject' }, 59_999)
    .add('gate_resolved', { gate_id: 'g2', action: 'reject', actor: 'fallback' }, 59_999)
    .move(['b', 'cancelled'])
  folded(fold, later)
  expect(fold.expired('2026-01-02T00:00:00.006Z')?.error?.code).toBe('APPROVAL_EXPIRED')
  fold.end({ outcome: 'failed', error: { code: 'rejected', message: 'no' }, usage: {} })
  expect(fold.events).toEqual(expired.events)
})

test('a question of work that is ahead of its turn is told where nothing else moves', () => {
  const asked = new Entries()
    .root()
    .tasks('a', 'b')
    .move(['b', 'in_progress'])
    .add('escalation_received', { signal_id: 's1', workspace: 'w-b', reason: 'Which one?' })
  const fold = folded(foldOf([stored('a'), stored('b')]), asked)
  expect(fold.open).toMatchObject({ id: 's1', kind: 'question', reason: 'Which one?' })
  folded(
    fold,
    asked.add('escalation_resolved', { signal_id: 's1', workspace: 'w-b', response_type: 'abort', actor: 'U' }),
  )
  fold.end(FAILED)
  expect(fold.error?.code).toBe('APPROVAL_REJECTED')
})

test('a step has an identifier of the protocol, whatever its task is called, and none twice', () => {
  const plan = (...ids: string[]) => ids.map(id => ({ id, name: id }))
  const first = stepsOf(plan('a.b', 'a b', 'ü', 'x'.repeat(200)), [])
  const second = stepsOf(plan('a.b'), first)
  const ids = [...first, ...second].map(({ stepId }) => stepId)
  expect(ids).toEqual(['a-b', 'a-b-2', '-', 'x'.repeat(100), 'a-b-3'])
})
