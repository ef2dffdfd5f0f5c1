// When an agent that is a peer cannot work, and another takes over.
import { ParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import { Fixture, planned } from '../testing/fixture.ts'
import { outageOf } from './outage.ts'

const error = (code: string) => new ParleyError(code, `${code}: no`)

test.each([
  'target-offline',
  'link_handshake_failed',
  'link_handshake_timeout',
  'link_empty_response',
  'unpinned',
  'unknown_peer',
  'link_off',
  'capability-denied',
  'target-busy',
  'rate-limited',
  'budget-exceeded',
  'peer_failed',
])('a peer that answers with %s cannot work', code => {
  expect(outageOf(error(code))).toMatch(/^\w/)
})

test.each([
  'link_timeout',
  'link_bad_response',
  'peer_interrupted',
  'internal-error',
  'invalid-params',
  'aborted',
  'timeout',
  'budget_exceeded',
])('%s is about the work, and not about who does it', code => {
  expect(outageOf(error(code))).toBeUndefined()
})

test('a fallback takes over from a peer that is away, in the same attempt', async () => {
  const patience: (number | undefined)[] = []
  const fixture = await Fixture.open({
    far: ({ patienceMs }) => {
      patience.push(patienceMs)
      return { outcome: 'failed', error: error('target-offline'), usage: {} }
    },
    near: ({ patienceMs }) => {
      patience.push(patienceMs)
      return 'I am here.'
    },
  })
  const view = await fixture.finished(planned('{ id: a, agent: far, fallback: near, prompt: x }'))
  expect(view).toMatchObject({ state: 'done', tasks: [{ agent: 'near', attempt: 1 }] })
  const [move] = view.tasks[0]!.steps[0]!.moves!
  expect(move).toMatchObject({ from: 'far#1', to: 'near#1', outcome: 'completed' })
  expect(move!.reason).toContain('it cannot be reached')
  // Only where somebody can take over is a service that refuses not waited for.
  expect(patience).toEqual([12_000, undefined])
})

test('an agent that is not logged in is not tried again, and the reason says where to look', async () => {
  const details = { outage: { reason: 'account', status: 401 } }
  const fixture = await Fixture.open({
    out: () => ({
      outcome: 'failed',
      error: new ParleyError('exit_nonzero', 'Invalid API key.', { details }),
      usage: {},
    }),
  })
  const view = await fixture.finished(planned('{ id: a, agent: out, prompt: x, attempts: 3 }'))
  expect(view).toMatchObject({ state: 'failed', tasks: [{ attempt: 1, attempts: 3 }] })
  expect(view.tasks[0]!.note).toBe('Invalid API key. `parley doctor` says how its program logs in.')
})
