// `npm test [-- filters and vitest options]`: runs every test and ends with the line `N passed, N failed`.
// `--soak` asks the long tests for their full counts (PARLEY_SOAK=1), as `npm run soak` does.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closing, diedIn, type TestResult, withSecondRun } from './test-result.ts'

const root = join(import.meta.dirname, '..')
const passedOn = process.argv.slice(2).filter(argument => argument !== '--soak')
const soak = process.argv.includes('--soak')
const asked = (option: RegExp) => passedOn.some(argument => option.test(argument))

const options = passedOn.filter(argument => argument.startsWith('-'))
const folder = mkdtempSync(join(tmpdir(), 'parley-test-'))
const resultFile = join(folder, 'result.json')
let exitCode = await runVitest(passedOn)
let result = readResult()
const isWhole = options.length === passedOn.length
const repeated = result && isWhole ? diedIn(result) : []
if (result && repeated.length > 0) {
  console.log(`\nThe process of ${repeated.join(', ')} died. Running that again …`)
  exitCode = await runVitest([...options, ...repeated])
  const second = readResult()
  if (second) result = withSecondRun(result, second)
}
rmSync(folder, { recursive: true, maxRetries: 5, retryDelay: 100 })

const end = closing({
  result,
  exitCode: result && result.failed > 0 ? 1 : exitCode,
  repeated,
  ci: process.env.CI === 'true',
  filtered: asked(/^(-t|--testNamePattern)\b/),
})
console.log(`\n${end.lines.join('\n')}`)
process.exitCode = end.exitCode

function readResult(): TestResult | undefined {
  return existsSync(resultFile) ? JSON.parse(readFileSync(resultFile, 'utf8')) : undefined
}

function runVitest(selected: readonly string[]): Promise<number> {
  rmSync(resultFile, { force: true })
  const reporters = asked(/^--reporter\b/) ? [] : ['--reporter=default']
  const child = spawn(
    process.execPath,
    [
      join(root, 'node_modules', 'vitest', 'vitest.mjs'),
      'run',
      ...reporters,
      `--reporter=${join(import.meta.dirname, 'test-reporter.ts')}`,
      ...selected,
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        PARLEY_TEST_RESULT: resultFile,
        // Tests start hundreds of threads and processes from the same sources: what one has compiled serves the others.
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
        ...(soak ? { PARLEY_SOAK: '1' } : {}),
      },
    },
  )
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  process.on('SIGINT', () => {})
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(signal ? 1 : (code ?? 1)))
  })
}
