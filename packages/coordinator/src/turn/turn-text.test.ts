// How the failure of a command reads: in one line what failed and how, then what it printed.
import { ParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import { coordinatorLimits } from '../limits.ts'
import { overBudgetText } from '../plan/spending.ts'
import { bothEnds, commandFailure, tail, tellingLines } from './turn-text.ts'

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
  expect(tellingLines(lines.join('\n')).split('\n')).toEqual(['[…]', ...lines.slice(-12)])
})

test('people see the lines that say why something failed, wherever they stand in a long output', () => {
  const usage = Array.from({ length: 30 }, (_, at) => `npm error   --option-${at}`)
  const npm = ['npm error code EUSAGE', 'npm error', 'npm error `npm ci` needs a lock file', ...usage]
  expect(tellingLines(npm.join('\n')).split('\n')).toEqual([...npm.slice(0, 4), '[…]', ...npm.slice(-6)])
  const noise = (name: string) => Array.from({ length: 20 }, (_, at) => `# ${name} ${at}`)
  const failed = ['not ok 1 - adds', '  ---', '  location: sum.test.js:3', '  failureType: x']
  const cause = ['  error: |-', '    1 !== 2', '  stack: |-', '    at sum.test.js:3']
  const summary = ['1..1', '# tests 1', '# pass 0', '# fail 1', '# todo 0', '# duration_ms 4']
  const tap = [...noise('before'), ...failed, ...noise('more'), ...cause, ...noise('after'), ...summary]
  expect(tellingLines(tap.join('\n')).split('\n')).toEqual(['[…]', ...failed, '[…]', ...cause, '[…]', ...summary])
})

test('of a text that is too long both ends are kept', () => {
  const text = `why it failed${'x'.repeat(1000)}the end`
  expect(bothEnds(text, 100)).toMatch(/^why it failedx+\n\[…\]\nx+the end$/)
  expect(bothEnds(text, 100)).toHaveLength(100)
  expect(bothEnds('short', 100)).toBe('short')
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
