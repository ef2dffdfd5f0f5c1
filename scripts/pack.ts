// `npm run pack -- FOLDER`: builds every package and writes the archives that npm would publish, each with the licence.
// Publish them with `npm publish FOLDER/*.tgz`.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, globSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { writeBundle } from '@parley/node/testing'

const root = join(import.meta.dirname, '..')

function run(program: string, ...args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${error?.message ?? `code ${status}`}`)
}

/** What an earlier build left of a source that is gone. */
function removeStale(): void {
  for (const file of globSync('packages/*/dist/**/*.js', { cwd: root })) {
    const source = file.replace('/dist/', '/src/').replace(/\.js$/, '.ts')
    if (existsSync(join(root, source))) continue
    for (const ending of ['.js', '.js.map', '.d.ts']) rmSync(join(root, file.replace(/\.js$/, ending)), { force: true })
  }
}

const [folder] = process.argv.slice(2)
if (folder === undefined) {
  console.error('usage: npm run pack -- FOLDER')
  process.exit(2)
}
const archives = resolve(process.env.INIT_CWD ?? '.', folder)
mkdirSync(archives, { recursive: true })
run(process.execPath, 'node_modules/typescript/bin/tsc', '-b')
removeStale()
const bundle = join(root, 'packages', 'cli', 'bundle')
rmSync(bundle, { recursive: true, force: true })
await writeBundle(bundle)
for (const each of globSync('packages/*', { cwd: root }))
  copyFileSync(join(root, 'LICENSE'), join(root, each, 'LICENSE'))
// What `parley init --example` writes. The release check needs programs beside it, and is for a clone.
const examples = join(root, 'packages', 'cli', 'examples')
rmSync(examples, { recursive: true, force: true })
for (const team of globSync('examples/*/parley.yaml', { cwd: root })) {
  if (existsSync(join(root, dirname(team), 'checks'))) continue
  mkdirSync(join(root, 'packages', 'cli', dirname(team)), { recursive: true })
  copyFileSync(join(root, team), join(root, 'packages', 'cli', team))
}
run('npm', 'pack', '--workspaces', '--pack-destination', archives, '--loglevel=error')
// A clone reads its own, which may change.
rmSync(examples, { recursive: true })
