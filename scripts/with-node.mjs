// Runs a TypeScript file on the Node.js that the repository pins. Needs nothing but Node 20 and npm: what is missing
// is installed first, so `npm start` and `npm test` are the only commands that a fresh clone needs.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const modules = join(root, 'node_modules')
const lock = join(root, 'package-lock.json')
const stamp = join(modules, '.parley-installed')
const windows = process.platform === 'win32'

function fail(message) {
  console.error(message)
  process.exit(1)
}

/** What is installed is current when the stamp holds the lock file that was installed. */
function installed() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(lock, 'utf8')
}

function install() {
  console.error('Downloading packages from npm and installing them (once per checkout; 400 MB on the disk) …')
  const npm = process.env.npm_execpath
  // Not `npm ci`: it refuses a lock file without the binaries of every platform, which some registries do not carry.
  // `npm run check` sees to it that the lock file fits. What is included is said outright, since NODE_ENV=production or
  // an npm setting would leave out the tests' tools or the pinned Node.
  const args = [
    'install',
    '--no-save',
    '--include=dev',
    '--include=optional',
    '--no-fund',
    '--no-audit',
    '--loglevel=error',
  ]
  const result =
    npm && /\.c?js$/.test(npm)
      ? spawnSync(process.execPath, [npm, ...args], { cwd: root, stdio: ['ignore', 2, 2] })
      : spawnSync(windows ? 'npm.cmd' : 'npm', args, { cwd: root, stdio: ['ignore', 2, 2], shell: windows })
  if (result.status !== 0) fail('npm install failed; its output above says why. Nothing was run.')
  writeFileSync(stamp, readFileSync(lock, 'utf8'))
}

/** The pinned binary of this platform, or the machine's own where none is published and it is new enough. */
function pinnedNode() {
  const name = { win32: 'win' }[process.platform] ?? process.platform
  const file = join(modules, `node-${name}-${process.arch}`, 'bin', windows ? 'node.exe' : 'node')
  if (existsSync(file) && statSync(file).isFile()) return file
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  return fail(
    `Parley needs Node.js 24. npm has no Node 24 binary for ${process.platform}-${process.arch}, and this machine has ` +
      `${process.version}. Install Node.js 24 LTS and run the command again.`,
  )
}

const [file, ...args] = process.argv.slice(2)
if (!file) fail('usage: node scripts/with-node.mjs FILE.ts [arguments]')
if (!installed()) install()
const node = pinnedNode()
const child = spawn(
  node,
  ['--conditions=parley-source', '--disable-warning=ExperimentalWarning', join(root, file), ...args],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` },
  },
)
// Stopping this process stops the real one. A terminal sends Ctrl-C to both, so here it only must not end the waiting.
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
process.on('SIGINT', () => {})
child.on('error', error => fail(`Could not start ${node}: ${error.message}`))
child.on('exit', (code, signal) => {
  if (!signal) process.exit(code ?? 1)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
