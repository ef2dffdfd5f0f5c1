// The base tables against the sheet, column by column.

import { SIGNAL_TYPES } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { BASE_CAPABILITIES, BASE_ROLES } from './base.ts'

const column = (role: (typeof BASE_ROLES)[number]) => {
  const { send, emit, create, writesMemory } = BASE_CAPABILITIES[role]
  return { send: send.map(({ type, to }) => `${type} → ${to}`), emit: emit.join(' '), create, writesMemory }
}

test('W-ROLE-03 a coordinator directs and answers workers, creates nothing and writes nothing', () => {
  expect(column('coordinator')).toEqual({
    send: ['directive → worker', 'feedback → worker'],
    emit: 'ready started failed integrate acknowledged suspend migrate',
    create: [],
    writesMemory: false,
  })
})

test('W-ROLE-03 a worker asks the coordinator, creates artifacts and writes its own memory', () => {
  expect(column('worker')).toEqual({
    send: ['query → coordinator'],
    emit: 'ready started blocked checkpoint complete failed escalation',
    create: ['artifact'],
    writesMemory: true,
  })
})

test('W-ROLE-03 an observer sends nothing, creates observations and writes nothing', () => {
  expect(column('observer')).toEqual({
    send: [],
    emit: 'ready started complete failed escalation',
    create: ['observation'],
    writesMemory: false,
  })
})

test('W-SIG-01 every signal type has a role that may emit it', () => {
  const emitted = new Set(BASE_ROLES.flatMap(role => BASE_CAPABILITIES[role].emit))
  expect([...emitted].toSorted()).toEqual(SIGNAL_TYPES.toSorted())
})
