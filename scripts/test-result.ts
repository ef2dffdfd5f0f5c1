// What a test run came to: the JSON that the reporter (test-reporter.ts) writes, and the closing lines that a person
// and a machine read from it. The last line is always `N passed, N failed`, and it agrees with the exit code.

export interface NamedTest {
  readonly file: string
  readonly name: string
  readonly reason?: string
}

export interface TestResult {
  readonly passed: number
  readonly failed: number
  readonly skipped: readonly NamedTest[]
  /** Tests that began or were due, and never ended: their process died. */
  readonly unfinished: readonly NamedTest[]
  /** What had passed and failed in the files of those tests. */
  readonly cutOff: { readonly passed: number; readonly failed: number }
  /** Files that failed as a whole (import, hook), without a failed test in them. */
  readonly failedFiles: readonly string[]
  /** Errors that no test caught. */
  readonly unhandled: readonly string[]
}

/** Error of the runner itself when the process of a file dies; the tests of the file say more. */
const OF_POOL = /^\[vitest-pool\]/

/** Files to run a second time: V8 in Node.js 24 aborts a process now and then, in whichever file it happens to run. */
export function diedIn({ unfinished, failedFiles, unhandled }: TestResult): readonly string[] {
  if (!unhandled.some(error => OF_POOL.test(error))) return []
  return [...new Set([...unfinished.map(({ file }) => file), ...failedFiles])]
}

/** The result of a run whose died files ran again, in place of what they had come to. */
export function withSecondRun(first: TestResult, second: TestResult): TestResult {
  const died = diedIn(first)
  const stays = ({ file }: { readonly file: string }) => !died.includes(file)
  return {
    passed: first.passed - first.cutOff.passed + second.passed,
    failed: first.failed - first.cutOff.failed + second.failed,
    skipped: [...first.skipped.filter(stays), ...second.skipped],
    unfinished: second.unfinished,
    cutOff: second.cutOff,
    failedFiles: [...first.failedFiles.filter(file => !died.includes(file)), ...second.failedFiles],
    unhandled: [...first.unhandled.filter(error => !OF_POOL.test(error)), ...second.unhandled],
  }
}

export interface RunFacts {
  /** Absent when vitest died before it could report. */
  readonly result: TestResult | undefined
  readonly exitCode: number
  /** In CI a test that was skipped is a test that failed. */
  readonly ci: boolean
  /** A filter by name was asked for: what it leaves out is not worth naming, nor a failure. */
  readonly filtered: boolean
  /** Files that ran a second time because their process had died. */
  readonly repeated?: readonly string[]
}

export interface Closing {
  readonly lines: readonly string[]
  readonly exitCode: 0 | 1
}

export function closing({ result, exitCode, ci, filtered, repeated = [] }: RunFacts): Closing {
  if (!result) return close(['The test runner ended without a result; its output above says why.'], 0, 1, 0)
  const lines: string[] = section('Files that ran a second time because their process had died', repeated)
  let failed = result.failed

  for (const [title, names] of [
    ['Tests that never ended (their process died)', result.unfinished.map(describe)],
    ['Files that failed as a whole', result.failedFiles],
    ['Errors that no test caught', result.unhandled],
  ] as const) {
    lines.push(...section(title, names))
    failed += names.length
  }

  const skippedFails = ci && !filtered
  if (!filtered && result.skipped.length > 0) {
    lines.push(...section('SKIPPED TESTS', result.skipped.map(describe)))
    if (skippedFails) lines.push('CI is set: a skipped test counts as a failed one.')
  }
  if (skippedFails) failed += result.skipped.length

  if (result.passed + failed === 0) {
    lines.push('No test ran, which counts as a failure.')
    failed = 1
  }
  if (failed === 0 && exitCode !== 0) {
    lines.push(`The test runner ended with code ${exitCode} although no test failed; its output above says why.`)
    failed = 1
  }
  return close(lines, result.passed, failed, skippedFails ? 0 : result.skipped.length)
}

function close(lines: readonly string[], passed: number, failed: number, skipped: number): Closing {
  const tally = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
  return { lines: [...lines, tally], exitCode: failed === 0 ? 0 : 1 }
}

function section(title: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`!! ${title}: ${names.length}`, ...names.map(name => `   - ${name}`), '']
}

function describe({ file, name, reason }: NamedTest): string {
  return `${file} > ${name}${reason ? ` (${reason})` : ''}`
}
