// Debian's packages for tests. A machine that belongs to the tests (root, or CI) gets what is missing; on anybody
// else's machine nothing is installed, and the tests that need it are skipped, which the run says.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export { selfSigned } from './certificate.ts'

/** What `find` finds, if need be after the package was installed; undefined if it cannot be had. */
export function orInstalled<T>(packageName: string, find: () => T | undefined): T | undefined {
  const found = find()
  if (found !== undefined) return found
  const root = process.getuid?.() === 0
  if (!existsSync('/usr/bin/apt-get') || !(root || process.env.CI === 'true')) return undefined
  const prefix = root ? [] : ['sudo', '--non-interactive']
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', packageName]]) {
    const [command, ...rest] = [...prefix, 'apt-get', '-o', 'DPkg::Lock::Timeout=300', ...args]
    spawnSync(command!, rest, { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
  }
  return find()
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

function findChromium(): string | undefined {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)]
  return folders.flatMap(folder => NAMES.map(name => join(folder, name))).find(path => existsSync(path))
}

/** The path of the system's Chromium; undefined if there is none and none may be installed. */
export function chromium(): string | undefined {
  const found = orInstalled('chromium', findChromium)
  if (found === undefined)
    console.warn("no Chromium here: its tests are skipped; on Debian, 'apt-get install chromium' brings it")
  return found
}
