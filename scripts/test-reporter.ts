// A vitest reporter that writes what scripts/test.ts needs to know as JSON to the file named by PARLEY_TEST_RESULT.
// It prints nothing; the readable reporter runs beside it.
import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'
import type { NamedTest, TestResult } from './test-result.ts'

export default class ResultReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { readonly message?: string }[]): void {
    const path = process.env.PARLEY_TEST_RESULT
    if (!path) throw new Error('PARLEY_TEST_RESULT is not set: run the tests with `npm test`')
    writeFileSync(path, JSON.stringify(collect(modules, unhandled)))
  }
}

function collect(modules: readonly TestModule[], unhandled: readonly { readonly message?: string }[]): TestResult {
  let passed = 0
  let failed = 0
  const skipped: NamedTest[] = []
  const unfinished: NamedTest[] = []
  const failedFiles: string[] = []
  const cutOff = { passed: 0, failed: 0 }
  for (const module of modules) {
    const before = { passed, unfinished: unfinished.length }
    let failedHere = 0
    for (const test of module.children.allTests()) {
      const result = test.result()
      const named = { file: module.relativeModuleId, name: test.fullName }
      if (result.state === 'passed') passed++
      else if (result.state === 'failed') failedHere++
      else if (result.state === 'skipped') skipped.push(result.note ? { ...named, reason: result.note } : named)
      else unfinished.push(named)
    }
    failed += failedHere
    if (unfinished.length > before.unfinished) {
      cutOff.passed += passed - before.passed
      cutOff.failed += failedHere
    }
    if (module.state() === 'failed' && failedHere === 0) failedFiles.push(module.relativeModuleId)
  }
  return {
    passed,
    failed,
    skipped,
    unfinished,
    cutOff,
    failedFiles,
    unhandled: unhandled.map(error => firstLine(error.message)),
  }
}

function firstLine(message: string | undefined): string {
  return message?.split('\n')[0] ?? 'an error without a message'
}
