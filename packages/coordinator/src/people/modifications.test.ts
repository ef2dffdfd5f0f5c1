import { unwrap } from '@parley/core'
import { MODIFIABLE } from '@parley/kernel'
import { GATE_TYPES } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { refusal } from '../testing/fixture.ts'
import { changeForms, readChanges } from './modifications.ts'

test.each([
  ['workspace_create', { budget: '5' }, { budget: { cost_limit: 5 } }],
  ['workspace_create', { budget: 5 }, { budget: { cost_limit: 5 } }],
  ['workspace_create', { budget: '$2.50' }, { budget: { cost_limit: 2.5 } }],
  ['workspace_create', { budget: '5 usd' }, { budget: { cost_limit: 5 } }],
  [
    'workspace_create',
    { budget: 'tokens:200000, working_time:30m' },
    { budget: { compute_budget: { token_limit: 200_000, compute_timeout: 1_800_000 } } },
  ],
  ['workspace_create', { budget: { cost_limit: 1 } }, { budget: { cost_limit: 1 } }],
  ['workspace_create', { visibility: 'ws_a, ws_b' }, { visibility: ['ws_a', 'ws_b'] }],
  ['workspace_create', { priority: 'background' }, { priority: 'background' }],
  [
    'task_approval',
    { resource_estimate: 'tokens:5,wall_time:2m' },
    { resource_estimate: { tokens: 5, wall_time: 120_000 } },
  ],
  ['task_approval', { name: 5 }, { name: '5' }],
  ['envelope_delivery', { payload: 'Blue.' }, { payload: { format: 'text', content: 'Blue.' } }],
] as const)('at %s, %j is what a person means by it', (type, typed, changes) => {
  expect(unwrap(readChanges(type, typed))).toEqual(changes)
})

test.each([
  ['workspace_create', { budget: 'much' }, '"much" is no value of budget. It takes an amount of each, as cost:5'],
  ['workspace_create', { budget: 'cost:-1' }, 'is no value of budget'],
  ['workspace_create', { priority: 'urgent' }, 'It takes critical, interactive, normal, background.'],
  ['task_approval', { priority: 'critical' }, 'It takes normal, elevated, urgent.'],
  ['integration', { foo: 1 }, 'foo cannot be changed here. What can: strategy=…: direct, layered, evaluated.'],
  ['conflict_resolution', { strategy: 'escalate' }, 'It takes coordinator_resolve, agent_rework.'],
] as const)('at %s, %j is refused in words', (type, typed, words) => {
  expect(readChanges(type, typed)).toMatchObject(refusal('invalid_argument'))
  expect(readChanges(type, typed)).toMatchObject({ error: { message: expect.stringContaining(words) } })
})

test.each(GATE_TYPES)('what can be changed at %s has a form', type => {
  expect(changeForms(type).map(form => form.split('=')[0])).toEqual(MODIFIABLE[type])
})
