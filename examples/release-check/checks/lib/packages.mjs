// What npm would publish. `npm pack` only lists (--dry-run), runs no scripts and asks no network.
import { spawnSync } from 'node:child_process'
import { dirname, posix } from 'node:path'
import { say } from './check.mjs'
import { limits } from './limits.mjs'
import { readJson } from './manifest.mjs'
import { count } from './markdown.mjs'
import { isOwnFile, tryGit } from './repository.mjs'

const ELSEWHERE = /(?:^|\/)(?:node_modules|fixtures?|testdata|examples?|templates?)\//

/**
 * Every package that is not private: { path, name, version } with { files, bytes, packedBytes, lost, unbuilt }, or with
 * { problem }. `lost` are entry points that no user would find in the package; `unbuilt` those that a build makes,
 * which has not run here.
 */
export function publishedPackages(files) {
  const manifests = files
    .map(({ path }) => path)
    .filter(path => posix.basename(path) === 'package.json' && !ELSEWHERE.test(path))
  const packages = manifests
    .map(path => ({ path, manifest: readJson(path) }))
    .filter(({ manifest }) => manifest?.name && manifest.version && !manifest.private)
  if (packages.length === 0) return []
  say(`size: asking npm what ${count(packages.length, 'package')} would publish …`)
  const deadline = Date.now() + limits.packMs
  return packages.map(({ path, manifest }) => {
    const about = { path, name: manifest.name, version: manifest.version }
    return Date.now() < deadline
      ? { ...about, ...pack(dirname(path), manifest) }
      : { ...about, problem: 'there was no time left to list it' }
  })
}

function pack(folder, manifest) {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--workspaces=false', '--offline']
  const quiet = {
    npm_config_update_notifier: 'false',
    npm_config_logs_max: '0',
    npm_config_loglevel: 'silent',
  }
  const { status, stdout, error } = spawnSync('npm', args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: limits.commandMs,
    maxBuffer: limits.commandBytes,
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
    env: { ...process.env, ...quiet },
  })
  if (status !== 0) return { problem: error?.code === 'ENOENT' ? 'npm is not installed' : 'npm could not list it' }
  const listing = JSON.parse(stdout)
  const packed = listing.files ? listing : Object.values(listing)[0]
  // What the checks themselves wrote here is not published; how much it added to the packed size is not known.
  const files = packed.files.filter(({ path }) => !isOwnFile(posix.join(folder, path)))
  const missing = entryPoints(manifest).filter(entry => !files.some(({ path }) => path === entry))
  const unbuilt = missing.filter(entry => isIgnored(posix.join(folder, entry)))
  return {
    files: files.map(({ path, size }) => ({ path, bytes: size })),
    bytes: files.reduce((total, { size }) => total + size, 0),
    packedBytes: files.length === packed.files.length ? packed.size : undefined,
    lost: missing.filter(entry => !unbuilt.includes(entry)),
    unbuilt,
  }
}

/** What git ignores is made by a build. */
function isIgnored(path) {
  return tryGit(['check-ignore', '--no-index', '-q', path]) !== undefined
}

/** Conditions of `exports` that users of a package meet; others are for use inside the repository. */
const STANDARD = /^\.|^\d|^(?:default|import|require|node|types|browser|module)$/

function entryPoints({ main, module, types, bin, exports }) {
  const all = [main, module, types, ...targets(bin, /./), ...targets(exports, STANDARD)]
  const files = all.filter(entry => typeof entry === 'string' && !entry.includes('*') && posix.extname(entry))
  return [...new Set(files.map(entry => posix.normalize(entry)))]
}

function targets(value, keys) {
  if (typeof value !== 'object' || value === null) return [value]
  return Object.entries(value).flatMap(([key, each]) => (keys.test(key) ? targets(each, keys) : []))
}
