// The operations table against the sheet: what a delegate has, and how far it reaches.

import { expect, test } from 'vitest'
import { type DelegateReach, OPERATION_NAMES, OPERATIONS } from './base.ts'

const reaching = (reach: DelegateReach) => OPERATION_NAMES.filter(name => OPERATIONS[name].delegate === reach)

test('W-ROLE-04 the root coordinator has every operation but the withdrawal of visibility', () => {
  expect(OPERATION_NAMES.filter(name => !OPERATIONS[name].root)).toEqual(['revoke_visibility'])
})

test('W-ROLE-04 a delegate creates and integrates its children, and rules its descendants', () => {
  expect(reaching('children')).toEqual(['create_workspace', 'assign_role', 'integrate'])
  expect(reaching('descendants')).toEqual([
    'abort',
    'suspend',
    'resume',
    'migrate',
    'graceful_termination',
    'raise_budget',
    'change_priority',
    'grant_visibility',
  ])
  expect(reaching('subtree')).toEqual(['create_right'])
  expect(reaching('own_subtasks')).toEqual(['task'])
})

test('W-ROLE-12 a delegate grants no delegation, and has none of what concerns the whole run', () => {
  expect(reaching('no')).toEqual([
    'grant_delegation',
    'batch_abort',
    'batch_priority',
    'revoke_right',
    'transfer_ownership',
    'configure_highway',
    'consult',
    'reparent',
    'revoke_visibility',
  ])
})

test('W-MIG-04 W-TERM-01 migration and graceful termination come with level 3', () => {
  expect(OPERATION_NAMES.filter(name => OPERATIONS[name].level === 3)).toEqual(['migrate', 'graceful_termination'])
})
