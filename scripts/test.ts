// `npm test [-- filters and vitest options]`: runs every test and ends with the line `N passed, N failed`.
// `--soak` asks the long tests for their full counts (PARLEY_SOAK=1), as `npm run soak` does.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closing, type TestResult } from './test-result.ts'

const root = join(import.meta.dirname, '..')
const passedOn = process.argv.slice(2).filter(argument => argument !== '--soak')
const soak = process.argv.includes('--soak')
const asked = (option: RegExp) => passedOn.some(argument => option.test(argument))

const folder = mkdtempSync(join(tmpdir(), 'parley-test-'))
const resultFile = join(folder, 'result.json')
const exitCode = await runVitest()
const result: TestResult | undefined = existsSync(resultFile) ? JSON.parse(readFileSync(resultFile, 'utf8')) : undefined
rmSync(folder, { recursive: true })

const end = closing({
  result,
  exitCode,
  ci: process.env.CI === 'true',
  filtered: asked(/^(-t|--testNamePattern)\b/),
})
console.log(`\n${end.lines.join('\n')}`)
process.exitCode = end.exitCode

function runVitest(): Promise<number> {
  const reporters = asked(/^--reporter\b/) ? [] : ['--reporter=default']
  const child = spawn(
    process.execPath,
    [
      join(root, 'node_modules', 'vitest', 'vitest.mjs'),
      'run',
      ...reporters,
      `--reporter=${join(import.meta.dirname, 'test-reporter.ts')}`,
      ...passedOn,
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, PARLEY_TEST_RESULT: resultFile, ...(soak ? { PARLEY_SOAK: '1' } : {}) },
    },
  )
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  process.on('SIGINT', () => {})
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(signal ? 1 : (code ?? 1)))
  })
}
