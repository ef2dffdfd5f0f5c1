// How the failure of a command reads: in one line what failed and how, then what it printed.
import { ParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import { coordinatorLimits } from '../limits.ts'
import { overBudgetText } from '../plan/spending.ts'
import { commandFailure, lastLines, tail } from './turn-text.ts'

const ended = (details: object, code = 'exit_nonzero') =>
  new ParleyError(code, '`npm test` was not done after 3 s and was ended.', { details: { ...details } })

test('a check that fails says so in one line, and its output keeps its lines and their indentation', () => {
  const output = '\n\n    not ok 1 - adds\n      ---\n'
  expect(commandFailure('npm test', ended({ exitCode: 1, signal: null, output, stderr: 'npm error\n' }))).toBe(
    '`npm test` failed (exit code 1).\n\n    not ok 1 - adds\n      ---\n\nnpm error',
  )
  expect(commandFailure('npm test', ended({ exitCode: null, signal: 'SIGKILL' }))).toBe(
    '`npm test` failed (ended by SIGKILL).',
  )
  expect(commandFailure('npm test', ended({ stderr: ' ' }, 'timeout'))).toBe(
    '`npm test` was not done after 3 s and was ended.',
  )
})

test('people see the last lines of a long output', () => {
  const lines = Array.from({ length: 30 }, (_, at) => `  line ${at}`)
  expect(lastLines(lines.join('\n')).split('\n')).toEqual(['[…]', ...lines.slice(-12)])
})

test.each([
  [{ dimension: 'cost_limit', consumed: 2.468, limit: 2 }, 'Its budget is used up: $2.47 of $2.00.'],
  [{ dimension: 'token_limit', consumed: 12_500, limit: 10_000 }, 'Its budget is used up: 12,500 of 10,000 tokens.'],
  [
    { dimension: 'compute_timeout', consumed: 61_000, limit: 60_000 },
    'Its budget is used up: 1 min 1 s of 1 min of working time.',
  ],
] as const)('going over a budget is told once, with the amounts: %j', (exceeded, text) => {
  expect(overBudgetText(exceeded)).toBe(text)
})

test('of a long text the end is kept in whole lines, and the first line says how much is missing', () => {
  const line = 'no interest whatsoever for anybody at all\n'
  const all = line.repeat(1000)
  const kept = tail(all)
  const missing = all.length - kept.slice(kept.indexOf('\n') + 1).length
  expect(kept.length).toBeLessThanOrEqual(coordinatorLimits.textLength)
  expect(
    kept.startsWith(`[… ${missing.toLocaleString('en')} characters before this line are left out.]\n${line}`),
  ).toBe(true)
  expect(tail(line)).toBe(line)
  expect(tail('x'.repeat(20_000))).toMatch(/^\[… 3,696 characters before this line are left out\.\]\nx+$/)
})
