// The end of `npm test`: the last line and the exit code, for every way in which a run can end.
import { describe, expect, test } from 'vitest'
import { closing, diedIn, type RunFacts, type TestResult, withSecondRun } from './test-result.ts'

const good: TestResult = {
  passed: 3,
  failed: 0,
  skipped: [],
  unfinished: [],
  cutOff: { passed: 0, failed: 0 },
  failedFiles: [],
  unhandled: [],
}
const skipped = [{ file: 'a.test.ts', name: 'needs a server', reason: 'no server here' }]

function end(result: Partial<TestResult>, facts: Partial<RunFacts> = {}) {
  const { lines, exitCode } = closing({
    result: { ...good, ...result },
    exitCode: 0,
    ci: false,
    filtered: false,
    ...facts,
  })
  return { last: lines.at(-1), text: lines.join('\n'), exitCode }
}

describe('the last line of a test run', () => {
  test('counts what passed and failed', () => {
    expect(end({})).toMatchObject({ last: '3 passed, 0 failed', exitCode: 0 })
    expect(end({ failed: 2 }, { exitCode: 1 })).toMatchObject({ last: '3 passed, 2 failed', exitCode: 1 })
  })

  test.each<[string, Partial<TestResult>]>([
    [
      'the tests whose process died',
      {
        unfinished: [
          { file: 'a.test.ts', name: 'first' },
          { file: 'a.test.ts', name: 'victim' },
        ],
      },
    ],
    ['the files that failed as a whole', { failedFiles: ['a.test.ts', 'victim.test.ts'] }],
    ['the errors that no test caught', { unhandled: ['first', 'victim of a timer'] }],
  ])('counts each of %s as a failure and names it', (_, result) => {
    const { last, text, exitCode } = end(result, { exitCode: 1 })
    expect({ last, exitCode }).toEqual({ last: '3 passed, 2 failed', exitCode: 1 })
    expect(text).toContain('victim')
  })

  test('names skipped tests with their reason and counts them', () => {
    const { last, text, exitCode } = end({ skipped })
    expect({ last, exitCode }).toEqual({ last: '3 passed, 0 failed, 1 skipped', exitCode: 0 })
    expect(text).toContain('a.test.ts > needs a server (no server here)')
  })

  test('counts a skipped test as failed in CI', () => {
    expect(end({ skipped }, { ci: true })).toMatchObject({ last: '3 passed, 1 failed', exitCode: 1 })
  })

  test('does not blame a filter by name for what it leaves out', () => {
    const { last, text, exitCode } = end({ skipped }, { ci: true, filtered: true })
    expect({ last, exitCode }).toEqual({ last: '3 passed, 0 failed, 1 skipped', exitCode: 0 })
    expect(text).not.toContain('needs a server')
  })

  test('is a failure when no test ran, when the runner died, or when it failed without saying why', () => {
    expect(end({ passed: 0 })).toMatchObject({ last: '0 passed, 1 failed', exitCode: 1 })
    expect(end({ passed: 0, skipped }, { filtered: true })).toMatchObject({
      last: '0 passed, 1 failed, 1 skipped',
      exitCode: 1,
    })
    expect(end({}, { exitCode: 7 })).toMatchObject({ last: '3 passed, 1 failed', exitCode: 1 })
    expect(closing({ result: undefined, exitCode: 0, ci: false, filtered: false })).toMatchObject({
      lines: [expect.any(String), '0 passed, 1 failed'],
      exitCode: 1,
    })
  })
})

describe('a file whose process died', () => {
  const crash: TestResult = {
    ...good,
    passed: 10,
    unfinished: [{ file: 'a.test.ts', name: 'second' }],
    cutOff: { passed: 1, failed: 0 },
    unhandled: ['[vitest-pool]: Worker forks emitted error.'],
  }

  test('is named for a second run, whose result takes the place of what it had come to', () => {
    expect(diedIn(crash)).toEqual(['a.test.ts'])
    const whole = withSecondRun(crash, { ...good, passed: 2 })
    expect(whole).toEqual({ ...good, passed: 11 })
    const { last, text } = end(whole, { repeated: ['a.test.ts'] })
    expect(last).toBe('11 passed, 0 failed')
    expect(text).toContain('Files that ran a second time because their process had died: 1\n   - a.test.ts')
  })

  test('counts as failed when it dies again, or when a test fails in the second run', () => {
    expect(end(withSecondRun(crash, crash), { exitCode: 1 })).toMatchObject({ exitCode: 1 })
    expect(end(withSecondRun(crash, { ...good, passed: 1, failed: 1 }), { exitCode: 1 })).toMatchObject({
      last: '10 passed, 1 failed',
    })
  })

  test('is not run again for any other reason than the death of its process', () => {
    expect(diedIn({ ...crash, unhandled: [] })).toEqual([])
  })
})
