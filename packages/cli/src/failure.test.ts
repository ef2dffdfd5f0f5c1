import { CallError } from '@parley/call'
import { ParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import { EXIT, EXIT_MEANINGS } from './exit.ts'
import { asFailure, Failure, failureJson, failureLines } from './failure.ts'
import { plain } from './render/paint.ts'

const exitOf = (thrown: unknown) => asFailure(thrown).exitCode

test('every kind of failure has its exit code', () => {
  expect(exitOf(new Failure('usage', 'x'))).toBe(2)
  expect(exitOf(new CallError('not_found', 'x'))).toBe(3)
  expect(exitOf(new CallError('UNAVAILABLE', 'x'))).toBe(4)
  expect(exitOf(new ParleyError('node_start_failed', 'x'))).toBe(4)
  expect(exitOf(new ParleyError('version_mismatch', 'x'))).toBe(4)
  expect(exitOf(new CallError('INTERNAL', 'connection closed'))).toBe(4)
  expect(exitOf(new CallError('FORBIDDEN', 'x'))).toBe(5)
  expect(exitOf(new CallError('invalid_state', 'x'))).toBe(5)
  expect(exitOf(new CallError('some_code_of_a_newer_node', 'x'))).toBe(5)
  expect(exitOf(new CallError('invalid_team', 'x'))).toBe(6)
  expect(exitOf(new ParleyError('invalid_config', 'x'))).toBe(6)
  expect(exitOf(new CallError('INTERNAL', 'x'))).toBe(70)
  expect(exitOf(new TypeError('x is not a function'))).toBe(70)
})

test('every exit code is documented once', () => {
  const codes = EXIT_MEANINGS.map(([code]) => code)
  expect(new Set(codes)).toEqual(new Set(Object.values(EXIT)))
  expect(codes.length).toBe(new Set(codes).size)
})

test('a person reads what happened, why, and what to do next', () => {
  const failure = new Failure('not_found', "There is no run 'x'.", {
    why: 'No id begins so.',
    next: 'parley runs',
  })
  expect(failureLines(failure, plain)).toEqual([
    "parley: There is no run 'x'.",
    '  why:  No id begins so.',
    '  next: parley runs',
  ])
})

test('every refusal that a person can meet says what to do next', () => {
  for (const code of [
    'not_found',
    'UNAVAILABLE',
    'FORBIDDEN',
    'invalid_state',
    'no_agent',
    'invalid_team',
    'profile_in_use',
    'TIMEOUT',
    'node_start_failed',
    'INTERNAL',
  ])
    expect(asFailure(new CallError(code, 'x')).next.length, code).toBeGreaterThan(0)
})

test('nothing suggests anything destructive', async () => {
  const { readdirSync, readFileSync } = await import('node:fs')
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter(file =>
    /(?<!\.test)\.ts$/.test(file),
  )
  for (const file of files) {
    const text = readFileSync(`${import.meta.dirname}/${file}`, 'utf8')
    expect(text, file).not.toMatch(/\brm -|reset --hard|--force\b|git clean|push -f|kill -9/)
  }
})

test('problems of a file are listed with their places', () => {
  const problems = [{ code: 'unknown_key', message: "unknown key 'agnts'", line: 3, column: 1, path: 'agnts' }]
  const lines = failureLines(
    asFailure(new CallError('invalid_team', 'The team file has a mistake.', { details: { problems } })),
    plain,
  )
  expect(lines).toContain("  3:1: unknown key 'agnts'")
})

test('a program reads a code, a message and details, without a stack', () => {
  const json = failureJson(asFailure(new CallError('not_found', 'no such run', { details: { run: 'x' } })))
  expect(JSON.parse(json)).toMatchObject({
    error: { code: 'not_found', message: 'no such run', details: { run: 'x' } },
  })
  expect(json).not.toContain('failure.test')
})

test('what a failure says cannot steer the terminal', () => {
  const lines = failureLines(asFailure(new CallError('not_found', 'no\u001b[2J such\u0007 run')), plain)
  expect(lines.join('')).not.toMatch(/\p{Control}/u)
})
