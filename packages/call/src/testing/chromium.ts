// The system's Chromium for tests. Where it is missing, a machine that belongs to the tests (root, or CI) installs Debian's package; on
// anybody else's machine nothing is installed and the tests that need it are skipped, which the run says.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

function find(): string | undefined {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)]
  return folders.flatMap(folder => NAMES.map(name => join(folder, name))).find(path => existsSync(path))
}

function install(): void {
  const root = process.getuid?.() === 0
  if (!existsSync('/usr/bin/apt-get') || !(root || process.env.CI === 'true')) return
  const prefix = root ? [] : ['sudo', '--non-interactive']
  const run = (...args: readonly string[]) => {
    const [command, ...rest] = [...prefix, 'apt-get', ...args]
    spawnSync(command!, rest, { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
  }
  run('-o', 'DPkg::Lock::Timeout=300', 'update')
  run('-o', 'DPkg::Lock::Timeout=300', 'install', '-y', '--no-install-recommends', 'chromium')
}

/** Its path; undefined if there is none and none may be installed. */
export function chromium(): string | undefined {
  const found = find()
  if (found !== undefined) return found
  install()
  const installed = find()
  if (installed === undefined)
    console.warn("no Chromium here: its tests are skipped; on Debian, 'apt-get install chromium' brings it")
  return installed
}
