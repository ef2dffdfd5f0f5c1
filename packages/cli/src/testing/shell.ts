// Shells for tests of completion. Where one is missing, a machine that belongs to the tests (root, or CI) installs Debian's package; on
// anybody else's machine nothing is installed and the test that needs it is skipped, which the run says.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const runs = (shell: string) => spawnSync(shell, ['--version']).status === 0

/** Whether the shell can be had. */
export function hasShell(shell: 'zsh' | 'fish'): boolean {
  if (runs(shell)) return true
  install(shell)
  return runs(shell)
}

function install(shell: string): void {
  const root = process.getuid?.() === 0
  if (!existsSync('/usr/bin/apt-get') || !(root || process.env.CI === 'true')) return
  const prefix = root ? [] : ['sudo', '--non-interactive']
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', shell]]) {
    const [command, ...rest] = [...prefix, 'apt-get', '-o', 'DPkg::Lock::Timeout=300', ...args]
    spawnSync(command!, rest, { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
  }
}
