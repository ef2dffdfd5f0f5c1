// Runs a benchmark: `npm run bench -- NAME [arguments]`. Peers that a benchmark compares with are installed below
// bench/ on first use, and never by the ordinary set-up.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const bench = join(import.meta.dirname, '..', 'bench')
const names = readdirSync(bench)
  .filter(name => name.endsWith('.ts') && !name.includes('.test.'))
  .map(name => name.slice(0, -'.ts'.length))
const [name, ...args] = process.argv.slice(2)

if (name === undefined || !names.includes(name)) {
  console.error(`usage: npm run bench -- NAME [arguments]\nbenchmarks: ${names.join(', ')}`)
  process.exit(2)
}

const { dependencies } = JSON.parse(readFileSync(join(bench, 'package.json'), 'utf8')) as {
  dependencies?: object
}
/** What an earlier version of the benchmarks needed is not enough. */
const installed = Object.keys(dependencies ?? {}).every(peer => existsSync(join(bench, 'node_modules', peer)))
if (!installed) {
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-fund', '--no-audit'], {
    cwd: bench,
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(status ?? 1)
}
const result = spawnSync(process.execPath, [...process.execArgv, join(bench, `${name}.ts`), ...args], {
  stdio: 'inherit',
})
process.exit(result.status ?? 1)
