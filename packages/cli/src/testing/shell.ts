// Shells for tests of completion.
import { spawnSync } from 'node:child_process'
import { orInstalled } from '@parley/call/testing'

/** Whether the shell can be had. */
export function hasShell(shell: 'zsh' | 'fish'): boolean {
  const runs = () => (spawnSync(shell, ['--version']).status === 0 ? true : undefined)
  return orInstalled(shell, runs) === true
}
