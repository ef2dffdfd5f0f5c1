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
