import { shortId } from '@parley/core'
import { expect, test } from 'vitest'
import type { GateView } from '../view/people-view.ts'
import { meantGates } from './meant-gates.ts'

const one = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'
const two = 'run_01m8bbbbbbbbbbbbbbbbbbbbbb'

function gate(run: string, what: string, type: GateView['type'] = 'task_approval'): GateView {
  const kind = type === 'escalation' ? 'question' : 'gate'
  const id = `${kind === 'gate' ? 'gate' : 'sig'}_${run.slice(4, 8)}${what}`
  const since = '2026-01-01T00:00:00.000000Z'
  return { id, run, kind, type, question: `${what}?`, addressee: 'owner', waits_for: 'person', since, changes: [] }
}

const found = (waiting: readonly GateView[], name?: string, kind: GateView['kind'] = 'gate') => {
  const meant = meantGates(waiting, name, kind)
  return meant.ok ? meant.value.map(({ question }) => question) : meant.error.code
}

test('a gate is named by its id, by its run, by a beginning of either, or not at all where it is the only one', () => {
  const both = [gate(one, 'a'), gate(two, 'b')]
  for (const name of ['gate_01m8b', 'gate_01m8', '01m8', two, 'run_01m8']) expect(found(both, name)).toEqual(['b?'])
  expect(found(both.slice(0, 1))).toEqual(['a?'])
})

test('a run, or nothing, stands for the tasks of one plan, and for nothing else', () => {
  const plan = [gate(one, 'a'), gate(one, 'b')]
  expect(found(plan)).toEqual(['a?', 'b?'])
  expect(found(plan, one)).toEqual(['a?', 'b?'])
  expect(found([...plan, gate(two, 'c')], 'run_01m7')).toEqual(['a?', 'b?'])
  expect(found([...plan, gate(two, 'c')])).toBe('ambiguous')
  expect(found([...plan, gate(two, 'c')], 'run_01')).toBe('ambiguous')
  expect(found([...plan, gate(one, 'merge', 'integration')], one)).toBe('ambiguous')
})

test('ids of one moment are told apart by their ends, and one that fits several gates means none of them, nor the run', () => {
  const moment = 'gate_01m7fsz83wkkhydyabcd'
  const plan = ['aaaaaa', 'bbbbbb', 'cbbbbb'].map(end => ({ ...gate(one, end), id: `${moment}${end}` }))
  const [first, second] = plan as [GateView, GateView]
  expect(found(plan, shortId(first.id))).toEqual(['aaaaaa?'])
  expect(found(plan, shortId(second.id))).toEqual(['bbbbbb?'])
  for (const name of [moment, moment.slice(5), 'gate_bbbbb', 'gate_']) {
    expect(meantGates(plan, name, 'gate')).toMatchObject({
      ok: false,
      error: {
        code: 'ambiguous',
        details: { gates: expect.arrayContaining([second.id]), questions: expect.anything() },
      },
    })
    expect(found(plan, name, 'gate'), 'all of a run are never meant by a gate').toBe('ambiguous')
  }
  const run = { ...gate(`run_01m7fsz83wkkhydyabcdx${'z'.repeat(5)}`, 'other') }
  expect(found([...plan, run], '01m7fsz83wkkhydyabcd')).toBe('ambiguous')
})

test('what could be meant is named with its run, where several wait', () => {
  const plans = [one, two].map((run, index) => ({ ...gate(run, 'a'), intent: `Intent ${index}` }))
  expect(meantGates(plans, undefined, 'gate')).toMatchObject({
    error: {
      message:
        '2 things are waiting for an answer; name one of them, or its run for a whole plan. Nothing was answered.',
      details: { questions: [`a? (${one}: Intent 0)`, `a? (${two}: Intent 1)`] },
    },
  })
})

test('everything that waits in a run is meant where that is asked for', () => {
  const mixed = [gate(one, 'a'), gate(one, 'merge', 'integration'), gate(two, 'c'), gate(one, 'q', 'escalation')]
  const all = (name?: string) => {
    const meant = meantGates(mixed, name, 'gate', true)
    return meant.ok ? meant.value.map(({ question }) => question) : meant.error.code
  }
  expect(all(one)).toEqual(['a?', 'merge?'])
  expect(all()).toEqual(['a?', 'merge?', 'c?'])
  expect(all('gate_01m7')).toBe('ambiguous')
})

test('an id that is given whole is meant, even where another begins with it', () => {
  const longer = [gate(one, 'ab', 'integration'), gate(one, 'a', 'integration')]
  expect(found(longer, 'gate_01m7a')).toEqual(['a?'])
})

test('a question is not approved, and a gate takes no reply', () => {
  const question = gate(one, 'q', 'escalation')
  const waiting = [question, gate(one, 'a')]
  expect(found(waiting, one, 'question')).toEqual(['q?'])
  expect(found(waiting, one)).toEqual(['a?'])
  expect(found(waiting, question.id)).toBe('invalid_state')
  expect(found(waiting, 'gate_01m7', 'question')).toBe('invalid_state')
})

test('what is not there is not found', () => {
  expect(found([gate(one, 'a')], 'run_02')).toBe('not_found')
  expect(found([])).toBe('not_found')
  expect(found([gate(one, 'q', 'escalation')])).toBe('not_found')
})
